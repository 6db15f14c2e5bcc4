// What elementwise and multi-tensor kernels compute: the functor among their template arguments.
#include "models/kernel/classify/classify.h"

namespace tandem {
namespace {

using F = KernelFamily;
using R = FunctorResult;

constexpr FunctorRow functors[] = {
    {"", "unknown", F::pointwise},
    {"direct_copy_kernel", "copy", F::copy},
    {"float16_copy_kernel", "cast", F::copy, R::other_type},
    {"FillFunctor", "fill", F::copy},
    {"arange", "fill", F::copy},
    {"CUDAFunctor_add", "add", F::pointwise},
    {"CUDAFunctorOnSelf_add", "add", F::pointwise},
    {"CUDAFunctorOnOther_add", "add", F::pointwise},
    {"MulFunctor", "mul", F::pointwise},
    {"DivFunctor", "div", F::pointwise},
    {"div_true", "div", F::pointwise},
    {"div_trunc", "div", F::pointwise},
    {"div_floor", "div", F::pointwise},
    {"remainder", "remainder", F::pointwise},
    {"threshold_kernel", "relu_backward", F::pointwise},
    {"hardtanh_backward", "hardtanh_backward", F::pointwise},
    {"launch_clamp_scalar", "clamp", F::pointwise},
    {"leaky_relu_backward", "relu_backward", F::pointwise},
    {"leaky_relu", "clamp", F::pointwise},
    {"hardswish_backward", "hardswish_backward", F::pointwise},
    {"hardswish", "hardswish", F::pointwise},
    {"clamp_min_scalar", "clamp", F::pointwise},
    {"clamp", "clamp", F::pointwise},
    {"launch_relu", "clamp", F::pointwise},
    {"relu_kernel", "clamp", F::pointwise},
    {"GeluBackward", "gelu_backward", F::pointwise},
    {"Gelu", "gelu", F::pointwise},
    {"silu_backward", "silu_backward", F::pointwise},
    {"silu", "silu", F::pointwise},
    {"tanh_backward", "tanh_backward", F::pointwise},
    {"tanh", "tanh", F::pointwise},
    {"log_sigmoid_backward", "log_sigmoid_backward", F::pointwise},
    {"log_sigmoid", "log_sigmoid", F::pointwise},
    {"sigmoid_backward", "sigmoid_backward", F::pointwise},
    {"sigmoid", "sigmoid", F::pointwise},
    {"softplus", "softplus", F::pointwise},
    {"masked_scale", "masked_scale", F::pointwise},
    {"where_kernel", "where", F::pointwise},
    {"masked_fill", "where", F::pointwise},
    {"compare_scalar", "compare", F::pointwise, R::truth},
    {"CompareFunctor", "compare", F::pointwise, R::truth},
    {"CompareEqFunctor", "compare", F::pointwise, R::truth},
    {"compare_eq", "compare", F::pointwise, R::truth},
    {"bitwise", "logical", F::pointwise, R::truth},
    {"logical", "logical", F::pointwise, R::truth},
    {"rsqrt", "rsqrt", F::pointwise},
    {"sqrt", "sqrt", F::pointwise},
    {"reciprocal", "reciprocal", F::pointwise},
    {"exp2", "exp", F::pointwise},
    {"exp_kernel", "exp", F::pointwise},
    {"log_kernel", "log", F::pointwise},
    {"erf", "erf", F::pointwise},
    {"sin_kernel", "sin", F::pointwise},
    {"cos_kernel", "sin", F::pointwise},
    {"pow_tensor_scalar", "pow", F::pointwise},
    {"pow", "pow", F::pointwise},
    {"lerp", "lerp", F::pointwise},
    {"addcmul", "addcmul", F::pointwise},
    {"addcdiv", "addcdiv", F::pointwise},
    {"maximum", "maximum", F::pointwise},
    {"minimum", "maximum", F::pointwise},
    {"neg_kernel", "neg", F::pointwise},
    {"abs", "abs", F::pointwise},
    {"AbsFunctor", "abs", F::pointwise},
    {"mse_", "mse", F::pointwise},
    {"binary_cross_entropy", "bce", F::pointwise},
    {"atan2", "atan2", F::pointwise},
    {"isneginf", "isfinite", F::pointwise, R::truth},
    {"isfinite", "isfinite", F::pointwise, R::truth},
    {"isposinf", "isfinite", F::pointwise, R::truth},
    {"sub", "add", F::pointwise},
    // Multi-tensor kernels
    {"FusedAdam", "multi adam", F::optimizer},
    {"Adam", "multi adam", F::optimizer},
    {"FusedSgd", "multi sgd", F::optimizer},
    {"FusedAdagrad", "multi adagrad", F::optimizer},
    {"non_finite_check", "multi unscale", F::optimizer},
    {"LpNorm", "multi norm", F::optimizer},
    {"ZeroFunctor", "multi zero", F::optimizer},
    {"Copy", "multi copy", F::optimizer},
    {"3, 0>, std::divides", "multi addcdiv", F::optimizer},
    {"3, 3>, std::divides", "multi addcdiv", F::optimizer},
    {"3, 0>, std::multiplies", "multi addcmul", F::optimizer},
    {"3, 3>, std::multiplies", "multi addcmul", F::optimizer},
    {"std::divides", "multi div", F::optimizer},
    {"std::multiplies", "multi mul", F::optimizer},
    {"std::plus", "multi add", F::optimizer},
    {"std::minus", "multi add", F::optimizer},
    {"Lerp", "multi lerp", F::optimizer},
    {"lerp", "multi lerp", F::optimizer},
    {"Sqrt", "multi sqrt", F::optimizer},
    {"", "multi other", F::optimizer},
};

}  // namespace

std::span<const FunctorRow> functor_rows() { return functors; }

std::size_t first_multi_functor() {
  static const std::size_t first = [] {
    std::size_t i = 0;
    while (functors[i].family != F::optimizer) ++i;
    return i;
  }();
  return first;
}

}  // namespace tandem
