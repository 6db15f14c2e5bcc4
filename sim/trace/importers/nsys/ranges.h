// What PyTorch's NVTX ranges say in a report of Nsight Systems.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem::nsys {

/// A range as torch.autograd.profiler.emit_nvtx writes it:
/// "aten::conv2d, seq = 5, op_id = 71, sizes = [[32, 3], []], input_op_ids = [(70,0)]", of which
/// all but the name may be missing; or any other text.
struct Range {
  std::string_view name;
  std::string_view sizes;      // "[[32, 3], []]"; empty: not recorded
  std::int64_t op = -1;        // number of the operation, -1: none
  std::int64_t sequence = -1;  // of autograd, -1: none
  bool is_op = false;          // otherwise an annotation
  bool is_backward = false;
};

Range read_range(std::string_view text);

}  // namespace tandem::nsys
