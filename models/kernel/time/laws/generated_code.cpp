#include "models/kernel/time/laws/generated_code.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/core/fields/field.h"
#include "sim/core/units.h"

namespace tandem {
namespace {

std::vector<Field<FloorAndShare>> rate_fields(const std::string& name, const std::string& doc) {
  return floor_and_share_fields(name, "shortest " + doc,
                                "share of the peak DRAM rate at which operand bytes pass a " + doc);
}

using Fields = std::vector<Field<GeneratedCode>>;
using G = GeneratedCode;

void add_movement(Fields& fields) {
  const auto add = [&](std::string_view name, std::string_view unit, std::string_view doc,
                       double G::*member) { fields.push_back(field(name, unit, doc, member)); };
  add("pointwise_l2_share", "ratio",
      "the same of a pointwise kernel for what an earlier kernel left in L2",
      &G::pointwise_l2_share);
  add("cold_dram_share", "ratio",
      "... for what the L2 does not hold, while the kernel is too short to fill the DRAM's queues",
      &G::cold_dram_share);
  add("narrow_elements", "elements", "of a pointwise kernel up to which its threads take few each",
      &G::narrow_elements);
  add("narrow_ratio", "ratio", "arithmetic of such a kernel over that of wide threads",
      &G::narrow_ratio);
  add("transposed_share", "ratio",
      "share of the peak DRAM rate where elements are written across the order of reading",
      &G::transposed_share);
  add("strided_gradient_share", "ratio",
      "... where gradients of norms are gathered from columns of their operands",
      &G::strided_gradient_share);
  add("strided_row_lane_cycles", "cycles",
      "of one FP32 lane for an element that is read or written where rows are gathered from "
      "columns of their operand",
      &G::strided_row_lane_cycles);
  add("across_sum_share", "ratio",
      "... where sums over rows read columns that lie far from each other", &G::across_sum_share);
  add("uneven_ratio", "ratio",
      "time of a reduction over images in parts of unequal length over that in equal ones",
      &G::uneven_ratio);
  add("short_column_ratio", "ratio",
      "... over columns that a block holds whole over that in steps of many columns",
      &G::short_column_ratio);
  add("row_block_us", "us", "that a block of rows keeps its place in an SM, over the blocks there",
      &G::row_block_us);
  add("looped_operand_ratio", "ratio",
      "time that a further operand adds where a block goes through rows in loops",
      &G::looped_operand_ratio);
  add("sum_step_us", "us", "from load to load of a thread that adds up", &G::sum_step_us);
  add("rolled_row_us", "us",
      "of a sum over rows of a rolled image, for a row: such sums are not split",
      &G::rolled_row_us);
  add("window_row_us", "us",
      "... over windows of attention whose places are a power of two, for a table of relative "
      "places, a window",
      &G::window_row_us);
  add("half_add_us", "us",
      "of the GPU for an FP16 value that is added to a place in memory to which others add",
      &G::half_add_us);
  add("sector_add_us", "us",
      "from one FP32 value, or eight neighbours, that is added to a sector of a table to the next",
      &G::sector_add_us);
  add("uneven_adds", "ratio",
      "of the values that are added to a table, those that reach the sector which most of them "
      "reach, over those that reach a sector in the mean",
      &G::uneven_adds);
  add("added_l2_share", "ratio",
      "share of the L2's rate at which values reach places in memory to be added there, a sector "
      "each",
      &G::added_l2_share);
  add("finish_us", "us", "kernel that adds the partial sums of a split reduction", &G::finish_us);
  add("short_finish_us", "us", "... of few", &G::short_finish_us);
  add("short_finish_bytes", "B", "of partial sums that are few", &G::short_finish_bytes);
  add("added_together", "values",
      "of neighbours that reach a sector at a time, where the elements of a row lie side by side",
      &G::added_together);
  add("mixed_sum_us", "us",
      "kernel that adds the sums over rows that a kernel of rows kept aside, block by block",
      &G::mixed_sum_us);
  add("pooling_share", "ratio",
      "time of a generated pooling kernel over the library's, of windows that nothing states",
      &G::pooling_share);
  add("gathered_l2_share", "ratio",
      "share of the L2's rate at which threads fetch a sector for every element",
      &G::gathered_l2_share);
}

void add_arithmetic(Fields& fields) {
  const auto add = field_adder(fields, "cycles");
  add("plain_lane_cycles", "of one FP32 lane for an operation on an element",
      &G::plain_lane_cycles);
  add("joined_lane_cycles", "... for each operand of a concatenation that it reads",
      &G::joined_lane_cycles);
  add("tap_lane_cycles", "... for each place of a window (pooling) that an element is made of",
      &G::tap_lane_cycles);
  add("kept_tap_lane_cycles", "... where the place of the maximum is kept",
      &G::kept_tap_lane_cycles);
  add("place_lane_cycles",
      "... for each window whose maximum an element may be, in its gradient, images in the order "
      "of channels",
      &G::place_lane_cycles);
  add("last_place_lane_cycles", "... with channels last", &G::last_place_lane_cycles);
  add("resized_lane_cycles", "... for one whose place in an image of another size is computed",
      &G::resized_lane_cycles);
  add("interpolated_lane_cycles",
      "... that lies between four others (bilinear), images in the order of channels",
      &G::interpolated_lane_cycles);
  add("last_interpolated_lane_cycles", "... with channels last", &G::last_interpolated_lane_cycles);
  add("places_lane_cycles",
      "of an element, where its places among four others are computed beside it: no backward pass "
      "needs them",
      &G::places_lane_cycles);
  add("sampled_lane_cycles",
      "of an element that lies between four places which another tensor states",
      &G::sampled_lane_cycles);
  add("transcendental_lane_cycles", "... for an exponential, a tangent, a sigmoid",
      &G::transcendental_lane_cycles);
  add("trigonometric_lane_cycles", "... for a sine or cosine of any angle",
      &G::trigonometric_lane_cycles);
  add("beside_norm_lane_cycles",
      "... for one beside the gradient of a norm or running statistics, channels last: part of it "
      "passes while their numbers are loaded",
      &G::beside_norm_lane_cycles);
  add("error_lane_cycles", "... for the error function (GELU)", &G::error_lane_cycles);
  add("error_gradient_lane_cycles", "... for its gradient", &G::error_gradient_lane_cycles);
  add("norm_lane_cycles", "... to normalise by its channel, images in the order of channels",
      &G::norm_lane_cycles);
  add("last_norm_lane_cycles", "... with channels last: every element loads its own channel's",
      &G::last_norm_lane_cycles);
  add("norm_gradient_lane_cycles", "... for the gradient of that", &G::norm_gradient_lane_cycles);
  add("divided_lane_cycles",
      "... and for either, channels last, where channels are no power of two: an element's channel "
      "takes a division",
      &G::divided_lane_cycles);
}

void add_row_arithmetic(Fields& fields) {
  const auto add = field_adder(fields, "cycles");
  add("softmax_place_lane_cycles",
      "... of a softmax whose rows a block holds, for a place of the vectors that hold a row",
      &G::softmax_place_lane_cycles);
  add("shared_row_lane_cycles",
      "... of a row that two warps have between them, and for each sum over it that they pass to "
      "each other",
      &G::shared_row_lane_cycles);
  add("looped_norm_lane_cycles",
      "... of a norm whose rows a block goes through twice, for a place of the vectors that hold a "
      "row: the running mean and variance",
      &G::looped_norm_lane_cycles);
  add("looped_sum_lane_cycles", "... of a sum of such rows", &G::looped_sum_lane_cycles);
  add("looped_softmax_lane_cycles",
      "... of a softmax whose rows a block goes through twice: the running maximum and sum",
      &G::looped_softmax_lane_cycles);
  add("odd_row_lane_cycles",
      "... and for an element of masked scores in FP32 whose rows are no multiple of 16 bytes: "
      "these are loaded singly",
      &G::odd_row_lane_cycles);
  add("looped_gradient_lane_cycles",
      "... of the gradient of such a softmax: for a place of the vectors that hold a row",
      &G::looped_gradient_lane_cycles);
  add("looped_gradient_element_cycles", "... and for an element",
      &G::looped_gradient_element_cycles);
  add("gathered_lane_cycles", "... for an operand of a softmax that is gathered, each time",
      &G::gathered_lane_cycles);
  add("across_lane_cycles",
      "... for a softmax computed again for its gradient, of operands that lie otherwise than its "
      "rows do",
      &G::across_lane_cycles);
  add("random_lane_cycles", "... for a random number", &G::random_lane_cycles);
  add("random_row_lane_cycles", "... for a random number in a kernel that holds rows",
      &G::random_row_lane_cycles);
  add("random_column_lane_cycles", "... and for each element of the row more",
      &G::random_column_lane_cycles);
  add("random_softmax_lane_cycles",
      "... for a random number behind a softmax of rows, its exponential with it: beside the "
      "bytes, whatever the length of the row",
      &G::random_softmax_lane_cycles);
  add("moments_lane_cycles", "... to add an element to a running mean and variance",
      &G::moments_lane_cycles);
  add("image_moments_lane_cycles", "... where images lie in the order of channels",
      &G::image_moments_lane_cycles);
}

double order_ratio(const GeneratedCode& code, SumOrder order) {
  switch (order) {
    case SumOrder::uneven_images: return code.uneven_ratio;
    case SumOrder::short_columns: return code.short_column_ratio;
    default: return 1;
  }
}

/// Of what an earlier kernel wrote the L2 still holds the more, the less both kernels move.
double kept_share(const GpuArch& gpu, double bytes) {
  return std::max(0.0, 1 - bytes / double(gpu.l2_bytes));
}

double pointwise_us(const GpuArch& gpu, const GeneratedCode& code, const GeneratedWork& work) {
  const double kept = kept_share(gpu, work.bytes);
  const auto mixed_us = [&](double bytes, double share) {
    return kept * dram_us(gpu, bytes, share) +
           (1 - kept) * dram_us(gpu, bytes, code.pointwise.dram_share);
  };
  return mixed_us(work.cold_bytes, code.cold_dram_share) +
         mixed_us(work.bytes - work.cold_bytes, code.pointwise_l2_share);
}

double added_us(const GpuArch& gpu, const GeneratedCode& code, const GeneratedWork& work) {
  const double waiting = work.half_adds * code.half_add_us + work.adds_in_turn * code.sector_add_us;
  if (work.adds == 0) return waiting;
  return waiting + work.adds * sector_bytes / (gpu.l2_read_gbps * 1e3 * code.added_l2_share);
}

/// Where elements are written or read across the order of the others.
double transposed_us(const GpuArch& gpu, const GeneratedCode& code, const GeneratedWork& work) {
  switch (work.kind) {
    case GeneratedKind::pointwise: return dram_us(gpu, work.bytes, code.transposed_share);
    case GeneratedKind::reduction: return dram_us(gpu, work.bytes, code.across_sum_share);
    case GeneratedKind::row: break;
  }
  if (work.gradient) return dram_us(gpu, work.bytes, code.strided_gradient_share);
  return std::max(dram_us(gpu, work.bytes, code.row.dram_share),
                  lane_us(gpu, work.operand_elements * code.strided_row_lane_cycles));
}

double passed_us(const GpuArch& gpu, const GeneratedCode& code, const GeneratedWork& work) {
  if (work.transposed) return transposed_us(gpu, code, work);
  if (work.kind == GeneratedKind::pointwise) return pointwise_us(gpu, code, work);
  const double share = work.looped ? code.row.dram_share : code.rate(work.kind).dram_share;
  return order_ratio(code, work.order) * dram_us(gpu, work.bytes, share);
}

/// Cycles of lanes as threads spend them.
double spent_cycles(const GeneratedCode& code, const GeneratedWork& work) {
  const double cycles =
      work.lane_cycles + work.softmax_cycles + work.random_numbers * code.random_lane_cycles;
  const bool narrow = work.kind == GeneratedKind::pointwise && work.elements > 0 &&
                      work.elements <= code.narrow_elements;
  return narrow ? cycles * code.narrow_ratio : cycles;
}

/// Elements of a row that is long: it has a warp of its own, and a block the fewer of them the
/// longer they are (heuristics of TorchInductor).
constexpr double long_row = 256;

/// Rows of a block (heuristics of TorchInductor 2.11): a block that loops has two; one that holds
/// longer rows as many as keep 1024 elements, eight at most; of shorter ones the most that are
/// tried out and keep 4096.
double block_rows(const GeneratedWork& work) {
  constexpr double looped = 2, most_elements = 4096;
  if (work.looped) return looped;
  const double held = held_places(work.row_elements);
  if (held >= long_row) return std::clamp(1024.0 / held, 1.0, 8.0);
  for (const double rows : {128.0, 32.0}) {
    if (rows * held <= most_elements) return rows;
  }
  return 8;
}

double blocks_us(const GpuArch& gpu, const GeneratedCode& code, const GeneratedWork& work) {
  return work.rows / block_rows(work) * code.row_block_us / gpu.sm_count;
}

/// Cycles in which two warps that have a row between them pass its sums to each other.
double passing_cycles(const GpuArch& gpu, const GeneratedCode& code, const GeneratedWork& work) {
  const double held = held_places(work.row_elements);
  const bool shared = held < long_row && held / std::max(1.0, work.row_vector) > gpu.warp_size;
  return shared ? work.rows * code.shared_row_lane_cycles * (1 + work.row_sums) : 0;
}

/// Places that draw a random number, for each element of a row: also those beyond its end. Of
/// longer rows a block takes a thousand at a time.
double drawing_places(double row_elements) {
  constexpr double loop = 1024;
  const double elements = std::max(1.0, row_elements);
  const double places = elements > loop ? std::ceil(elements / loop) * loop : held_places(elements);
  return places / elements;
}

}  // namespace

const FloorAndShare& GeneratedCode::rate(GeneratedKind kind) const {
  switch (kind) {
    case GeneratedKind::pointwise: break;
    case GeneratedKind::reduction: return reduction;
    case GeneratedKind::row: return row;
  }
  return pointwise;
}

double GeneratedCode::finishing_us(double values) const {
  constexpr double width = 4;  // bytes, FP32
  return values * width <= short_finish_bytes ? short_finish_us : finish_us;
}

std::vector<Field<GeneratedCode>> generated_code_fields() {
  Fields fields;
  add_fields(fields, &G::pointwise, rate_fields("pointwise", "generated pointwise kernel"));
  add_fields(fields, &G::reduction,
             rate_fields("reduction", "generated reduction over leading dimensions"));
  add_fields(fields, &G::row,
             rate_fields("row", "generated kernel with one row a block (norm, softmax)"));
  add_fields(fields, &G::column_sum,
             rate_fields("column_sum", "generated sum over leading dimensions of one operand"));
  add_movement(fields);
  add_arithmetic(fields);
  add_row_arithmetic(fields);
  return fields;
}

double held_places(double row_elements) {
  return double(std::bit_ceil(static_cast<std::uint64_t>(std::max(1.0, row_elements))));
}

double generated_us(const GpuArch& gpu, const GeneratedCode& code, const GeneratedWork& work) {
  const double floor = code.rate(work.kind).floor_us;
  const double passed = passed_us(gpu, code, work) + added_us(gpu, code, work);
  if (work.kind != GeneratedKind::row) {
    const double more = 1 + code.looped_operand_ratio * (work.row_operands - 1);
    const double blocks = work.looped ? more * blocks_us(gpu, code, work) : 0;
    return floor + std::max({passed, lane_us(gpu, spent_cycles(code, work)),
                             work.steps * code.sum_step_us, blocks});
  }
  const double drawing = work.softmax ? 0
                                      : code.random_row_lane_cycles +
                                            code.random_column_lane_cycles * work.row_elements;
  const double beside =
      work.softmax ? code.random_softmax_lane_cycles * drawing_places(work.row_elements) : 0;
  const double cycles =
      work.lane_cycles + work.random_numbers * beside + passing_cycles(gpu, code, work);
  return floor + lane_us(gpu, work.softmax_cycles) +
         std::max({passed + lane_us(gpu, work.random_numbers * drawing), lane_us(gpu, cycles),
                   blocks_us(gpu, code, work)});
}

double generated_moments_us(const GpuArch& gpu, const GeneratedCode& code, double bytes,
                            double elements, SumOrder order) {
  const double cycles =
      order == SumOrder::streamed ? code.moments_lane_cycles : code.image_moments_lane_cycles;
  return code.reduction.floor_us +
         std::max(dram_us(gpu, bytes, code.reduction.dram_share),
                  order_ratio(code, order) * lane_us(gpu, cycles * elements));
}

double generated_gathered_us(const GpuArch& gpu, const GeneratedCode& code, double sectors) {
  return code.reduction.floor_us +
         sectors * sector_bytes / (gpu.l2_read_gbps * 1e3 * code.gathered_l2_share);
}

double generated_pooling_us(const GeneratedCode& code, double library_us) {
  return code.pooling_share * library_us;
}

}  // namespace tandem
