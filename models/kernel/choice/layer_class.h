// How a library runs one pass of a convolution: what a what-if calls a switch is a change of this.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

/// As configs/kernels/layers.json names it: a path, "+apart", "+turned".
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

/// The passes of a convolution's backward operation share out its kernels, in the order of their
/// launches: those of the input gradient first. Number of kernels of the input gradient.
std::size_t input_gradient_kernels(std::span<const LayerKernel> kernels);

}  // namespace tandem
