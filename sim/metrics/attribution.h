// Which framework operation and which type of layer every piece of device work belongs to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Per row of Trace::calls: the innermost and outermost operation it was made in, or no_row.
struct CallOps {
  std::vector<std::uint32_t> innermost;
  std::vector<std::uint32_t> outermost;
};

/// Nesting is by time on the call's thread.
CallOps ops_of_calls(const Trace& trace);

/// Names that activities and calls are grouped by in reports. The names point into Trace::strings
/// and stay valid while that trace lives, also when it is moved.
class Attribution {
 public:
  Attribution(const Trace& trace, const Links& links);
  /// Outermost operation without the autograd engine's prefix; "(no operation)" where none is
  /// known.
  std::string_view op(std::uint32_t activity) const { return op_[activity]; }
  /// convolution, batch_norm, linear, attention, optimizer, ...: by operation, then kernel name.
  std::string_view layer(std::uint32_t activity) const { return layer_[activity]; }
  /// Outermost operation of a call, for host segments; empty if there is none.
  std::string_view op_of_call(std::uint32_t call) const {
    return call == no_row ? std::string_view{} : op_of_call_[call];
  }

 private:
  std::vector<std::string_view> op_;          // per activity
  std::vector<std::string_view> layer_;       // per activity
  std::vector<std::string_view> op_of_call_;  // per call
};

}  // namespace tandem
