#include "models/whatif/compile/inductor/padding.h"

#include "models/kernel/time/laws/library_products.h"
#include "models/kernel/time/rates.h"
#include "sim/core/tensors/data_type.h"

// The numbers are those of TorchInductor 2.11 (torch/_inductor/fx_passes/pad_mm.py).

namespace tandem {
namespace {

constexpr double aligned_bytes = 16;
constexpr double measured_width = 2;  // bytes of an element of the law's products and copies

bool is_turned(const TensorShape& s) {
  return s.rank >= 2 && s.strides[s.rank - 2U] == 1 && s.strides[s.rank - 1U] > 1;
}

/// aten::constant_pad_nd of one operand, which reads and writes `moved` bytes: what an SM copies in
/// a clock are elements, which were measured at two bytes each.
double copy_us(const GpuArch& gpu, const PaddingLaw& law, double moved, bool turned, double width) {
  const double passes = turned ? law.turned_passes : law.ordered_passes;
  const double bytes_per_clk =
      (turned ? law.turned_bytes_per_clk : law.ordered_bytes_per_clk) * (width / measured_width);
  return dram_us(gpu, passes * moved, 1) +
         moved / (bytes_per_clk * gpu.sm_count * gpu.boost_clock_mhz);
}

/// Whether it computes enough for what it moves, by the compiler's own estimate of the board: of
/// tensor cores it knows those of the A100, and that caches serve more than DRAM does.
bool is_tried(const GpuArch& gpu, const ProductOperands& p) {
  constexpr double half_flop_per_clk = 512, tf32_flop_per_clk = 256, kilo = 1e3, half = 0.5;
  const double flop_per_clk = is_half(p.left.type) ? half_flop_per_clk : tf32_flop_per_clk;
  const auto m = double(p.rows), k = double(p.inner), n = double(p.columns);
  const double flop_per_us = flop_per_clk * gpu.sm_count * gpu.smsp_per_sm * gpu.boost_clock_mhz;
  const double balance = flop_per_us / (gpu.dram_peak_gbps * kilo);
  return m * k * n / (m * k + k * n + m * n) > half * balance;
}

}  // namespace

std::vector<Field<PaddingLaw>> padding_law_fields() {
  using P = PaddingLaw;
  return {field("padding_enough_bytes", "byte",
                "alignment of rows from which padding half-precision products gains nothing",
                &P::enough_bytes),
          field("padding_ordered_passes", "ratio",
                "DRAM bytes over those read and written by the framework's copy of a 16-bit matrix "
                "into a padded one",
                &P::ordered_passes),
          field("padding_ordered_bytes_per_clk", "byte",
                "read and written by it in a clock of an SM", &P::ordered_bytes_per_clk),
          field("padding_turned_passes", "ratio", "as padding_ordered_passes, columns together",
                &P::turned_passes),
          field("padding_turned_bytes_per_clk", "byte",
                "as padding_ordered_bytes_per_clk, columns together", &P::turned_bytes_per_clk)};
}

std::optional<Padding> product_padding(const GpuArch& gpu, const PaddingLaw& law,
                                       const ProductOperands& product, MadeOperands made) {
  const DataType type = product.left.type;
  struct Side {
    bool padded, gains;
  };
  const double enough = law.enough_bytes * (element_bytes(type) / measured_width);
  const auto side = [&](std::int64_t n) {
    return Side{!aligned_rows(n, type, aligned_bytes), !aligned_rows(n, type, enough)};
  };
  const Side k = side(product.inner), n = side(product.columns);
  // Of a turned left operand what lies together are `rows` elements.
  const Side m = is_turned(product.left) ? side(product.rows) : Side{};
  if (!(m.gains || k.gains || n.gains) || !is_tried(gpu, product)) return std::nullopt;
  Padding out;
  const auto copy = [&](const TensorShape& operand, double elements, bool for_nothing) {
    const double moved = 2 * element_bytes(type) * elements;
    const bool turned = is_turned(operand);
    out.moved += moved;
    if (turned || !for_nothing) {
      out.tried_us += copy_us(gpu, law, moved, turned, element_bytes(type));
    }
  };
  const auto inner = double(product.inner);
  if (m.padded || k.padded) copy(product.left, double(product.rows) * inner, made.left);
  if (k.padded || n.padded) copy(product.right, inner * double(product.columns), made.right);
  return out;
}

bool keeps_padding(const Padding& padding, double us, double aligned_us) {
  constexpr double gain = 1.1;
  return us > gain * (aligned_us + padding.tried_us);
}

}  // namespace tandem
