// Which framework operation and which type of layer every piece of device work belongs to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Names that activities and calls are grouped by in reports. They point into Trace::strings and
/// stay valid while that trace lives, also when it is moved.
struct Attribution {
  /// Per activity: the outermost operation without the autograd engine's prefix; "(no operation)"
  /// where none is known.
  std::vector<std::string_view> op;
  /// Per activity: convolution, batch_norm, linear, attention, optimizer, ...: of the innermost
  /// operation that names one, then of the outermost, then of the kernel; "other" for operations
  /// that the operation table does not know.
  std::vector<std::string_view> layer;
  /// Per activity: the modules around the operation, outermost first ("ResNet_0.Conv2d_3"), of a
  /// gradient those of its forward operation; empty where none is known. Empty as a whole where the
  /// trace has no modules.
  std::vector<std::string> module;
  /// Per call: its outermost operation, for host segments; empty if there is none.
  std::vector<std::string_view> op_of_call;
};

Attribution attribute(const Trace& trace, const Links& links);

}  // namespace tandem
