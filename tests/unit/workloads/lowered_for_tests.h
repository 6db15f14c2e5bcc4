// Lowers single operations on their own operands.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/predict/configs.h"
#include "tests/operands_for_tests.h"
#include "tests/source_dir/source_dir.h"
#include "workloads/lower/lower.h"

namespace tandem::test {

class LoweredOps : public testing::Test {
 protected:
  std::vector<LoweredKernel> lower(const std::string& name, const std::vector<TensorShape>& in,
                                   std::vector<TensorShape> out, Phase phase = Phase::forward,
                                   const std::string& gpu = "h200_sxm") {
    return lower_with(name, in, {}, std::move(out), phase, gpu);
  }

  /// Of the longest kernel that makes the gradient of the filters, of which images stay as large.
  double weight_gradient_us(const TensorShape& images, const TensorShape& filters) {
    double longest = 0;
    for (const LoweredKernel& k : lower("aten::convolution_backward", {images, images, filters},
                                        {images, filters}, Phase::backward)) {
      if (k.name.find("wgrad") != std::string::npos) longest = std::max(longest, k.duration_us);
    }
    return longest;
  }

  /// ... with further arguments behind its tensors.
  std::vector<LoweredKernel> lower_with(const std::string& name, const std::vector<TensorShape>& in,
                                        const std::vector<Argument>& further,
                                        std::vector<TensorShape> out, Phase phase = Phase::forward,
                                        const std::string& gpu = "h200_sxm") {
    op_.name = name;
    op_.phase = phase;
    bound_ = {};
    for (std::size_t i = 0; i < in.size(); ++i) bound_.operands.tensors.add(i, in[i]);
    std::vector<Argument>& arguments = bound_.operands.arguments;
    arguments.resize(in.size());
    arguments.insert(arguments.end(), further.begin(), further.end());
    return lower_bound(std::move(out), gpu);
  }

  /// The operation with the operands that it is bound to.
  std::vector<LoweredKernel> lower_bound(std::vector<TensorShape> out,
                                         const std::string& gpu = "h200_sxm") {
    bound_.operands.has_shapes = true;
    bound_.outputs = std::move(out);
    std::optional<MeasuredOn> measured;
    if (layers_ != nullptr) measured.emplace(*layers_, find_gpu(configs_.gpus, layers_->gpu));
    Lowering lowering({find_gpu(configs_.gpus, gpu), configs_.time, configs_.libraries, rules_,
                       configs_.batch.sums, measured ? &*measured : nullptr});
    return lowering.kernels(op_, bound_, losses_);
  }

  const Configs configs_ = load_configs(source_path("configs"), "default");
  const LoweringRules rules_ = load_lowering_rules(source_path("configs/kernels/lowering.json"));
  NetworkOp op_;
  BoundOp bound_;
  LossList losses_;
  const MeasuredLayers* layers_ = nullptr;  // null: by laws alone
};

/// A shape of images in NHWC order.
inline TensorShape in_channels_last(std::initializer_list<std::int64_t> dims) {
  TensorShape t = row_major(dims);
  t.strides = {t.dims[1] * t.dims[2] * t.dims[3], 1, t.dims[1] * t.dims[3], t.dims[1]};
  t.channels_last = true;
  return t;
}

}  // namespace tandem::test
