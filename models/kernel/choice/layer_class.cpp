#include "models/kernel/choice/layer_class.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "models/kernel/kinds.h"

namespace tandem {
namespace {

using P = LayerPath;
constexpr Named<LayerClass> classes[] = {
    {{P::product}, "product", "products"},
    {{P::product, true}, "product+apart", "products, group by group"},
    {{P::product, false, true}, "product+turned", "products between transforms"},
    {{P::product, true, true},
     "product+apart+turned",
     "products between transforms, group by group"},
    {{P::implicit}, "implicit", "implicit products"},
    {{P::implicit, true}, "implicit+apart", "implicit products, group by group"},
    {{P::implicit, false, true}, "implicit+turned", "implicit products between transforms"},
    {{P::implicit, true, true},
     "implicit+apart+turned",
     "implicit products between transforms, group by group"},
    {{P::lanes}, "lanes", "FP32 pipes"},
    {{P::lanes, true}, "lanes+apart", "FP32 pipes, group by group"},
    {{P::lanes, false, true}, "lanes+turned", "FP32 pipes between transforms"},
    {{P::lanes, true, true}, "lanes+apart+turned", "FP32 pipes between transforms, group by group"},
    {{P::direct}, "direct", "the library's kernels for few channels a group"},
    {{P::direct, true}, "direct+apart", "the same, group by group"},
    {{P::direct, false, true}, "direct+turned", "the same between transforms"},
    {{P::direct, true, true}, "direct+apart+turned", "the same between transforms, group by group"},
    {{P::framework}, "framework", "the framework's depthwise kernels"},
    {{P::framework, true}, "framework+apart", "the same, group by group"},
    {{P::framework, false, true}, "framework+turned", "the same between transforms"},
    {{P::framework, true, true},
     "framework+apart+turned",
     "the same between transforms, group by group"},
};

LayerPath path_of(const KernelClass& k) {
  switch (k.traits.kind) {
    case Kind::depthwise:
    case Kind::depthwise_generic:
    case Kind::depthwise_gradient:
    case Kind::depthwise_generic_gradient:
    case Kind::depthwise_weights: return LayerPath::framework;
    default: break;
  }
  if (row_of(k.traits).depthwise) return LayerPath::direct;
  if (k.traits.library_gemm) return LayerPath::product;
  return k.traits.engine == Engine::hmma || k.traits.engine == Engine::gmma ? LayerPath::implicit
                                                                            : LayerPath::lanes;
}

/// Of the library, whose kernels for the input gradient come first: their number. Plain products do
/// not state which gradient they are, but the last of them is that of the weights where its parts
/// are summed after it.
std::size_t input_gradient_kernels(std::span<const LayerKernel> kernels) {
  std::size_t end = 0, before_last = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelClass& k = *kernels[i].kernel;
    if (k.traits.kind == Kind::wgrad_reduce) {
      const auto rest = kernels.subspan(i);
      const bool last = std::none_of(rest.begin(), rest.end(),
                                     [](const LayerKernel& r) { return does_products(*r.kernel); });
      if (last) {
        end = before_last;
        break;
      }
    }
    // Winograd's transforms come before a plain product, and say of which gradient it is.
    const bool winograd = k.traits.kind == Kind::winograd_transform;
    if ((does_products(k) || winograd) && k.traits.pass == Pass::weight_gradient) break;
    if (!does_products(k)) continue;
    before_last = std::exchange(end, i + 1);
  }
  if (end == 0) return 0;
  // What turns its result back follows it; what turns operands to channels-last order is of the
  // next pass.
  const auto turns_back = [](const KernelClass& k) {
    return k.family == KernelFamily::layout && k.traits.kind != Kind::nchw_to_nhwc;
  };
  while (end < kernels.size() && turns_back(*kernels[end].kernel)) ++end;
  return end;
}

}  // namespace

std::span<const Named<LayerClass>> layer_classes() { return classes; }

std::string_view describe(const LayerClass& layer_class) {
  for (const Named<LayerClass>& row : classes) {
    if (row.value == layer_class) return row.doc;
  }
  return "unknown";
}

LayerClass layer_class_of(std::span<const LayerKernel> kernels) {
  const LayerKernel* longest = nullptr;
  for (const LayerKernel& k : kernels) {
    if (does_products(*k.kernel) && (longest == nullptr || k.us > longest->us)) longest = &k;
  }
  LayerClass out;
  if (longest == nullptr) return out;
  out.path = path_of(*longest->kernel);
  constexpr std::ptrdiff_t few = 2;  // a kernel for the edges may stand beside the main one
  out.apart = std::count_if(kernels.begin(), kernels.end(), [&](const LayerKernel& k) {
                return does_products(*k.kernel) && path_of(*k.kernel) == out.path;
              }) > few;
  out.turned = std::any_of(kernels.begin(), kernels.end(), [](const LayerKernel& k) {
    return k.kernel->family == KernelFamily::layout;
  });
  return out;
}

bool does_products(const KernelClass& kernel) {
  return (kernel.family == KernelFamily::gemm || kernel.family == KernelFamily::convolution) &&
         row_of(kernel.traits).role == Role::main;
}

bool is_of_pass(const KernelClass& kernel) {
  switch (kernel.family) {
    case KernelFamily::gemm:
    case KernelFamily::convolution:
    case KernelFamily::layout:
    case KernelFamily::transfer:
    case KernelFamily::generic: return true;
    default: return false;
  }
}

namespace {

std::vector<PassKernels> passes_in_order(std::span<const LayerKernel> kernels, bool backward) {
  if (!backward) return {{Pass::forward, 0, kernels.size()}};
  const auto first = [&](std::initializer_list<Kind> kinds) {
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const LayerKernel& k) {
      return std::find(kinds.begin(), kinds.end(), k.kernel->traits.kind) != kinds.end();
    });
    return static_cast<std::size_t>(found - kernels.begin());
  };
  const std::size_t all = kernels.size();
  const std::size_t weights = first({Kind::depthwise_weights});
  const std::size_t input = first({Kind::depthwise_gradient, Kind::depthwise_generic_gradient});
  if (weights < input && input < all) {
    return {{Pass::weight_gradient, 0, input}, {Pass::input_gradient, input, all}};
  }
  const std::size_t split = input_gradient_kernels(kernels);
  std::vector<PassKernels> out;
  if (split > 0) out.push_back({Pass::input_gradient, 0, split});
  if (split < all) out.push_back({Pass::weight_gradient, split, all});
  return out;
}

Pass turned_around(Pass pass) {
  switch (pass) {
    case Pass::forward: return Pass::input_gradient;
    case Pass::input_gradient: return Pass::forward;
    default: return pass;
  }
}

}  // namespace

std::vector<PassKernels> passes_of(std::span<const LayerKernel> kernels, bool backward,
                                   bool transposed) {
  std::vector<PassKernels> out = passes_in_order(kernels, backward);
  for (PassKernels& p : out) p.pass = transposed ? turned_around(p.pass) : p.pass;
  return out;
}

}  // namespace tandem
