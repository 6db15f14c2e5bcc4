// How a library runs one pass of a convolution: what a what-if calls a switch is a change of this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/kernel/kernel.h"
#include "sim/core/named.h"

namespace tandem {

enum class LayerPath : std::uint8_t {
  product,    // a product of matrices, one for every image or one for all
  implicit,   // an implicit product on tensor cores
  lanes,      // FP32 pipes
  direct,     // the library's kernel for groups of few channels
  framework,  // the framework's own depthwise kernel
};

struct LayerClass {
  LayerPath path = LayerPath::implicit;
  bool apart = false;   // one group after the other
  bool turned = false;  // between transforms that bring images into another order
  friend bool operator==(const LayerClass&, const LayerClass&) = default;
};

/// As configs/kernels/layers.csv names it: a path, "+apart", "+turned".
std::span<const Named<LayerClass>> layer_classes();
/// The same for people: "an implicit product between transforms".
std::string_view describe(const LayerClass& layer_class);

/// A kernel of a layer as a step has it.
struct LayerKernel {
  const KernelClass* kernel = nullptr;
  double us = 0;
};
/// How the kernels of one pass run it.
LayerClass layer_class_of(std::span<const LayerKernel> kernels);

/// The kernels of one pass among those of an operation, in the order of their launches.
struct PassKernels {
  Pass pass = Pass::forward;
  std::size_t begin = 0, end = 0;
};
/// Whether a kernel of a layer does its products, and not what they need beside.
bool does_products(const KernelClass& kernel);
/// Whether a kernel of a convolution's operation is of a pass, and not a bias or its gradient.
bool is_of_pass(const KernelClass& kernel);
/// How the passes of a convolution's operation share out such kernels. Backward the library makes
/// the gradient of the input first, the framework's depthwise kernels that of the weights. What a
/// transposed convolution runs is the input gradient of a layer, and that layer for its own.
std::vector<PassKernels> passes_of(std::span<const LayerKernel> kernels, bool backward,
                                   bool transposed = false);

}  // namespace tandem
