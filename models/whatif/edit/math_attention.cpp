#include "models/whatif/edit/math_attention.h"

#include <algorithm>
#include <initializer_list>

#include "models/kernel/time/rates.h"
#include "models/kernel/time/time_model.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

constexpr double wide = 4;  // bytes of an FP32 element; everything inside is computed in FP32
constexpr double truth = 1;

/// Whether neighbouring threads find their elements one after the other.
enum class Order : std::uint8_t {
  streamed,
  computed,  // transposed, broadcast or converted operands: a place is computed for each element
};

class MathKernels {
 public:
  MathKernels(const MathConstants& c, const MathAttention& op)
      : c_(c),
        op_(op),
        queries_(double(op.shape.heads) * double(op.shape.queries) * double(op.shape.width)),
        keys_(double(op.shape.heads) * double(op.shape.keys) * double(op.shape.width)),
        scores_(double(op.shape.heads) * double(op.shape.queries) * double(op.shape.keys)),
        half_(is_half(op.type)),
        width_(element_bytes(op.type)) {}

  std::vector<NewKernel> forward() {
    mask();
    if (half_) each_operand(LibraryUse::cast_up, "aten::to", width_ + wide, Order::computed);
    pass(LibraryUse::scalar_product, "aten::mul", queries_, 2 * wide);
    pass(LibraryUse::scalar_product, "aten::mul", keys_, 2 * wide);
    each_operand(LibraryUse::ordered_copy, "aten::clone", 2 * wide, Order::computed);
    product(op_.shape.queries, op_.shape.keys, op_.shape.width);
    pass(LibraryUse::broadcast_add, "aten::add_", scores_, 2 * wide, Order::computed);
    softmax();
    if (op_.shape.drops_out) {
      pass(LibraryUse::dropout_forward, "aten::native_dropout", scores_, 2 * wide + truth);
    }
    product(op_.shape.queries, op_.shape.width, op_.shape.keys);
    if (half_) {
      pass(LibraryUse::cast_down, "aten::to", queries_, width_ + wide);
      pass(LibraryUse::cast_down, "aten::to", scores_, width_ + wide);
    }
    pass(LibraryUse::ordered_copy, "aten::clone", queries_, 2 * width_, Order::computed);
    return std::move(out_);
  }

  std::vector<NewKernel> backward() {
    if (half_) pass(LibraryUse::cast_up, "aten::to", queries_, width_ + wide, Order::computed);
    pass(LibraryUse::ordered_copy, "aten::clone", queries_, 2 * wide, Order::computed);
    product(op_.shape.queries, op_.shape.keys, op_.shape.width);
    product(op_.shape.keys, op_.shape.width, op_.shape.queries);
    if (op_.shape.drops_out) {
      pass(LibraryUse::dropout_backward, "aten::native_dropout_backward", scores_,
           2 * wide + truth);
    }
    pass(LibraryUse::scalar_product, "aten::mul", scores_, 3 * wide);
    pass(LibraryUse::row_softmax_backward, "aten::_softmax_backward_data", scores_, 3 * wide);
    product(op_.shape.queries, op_.shape.width, op_.shape.keys);
    product(op_.shape.keys, op_.shape.width, op_.shape.queries);
    pass(LibraryUse::scalar_product, "aten::mul", queries_, 2 * wide);
    pass(LibraryUse::scalar_product, "aten::mul", keys_, 2 * wide);
    if (half_) each_operand(LibraryUse::cast_down, "aten::to", width_ + wide, Order::streamed);
    each_operand(LibraryUse::ordered_copy, "aten::clone", 2 * width_, Order::computed);
    return std::move(out_);
  }

 private:
  /// The mask of each image as numbers to add: nothing, or minus infinity.
  void mask() {
    const double elements = scores_ * double(op_.images) / double(op_.shape.heads);
    fill(), fill();
    pass(LibraryUse::mask_select, "aten::where", elements, width_ + truth, Order::computed);
  }

  /// Rows of which every score is masked become zeros (aten::_safe_softmax).
  void softmax() {
    const RowShape rows{op_.shape.heads * op_.shape.queries, op_.shape.keys, DataType::fp32};
    pass(LibraryUse::row_softmax, "aten::_softmax", scores_, 2 * wide);
    out_.back().duration_us = softmax_time(c_.gpu, rows, c_.time).time_us;
    pass(LibraryUse::mask_test, "aten::eq", scores_, wide + truth);
    pass(LibraryUse::mask_all, "aten::all", scores_, truth, Order::computed);
    fill();
    pass(LibraryUse::mask_select, "aten::where", scores_, 2 * wide, Order::computed);
  }

  void fill() { pass(LibraryUse::scalar_fill, "aten::fill_", 1, wide); }

  void each_operand(LibraryUse use, const char* name, double bytes, Order order) {
    pass(use, name, queries_, bytes, order);
    pass(use, name, keys_, bytes, order);
    pass(use, name, keys_, bytes, order);
  }

  /// Over `elements`, each of which reads and writes `bytes`.
  void pass(LibraryUse use, const char* name, double elements, double bytes,
            Order order = Order::streamed) {
    NewKernel k = launch(use, name, use == LibraryUse::cast_down ? op_.type : DataType::fp32);
    const auto n = static_cast<std::int64_t>(elements);
    k.operands.tensors.add(k.operands.argument_count++, flat(n));
    const PointwiseShape moved{static_cast<std::int64_t>(elements * bytes / wide), 1, 0};
    k.duration_us = pointwise_time(c_.gpu, moved, c_.time).time_us;
    if (order == Order::computed) {
      k.duration_us = std::max(
          k.duration_us,
          c_.floor_us + lane_us(c_.gpu, elements * c_.time.shared().computed_place_lane_cycles));
    }
    k.geometry = pointwise_geometry(elements);
    out_.push_back(std::move(k));
  }

  /// A product of each head, [rows][inner] times [inner][columns].
  void product(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    const DataType math = op_.tf32 ? DataType::tf32 : DataType::fp32;
    NewKernel k = launch(LibraryUse::score_product, "aten::bmm", math);
    const std::int64_t heads = op_.shape.heads;
    k.operands = product_factors(heads, rows, inner, columns, DataType::fp32);
    GemmShape shape;
    shape.batch = heads, shape.m = rows, shape.n = columns, shape.k = inner;
    shape.type = math;
    k.duration_us = product_time(c_.gpu, shape, c_.time).time_us;
    k.geometry = product_geometry(heads, rows, columns);
    out_.push_back(std::move(k));
  }

  NewKernel launch(LibraryUse use, const char* name, DataType type) const {
    NewKernel k;
    k.kernel = c_.names.kernel(use, type, c_.gpu.compute_major);
    k.op = name;
    k.operands.has_shapes = true;
    return k;
  }

  static TensorShape flat(std::int64_t elements) {
    TensorShape shape;
    shape.rank = 1;
    shape.dims[0] = std::max<std::int64_t>(1, elements);
    shape.type = DataType::fp32;
    return shape;
  }

  const MathConstants& c_;
  const MathAttention& op_;
  double queries_, keys_, scores_;  // elements
  bool half_;
  double width_;  // bytes of an operand's element
  std::vector<NewKernel> out_;
};

}  // namespace

std::vector<NewKernel> math_attention(const MathConstants& constants, const MathAttention& op,
                                      bool backward) {
  MathKernels kernels(constants, op);
  return backward ? kernels.backward() : kernels.forward();
}

}  // namespace tandem
