#include "models/whatif/compile/kernels/kernel_writer.h"

#include <algorithm>
#include <cmath>

#include "models/whatif/compile/inductor/splits.h"
#include "models/whatif/compile/kernels/group_cycles.h"
#include "models/whatif/compile/kernels/table_adds.h"

namespace tandem {
namespace {

/// Of channels, image by image, each sum in so many parts.
SumOrder image_order(const SumShape& sum, double parts) {
  return std::fmod(sum.addends, parts) == 0 ? SumOrder::images : SumOrder::uneven_images;
}

/// Without its time.
GeneratedKernel kernel_of(const GroupView& view, GeneratedKind kind,
                          std::vector<std::uint32_t> reads, std::vector<std::uint32_t> writes) {
  GeneratedKernel k;
  k.kind = kind;
  k.reads = std::move(reads);
  k.writes = std::move(writes);
  k.bytes = view.bytes(k.reads) + view.bytes(k.writes) + scattered_bytes(view);
  k.geometry = pointwise_geometry(view.largest(k));
  return k;
}

/// What a kernel of rows does with each of them.
void set_rows(const GroupView& view, const GeneratedKernel& k, GeneratedWork& work) {
  const double largest = view.largest(k);
  work.row_elements = view.row_elements();
  work.rows = largest / work.row_elements;
  work.row_sums = view.row_sums();
  work.row_vector = view.row_vector();
  work.softmax = view.has_softmax();
  work.gradient = view.group().phase == FlowPhase::backward;
  work.row_operands = 0;
  for (const std::uint32_t t : k.reads) {
    const double elements = double(view.read_elements(t));
    work.operand_elements += elements;
    if (elements >= largest) ++work.row_operands;
  }
  for (const std::uint32_t t : k.writes) work.operand_elements += double(view.tensor(t).elements);
  work.row_operands = std::max(1.0, work.row_operands);
}

/// Of fewer columns a block takes 16 with 32 rows of each at a time, else 64 with 8 (heuristics
/// of TorchInductor).
constexpr double fewest_wide_columns = 32768;

}  // namespace

void KernelWriter::add(GeneratedKind kind, std::vector<std::uint32_t> reads,
                       std::vector<std::uint32_t> writes) {
  GeneratedKernel k = kernel_of(view_, kind, std::move(reads), std::move(writes));
  k.us = generated_us(c_.gpu, c_.law.generated, adding_work_of(k));
  out_.push_back(std::move(k));
}

void KernelWriter::add_whole(GeneratedKind kind, SumOrder order) {
  GeneratedKernel k = kernel_of(view_, kind, group_.reads, group_.writes);
  k.bytes += view_.widened_bytes() + view_.place_bytes();
  GeneratedWork work = adding_work_of(k);
  work.order = order;
  work.adds = adds(view_);
  work.lane_cycles = lane_cycles(view_);
  work.random_numbers = view_.random_numbers();
  if (kind == GeneratedKind::pointwise) {
    work.elements = view_.largest(k);
    work.transposed = view_.turns_images();
  } else {
    work.transposed = view_.strided_rows();
    work.looped = kind == GeneratedKind::reduction && view_.loops_for_order();
    set_rows(view_, k, work);
    work.softmax_cycles = softmax_cycles(view_);
    work.lane_cycles +=
        work.looped ? looped_cycles(view_, work.row_operands) : held_softmax_cycles(view_);
    k.geometry = flat_geometry(work.rows, 64);
  }
  k.us = std::max(generated_us(c_.gpu, c_.law.generated, work), view_.unstated_window_us());
  out_.push_back(std::move(k));
}

double KernelWriter::moments_us(const std::vector<std::uint32_t>& reads, SumOrder order) const {
  double elements = 0;
  for (const std::uint32_t t : reads) elements += double(view_.tensor(t).elements);
  return generated_moments_us(c_.gpu, c_.law.generated, view_.bytes(reads), elements, order);
}

void KernelWriter::finish(double columns, double us) {
  GeneratedKernel k;
  k.kind = GeneratedKind::row;
  k.us = us;
  k.geometry = flat_geometry(columns / 128, 256);
  out_.push_back(std::move(k));
}

void KernelWriter::reduce(std::vector<std::uint32_t> reads, const Sums& sums) {
  std::erase(reads, no_row);
  GeneratedKernel k;
  k.kind = GeneratedKind::reduction;
  k.reads = std::move(reads);
  k.bytes = view_.bytes(k.reads) + sums.more_bytes;
  const double columns = sums.columns;
  const SumShape sum{columns, std::ceil(view_.largest(k) / columns)};
  const double parts = sums.inner ? inner_parts(c_.gpu, sum) : outer_parts(c_.gpu, sum);
  GeneratedWork work = work_of(k);
  if (sums.images) work.order = image_order(sum, parts);
  const bool narrow = columns * parts < fewest_wide_columns;
  work.steps = std::ceil(std::ceil(sum.addends / parts) / (narrow ? 32 : 8));
  if (sums.inner) work.steps = 0;
  work.transposed = sums.across;
  k.us = sums.plain ? streamed_us(c_.gpu, c_.law.generated.column_sum, k.bytes)
                    : sum_us(k, work, sums.moments);
  if (sums.row_us > 0 && parts == 1) {
    k.us = std::max(k.us, c_.law.generated.reduction.floor_us + sums.row_us * sum.addends);
  }
  k.geometry = flat_geometry(columns * parts / (narrow ? 16 : 64), 128);
  out_.push_back(std::move(k));
  const double again = sums.inner ? 1 : outer_parts(c_.gpu, {columns, parts});
  if (again > 1) {
    GeneratedKernel middle;
    middle.kind = GeneratedKind::reduction;
    middle.us = c_.law.generated.reduction.floor_us;
    middle.geometry = flat_geometry(columns * again / 4, 128);
    out_.push_back(std::move(middle));
  }
  const double finish_us = c_.law.generated.finishing_us(columns * parts);
  for (int i = 0; i < sums.kinds && parts > 1; ++i) finish(columns, finish_us);
}

double KernelWriter::sum_us(const GeneratedKernel& k, const GeneratedWork& work,
                            bool moments) const {
  const GeneratedCode& code = c_.law.generated;
  if (!moments) return generated_us(c_.gpu, code, work);
  return std::max(moments_us(k.reads, work.order),
                  code.reduction.floor_us + work.steps * code.sum_step_us);
}

void KernelWriter::gather_operands(std::uint32_t op) {
  constexpr std::size_t most_results = 4;
  for (const std::uint32_t t : view_.inputs(op)) {
    std::size_t before = 0, after = 0;
    for (const std::uint32_t i : c_.plan.readers[t]) {
      if (c_.plan.roles[i] == FuseRole::gathered) ++(i < op ? before : after);
    }
    if (before % most_results != 0) continue;
    add(GeneratedKind::pointwise, {t},
        std::vector<std::uint32_t>(std::min(after, most_results), t));
  }
}

GeneratedWork KernelWriter::work_of(const GeneratedKernel& k) const {
  GeneratedWork work;
  work.kind = k.kind;
  work.bytes = k.bytes;
  work.cold_bytes = view_.cold_bytes(k.reads);
  return work;
}

GeneratedWork KernelWriter::adding_work_of(const GeneratedKernel& k) const {
  GeneratedWork work = work_of(k);
  work.half_adds = half_adds(view_);
  work.adds_in_turn = adds_in_turn(view_);
  return work;
}

}  // namespace tandem
