// Which module of the program (nn.Module) an operation belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/step/op_nesting.h"
#include "sim/trace/trace.h"

namespace tandem {

struct ModuleNesting {
  std::vector<std::uint32_t> parent;  // per row of Trace::modules, by time on its thread, or no_row
  std::vector<std::uint32_t> of_op;   // per operation: the innermost module around it, or no_row
  /// By autograd's sequence number: the forward operation that a gradient belongs to, the last one
  /// with this number.
  std::unordered_map<std::int64_t, std::uint32_t> forward_op;
};

ModuleNesting nest_modules(const Trace& trace);

/// "ResNet_0.Sequential_1.Conv2d_7": the modules around `op`, outermost first; of an operation of
/// the backward pass those around its forward operation. Empty: none is known. `op`: may be no_row.
std::string module_path(const Trace& trace, const OpNesting& ops, const ModuleNesting& modules,
                        std::uint32_t op);

}  // namespace tandem
