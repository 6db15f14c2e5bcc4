// Convolutions, norms and pools of images. Signals are images of one row, as cuDNN takes them.
#include <algorithm>

#include "workloads/onnx/ops.h"
#include "workloads/onnx/views.h"

namespace tandem::onnx {

namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t most_window = 1 << 20;

/// A window that moves over the spatial dimensions.
struct Window {
  Numbers kernel, stride, padding, dilation;
  Numbers extra;      // padding at the end beyond that at the beginning
  bool ceil = false;  // windows that begin inside count even where they end outside
};

Numbers checked(const Call& call, std::string_view name, std::size_t rank, std::int64_t otherwise,
                std::int64_t least) {
  Numbers out = call.attribute_numbers(name);
  if (out.empty()) out.assign(rank, otherwise);
  if (out.size() != rank) {
    call.fail(std::string(name) + " of " + std::to_string(out.size()) + " numbers",
              std::to_string(rank) + ", one for each spatial dimension");
  }
  for (const std::int64_t n : out) {
    if (n < least || n > most_window) {
      call.fail(std::string(name) + " of " + std::to_string(n), "a size of a window");
    }
  }
  return out;
}

/// The padding that auto_pad asks for: as many windows as strides fit.
void pad_same(const Call& call, Window& window, bool at_end) {
  const Dims& dims = call.dims(0);
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    const std::int64_t size = call.fixed(dims[2 + d], "a spatial size under auto_pad");
    const std::int64_t windows = (size + window.stride[d] - 1) / window.stride[d];
    const std::int64_t reach = (window.kernel[d] - 1) * window.dilation[d] + 1;
    const std::int64_t total =
        std::max<std::int64_t>(0, (windows - 1) * window.stride[d] + reach - size);
    window.padding[d] = total / 2;
    window.extra[d] = total % 2;
    if (!at_end && window.extra[d] != 0) {
      window.padding[d] += 1;
      window.extra[d] = -1;
    }
  }
}

Window window_of(const Call& call, Numbers kernel) {
  const std::size_t rank = kernel.size();
  Window out;
  out.kernel = std::move(kernel);
  out.stride = checked(call, "strides", rank, 1, 1);
  out.dilation = checked(call, "dilations", rank, 1, 1);
  out.padding.assign(rank, 0);
  out.extra.assign(rank, 0);
  out.ceil = call.number("ceil_mode", 0) != 0;
  const std::string automatic = call.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    pad_same(call, out, automatic == "SAME_UPPER");
    return out;
  }
  const Numbers pads = checked(call, "pads", 2 * rank, 0, 0);
  for (std::size_t d = 0; d < rank; ++d) {
    out.padding[d] = pads[d];
    out.extra[d] = pads[rank + d] - pads[d];
  }
  return out;
}

Dims windows_over(const Call& call, const Dims& dims, const Window& w) {
  Dims out(dims.begin(), dims.begin() + 2);
  for (std::size_t d = 0; d < w.kernel.size(); ++d) {
    const std::int64_t size = call.fixed(dims[2 + d], "a spatial size");
    const std::int64_t room =
        size + 2 * w.padding[d] + w.extra[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
    if (room < 0) call.fail("a window larger than the image", "a smaller one");
    std::int64_t count = (room + (w.ceil ? w.stride[d] - 1 : 0)) / w.stride[d] + 1;
    if (w.ceil && (count - 1) * w.stride[d] >= size + w.padding[d]) --count;
    out.emplace_back(count);
  }
  return out;
}

/// Padding that is not the same on both sides is added by an operation of its own.
Value padded(Call& call, Window& w) {
  Step& step = call.step;
  Value x = call.input(0);
  x.tensor = call.tensor(0);
  if (std::all_of(w.extra.begin(), w.extra.end(), [](std::int64_t e) { return e == 0; })) return x;
  Dims dims = x.dims;
  Numbers pads;
  for (std::size_t d = w.kernel.size(); d-- > 0;) {
    pads.insert(pads.end(), {w.padding[d], w.padding[d] + w.extra[d]});
    dims[2 + d] = dims[2 + d] + Expression(2 * w.padding[d] + w.extra[d]);
    w.padding[d] = w.extra[d] = 0;
  }
  Value out = step.value(
      step.run("aten::constant_pad_nd", {of(*x.tensor), wholes(pads), plain(0.0)}, x.type, dims));
  for (std::int64_t& p : pads) p = -p;
  step.differentiable(
      "ConstantPadNdBackward0", {&out}, {x}, [&step, x, pads](const Step::Gradients& g) {
        step.give(x, step.run("aten::constant_pad_nd", {of(*g[0]), wholes(pads), plain(0.0)},
                              x.type, x.dims));
      });
  return out;
}

void check_image(const Call& call, const Dims& dims) {
  if (dims.size() < 3 || dims.size() > 5) {
    call.fail("an operand of " + std::to_string(dims.size()) + " dimensions",
              "batch, channels and one to three spatial ones");
  }
}

/// The bias of cuDNN's convolutions is added by an operation of its own, in place.
TensorId with_bias(Step& step, TensorId y, std::optional<TensorId> bias) {
  if (!bias) return y;
  Dims dims(step.tensor(y).dims.size(), Expression(1));
  dims[1] = step.tensor(*bias).dims[0];
  const TensorId sum = step.rewritten(y);
  step.emit("aten::add_", {of(y), of(reshaped(step, *bias, dims)), whole(1)}, {sum});
  return sum;
}

struct Convolved {
  Value x, w;
  std::optional<Value> bias;
  Window window;
  Numbers output_padding;
  std::int64_t groups = 1;
  bool transposed = false;
};

void convolution_gradient(Step& step, const Convolved& c, TensorId g) {
  const bool has_bias = c.bias && c.bias->needs_gradient;
  const std::int64_t outputs = step.tensor(g).dims[1].number().value_or(0);
  const auto made = [&](const Value& v) { return step.make(v.type, v.dims); };
  std::vector<TensorId> results;
  if (c.x.needs_gradient) results.push_back(made(c.x));
  results.push_back(made(c.w));
  if (has_bias) results.push_back(made(*c.bias));
  step.emit("aten::convolution_backward",
            {of(g), of(*c.x.tensor), of(*c.w.tensor), c.bias ? wholes({outputs}) : wholes({0}),
             wholes(c.window.stride), wholes(c.window.padding), wholes(c.window.dilation),
             plain(c.transposed), wholes(c.output_padding), whole(c.groups),
             wholes({c.x.needs_gradient, c.w.needs_gradient, has_bias})},
            results);
  std::size_t next = 0;
  if (c.x.needs_gradient) step.give(c.x, results[next++]);
  step.give(c.w, results[next++]);
  if (has_bias) step.give(*c.bias, results[next]);
}

void finish(Call& call, const Convolved& c, TensorId y) {
  Step& step = call.step;
  y = with_bias(step, y, c.bias ? c.bias->tensor : std::nullopt);
  std::vector<Value> operands{c.x, c.w};
  if (c.bias) operands.push_back(*c.bias);
  call.result(y, "ConvolutionBackward0", operands,
              [&step, c](TensorId g) { convolution_gradient(step, c, g); });
}

Convolved operands_of(Call& call, const Dims& weight) {
  check_image(call, call.dims(0));
  if (weight.size() != call.dims(0).size())
    call.fail("a weight of other dimensions", "as many as the image");
  Numbers kernel;
  for (std::size_t d = 2; d < weight.size(); ++d) {
    kernel.push_back(call.fixed(weight[d], "a window"));
    if (kernel.back() < 1 || kernel.back() > most_window)
      call.fail("a window of no size", "a window");
  }
  Convolved c;
  c.window = window_of(call, std::move(kernel));
  c.x = padded(call, c.window);
  c.w = call.input(1);
  c.w.tensor = call.tensor(1);
  if (call.has(2)) {
    c.bias = call.input(2);
    c.bias->tensor = call.tensor(2);
    if (c.bias->dims.size() != 1) call.fail("a bias that is no vector", "one number a channel");
  }
  c.groups = call.number("group", 1);
  c.output_padding.assign(c.window.kernel.size(), 0);
  if (c.groups < 1) call.fail("group " + std::to_string(c.groups), "a positive number");
  return c;
}

bool is_depthwise(const Convolved& c) {
  return c.x.dims.size() == 4 && c.groups > 1 && c.x.dims[1] == Expression(c.groups) &&
         c.w.dims[1] == Expression(1);
}

struct Pool {
  Value x;
  Window window;
  Dims dims;
  Arguments shape;  // kernel, stride, padding
};

Pool pool_of(Call& call) {
  check_image(call, call.dims(0));
  Pool p;
  p.window = window_of(call, checked(call, "kernel_shape", call.dims(0).size() - 2, 1, 1));
  p.x = padded(call, p.window);
  p.dims = windows_over(call, p.x.dims, p.window);
  p.shape = {wholes(p.window.kernel), wholes(p.window.stride), wholes(p.window.padding)};
  return p;
}

Arguments joined(Arguments first, const Arguments& second, const Arguments& third = {}) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

}  // namespace

void convolution(Call& call) {
  Convolved c = operands_of(call, call.dims(1));
  if (c.x.dims[1] != c.w.dims[1] * Expression(c.groups)) {
    call.fail("a weight for other channels than the image has", "as many");
  }
  Dims dims = windows_over(call, c.x.dims, c.window);
  dims[1] = c.w.dims[0];
  Step& step = call.step;
  if (is_depthwise(c)) {
    const NetworkArgument bias = c.bias ? of(*c.bias->tensor) : nothing();
    const TensorId y =
        step.run("aten::_conv_depthwise2d",
                 {of(*c.x.tensor), of(*c.w.tensor), wholes(c.window.kernel), bias,
                  wholes(c.window.stride), wholes(c.window.padding), wholes(c.window.dilation)},
                 c.x.type, dims);
    std::vector<Value> operands{c.x, c.w};
    if (c.bias) operands.push_back(*c.bias);
    return call.result(y, "ConvolutionBackward0", operands,
                       [&step, c](TensorId g) { convolution_gradient(step, c, g); });
  }
  const TensorId y = step.run(
      "aten::cudnn_convolution",
      {of(*c.x.tensor), of(*c.w.tensor), wholes(c.window.padding), wholes(c.window.stride),
       wholes(c.window.dilation), whole(c.groups), plain(false), plain(false), plain(true)},
      c.x.type, dims);
  finish(call, c, y);
}

void transposed_convolution(Call& call) {
  Convolved c = operands_of(call, call.dims(1));
  c.transposed = true;
  c.output_padding = checked(call, "output_padding", c.window.kernel.size(), 0, 0);
  if (c.x.dims[1] != c.w.dims[0])
    call.fail("a weight for other channels than the image has", "as many");
  Dims dims(c.x.dims.begin(), c.x.dims.begin() + 2);
  dims[1] = c.w.dims[1] * Expression(c.groups);
  for (std::size_t d = 0; d < c.window.kernel.size(); ++d) {
    const Window& w = c.window;
    const std::int64_t around =
        w.dilation[d] * (w.kernel[d] - 1) + c.output_padding[d] + 1 - 2 * w.padding[d];
    dims.push_back((c.x.dims[2 + d] - Expression(1)) * Expression(w.stride[d]) +
                   Expression(around));
  }
  Step& step = call.step;
  const TensorId y =
      step.run("aten::cudnn_convolution_transpose",
               {of(*c.x.tensor), of(*c.w.tensor), wholes(c.window.padding),
                wholes(c.output_padding), wholes(c.window.stride), wholes(c.window.dilation),
                whole(c.groups), plain(false), plain(false), plain(true)},
               c.x.type, dims);
  finish(call, c, y);
}

void batch_norm(Call& call) {
  Step& step = call.step;
  const Value x = call.input(0), weight = call.input(1), bias = call.input(2);
  const TensorId in = call.tensor(0), w = call.tensor(1), b = call.tensor(2);
  const TensorId mean = call.tensor(3), variance = call.tensor(4);
  const bool trains = step.trains();
  const double epsilon = call.fraction("epsilon", 1e-5);
  if (trains) {  // how many steps the statistics have seen
    const TensorId count = step.make(DataType::int64, {}, StorageKind::buffer);
    step.emit("aten::add_", {of(count), whole(1), whole(1)}, {step.rewritten(count)});
  }
  const Dims kept = trains ? weight.dims : Dims{Expression(0)};
  const TensorId y = step.make(x.type, x.dims);
  const TensorId kept_mean = step.make(DataType::fp32, kept),
                 kept_variance = step.make(DataType::fp32, kept);
  const TensorId reserve = step.make(DataType::int8, {Expression(0)});
  step.emit("aten::cudnn_batch_norm",
            {of(in), of(w), of(b), of(mean), of(variance), plain(trains),
             plain(1 - call.fraction("momentum", 0.9)), plain(epsilon)},
            {y, kept_mean, kept_variance, reserve});
  call.result(y, "CudnnBatchNormBackward0", {x, weight, bias}, [=, &step](TensorId g) {
    const TensorId gx = step.make(x.type, x.dims);
    const TensorId gw = step.make(weight.type, weight.dims), gb = step.make(bias.type, bias.dims);
    step.emit("aten::cudnn_batch_norm_backward",
              {of(in), of(g), of(w), of(mean), of(variance), of(kept_mean), of(kept_variance),
               plain(epsilon), of(reserve)},
              {gx, gw, gb});
    step.give(x, gx);
    step.give(weight, gw);
    step.give(bias, gb);
  });
}

void max_pool(Call& call) {
  Step& step = call.step;
  const Pool p = pool_of(call);
  const Arguments shape = joined(p.shape, {wholes(p.window.dilation), plain(p.window.ceil)});
  const TensorId x = *p.x.tensor;
  const TensorId y = step.make(p.x.type, p.dims), where = step.make(DataType::int64, p.dims);
  step.emit("aten::max_pool2d_with_indices", joined({of(x)}, shape), {y, where});
  call.result(y, "MaxPool2DWithIndicesBackward0", {p.x}, [&step, p, x, shape, where](TensorId g) {
    step.give(p.x, step.run("aten::max_pool2d_with_indices_backward",
                            joined({of(g), of(x)}, shape, {of(where)}), p.x.type, p.x.dims));
  });
}

void average_pool(Call& call) {
  Step& step = call.step;
  const Pool p = pool_of(call);
  const Arguments shape = joined(
      p.shape, {plain(p.window.ceil), plain(call.number("count_include_pad", 0) != 0), nothing()});
  const TensorId x = *p.x.tensor;
  const TensorId y = step.run("aten::avg_pool2d", joined({of(x)}, shape), p.x.type, p.dims);
  call.result(y, "AvgPool2DBackward0", {p.x}, [&step, p, x, shape](TensorId g) {
    step.give(p.x, step.run("aten::avg_pool2d_backward", joined({of(g), of(x)}, shape), p.x.type,
                            p.x.dims));
  });
}

}  // namespace tandem::onnx
