// A traced training step of a small model at any batch: a linear layer, its activation, the product
// for its weight gradient, and an optimizer.
#pragma once

#include <array>
#include <string>

#include "models/whatif/batch/model.h"
#include "tests/gpus_for_tests.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem::test {

inline const BatchLaw& batch_law() {
  static const BatchLaw law = load_batch_law(source_path("configs/kernels/batch.json"));
  return law;
}
inline BatchOptions options_for(std::int64_t batch) { return {batch, &gpu(), &batch_law()}; }

inline constexpr double layer_us = 40, relu_us = 6, gradient_us = 45, update_us = 12;

/// Grid of a persistent kernel that leaves no SM idle: more work takes more time.
inline constexpr std::array<std::uint32_t, 3> all_sms{132, 1, 1};

/// Rows of Trace::activities.
enum : std::uint32_t { layer_kernel, relu_kernel, gradient_kernel, update_kernel };

class BatchTraceMaker : public TraceMaker {
 public:
  explicit BatchTraceMaker(std::int64_t batch, double scale = 1, std::int64_t width = 4096) {
    const std::string b = std::to_string(batch), w = std::to_string(width);
    step(1, 0, 1000);
    op("aten::linear", 10, 20, 0, "[[" + b + "," + w + "],[1024," + w + "],[1024]]");
    op("aten::addmm", 12, 15, 0, "[[1024],[" + b + "," + w + "],[" + w + ",1024],[],[]]");
    add("nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_bias_TNT", 15, layer_us * scale, all_sms);
    op("aten::clamp_min_", 40, 10, 0, "[[" + b + ",1024],[]]");
    add("void at::native::vectorized_elementwise_kernel<4, at::native::launch_clamp_scalar", 45,
        relu_us * scale, {static_cast<std::uint32_t>((batch * 1024 + 511) / 512), 1, 1});
    op("MmBackward0", 60, 20);
    op("aten::mm", 62, 10, 0, "[[1024," + b + "],[" + b + "," + w + "]]");
    add("nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_NTN", 65, gradient_us * scale, all_sms);
    note("Optimizer.step#SGD.step", 80, 20);
    op("aten::_foreach_add_", 82, 10, 0, "[[],[],[]]");
    add("void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>", 85, update_us,
        {320, 1, 1});
    links = link_trace(trace);
    kernels = classify_kernels(trace, links);
  }

  Links links;
  StepKernels kernels;
  BatchBase run(std::int64_t batch) const { return {trace, links, kernels, batch}; }

 private:
  void note(std::string_view name, double begin_us, double us) {
    step(-1, begin_us, us);
    trace.annotations.name[trace.annotations.size() - 1] = trace.strings.intern(name);
  }
  void add(std::string_view name, double launch_us, double us, std::array<std::uint32_t, 3> grid) {
    launch(launch_us, 2, ++correlation_);
    const std::uint32_t row =
        kernel(100.0 + 100.0 * static_cast<double>(correlation_), us, correlation_, 0, name);
    trace.geometries.push_back({grid, {128, 1, 1}, 32, 0});
    trace.activities.geometry[row] = GeometryId{trace.geometries.size() - 1};
  }
  std::int64_t correlation_ = 0;
};

inline double us_of(const Trace& trace, std::uint32_t activity) {
  return to_us(trace.activities.duration[activity]);
}

}  // namespace tandem::test
