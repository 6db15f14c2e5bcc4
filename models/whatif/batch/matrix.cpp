#include "models/whatif/batch/matrix.h"

#include <algorithm>

#include "models/kernel/work/gemm_shape.h"

namespace tandem {
namespace {

Product conv_product(const KernelClass& k, const ConvShape& c) {
  const auto images = static_cast<double>(c.images);
  const double in = static_cast<double>(c.in_channels) / static_cast<double>(c.groups);
  const double out = static_cast<double>(c.out_channels) / static_cast<double>(c.groups);
  const auto in_pixels = static_cast<double>(c.in_pixels);
  const auto out_pixels = static_cast<double>(c.out_pixels), taps = static_cast<double>(c.taps);
  Product p;
  p.convolution = true;
  p.batch = static_cast<double>(c.groups);
  switch (k.traits.pass) {
    case Pass::forward: p.m = images * out_pixels, p.n = out, p.k = in * taps; break;
    case Pass::input_gradient:
      p.m = images * in_pixels, p.n = in, p.k = out * taps * out_pixels / in_pixels;
      break;
    case Pass::weight_gradient: p.m = out, p.n = in * taps, p.k = images * out_pixels; break;
  }
  const double elements = images * (in * in_pixels + out * out_pixels) + in * out * taps;
  p.bytes = elements * p.batch * std::max(element_bytes(k.traits.data), 1);
  return p;
}

// Products of a recurrent layer: the grid of the traced kernel tells which one it is. The gradients
// of the weights sum over the sequences. What needs the state of the step before takes one step per
// launch, and its columns are the sequences. What does not (the inputs of the layer) takes as many
// steps as fill a certain number of columns: not the columns but the launches follow the batch.
std::optional<Product> recurrent_product(const BatchKernel& k, const OpTensors& tensors) {
  const TensorShape *traced = k.op->tensors.at(0), *now = tensors.at(0);
  if (traced == nullptr || now == nullptr || traced->rank != 3 || k.op->axis[0] < 0) return {};
  const OpContext context{k.op->name, k.op->tensors, k.op->arguments, k.geometry};
  const MatrixProblem m = matrix_problem(k.kernel, context);
  if (m.batch <= 0 || m.m <= 0 || m.n <= 0 || m.k <= 0) return {};
  const auto axis = static_cast<std::size_t>(k.op->axis[0]);
  const double factor =
      static_cast<double>(now->dims[axis]) / static_cast<double>(traced->dims[axis]);
  const double all = static_cast<double>(now->dims[0]) * static_cast<double>(now->dims[1]);
  Product p;
  p.m = static_cast<double>(m.m), p.n = static_cast<double>(m.n), p.k = static_cast<double>(m.k);
  if (is_recurrent_weight_gradient(k.kernel, k.op->name)) {
    p.k *= factor;
  } else if (m.steps > 1) {
    p.n = std::min(p.n, all);
    p.launches = all / p.n;
  } else {
    p.n *= factor;
  }
  p.bytes = (p.m * p.n + p.m * p.k + p.n * p.k) * std::max(element_bytes(k.kernel.traits.data), 1);
  return p;
}

}  // namespace

std::optional<Product> product_of(const BatchKernel& kernel, const OpTensors& tensors) {
  const OpContext context{kernel.op->name, tensors, kernel.op->arguments, kernel.geometry};
  if (const auto conv = conv_shape(context)) {
    if (conv->images <= 0 || conv->in_pixels <= 0) return std::nullopt;
    return conv_product(kernel.kernel, *conv);
  }
  if (kernel.op->row->kind == OpKind::recurrent) return recurrent_product(kernel, tensors);
  const MatrixProblem m = matrix_problem(kernel.kernel, context);
  if (m.batch <= 0 || m.m <= 0 || m.n <= 0 || m.k <= 0) return std::nullopt;
  Product p;
  p.batch = static_cast<double>(m.batch);
  p.m = static_cast<double>(m.m), p.n = static_cast<double>(m.n), p.k = static_cast<double>(m.k);
  p.bytes = m.a_bytes + m.b_bytes + m.c_bytes;
  p.fused = is_product_with_bias(*kernel.op->row);
  return p;
}

}  // namespace tandem
