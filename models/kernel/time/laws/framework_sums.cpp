#include "models/kernel/time/laws/framework_sums.h"

#include <algorithm>

#include "models/kernel/launch_rules.h"
#include "sim/core/fields/field.h"

namespace tandem {
namespace {

constexpr std::int64_t most_threads = 512;

std::int64_t resident_blocks(const GpuArch& gpu, const SumGrid& g) {
  return gpu.sm_count * (gpu.max_threads_per_sm / (g.threads_x * g.threads_y));
}

}  // namespace

SumGrid sum_grid(const SumSizes& s, const GpuArch& gpu) {
  SumGrid g;
  g.form = s.form;
  const bool fastest = s.form != SumForm::columns;  // along the contiguous dimension
  std::int64_t x = fastest ? s.inputs : s.results;
  std::int64_t y = fastest ? s.results : s.inputs;
  if (!fastest) {
    while (g.width < 4 && x % (g.width * 2) == 0) g.width *= 2;
    x /= g.width;
  } else if (s.whole && x > 128) {
    x /= 4;
  }
  const std::int64_t limit = most_threads / g.width;
  const std::int64_t x_power = std::min(last_power(x), limit);
  const std::int64_t y_power = std::min(last_power(y), limit);
  g.threads_x = std::min<std::int64_t>(x_power, lanes_per_warp);
  g.threads_y = std::min(y_power, limit / g.threads_x);
  g.threads_x = std::min(x_power, limit / g.threads_y);
  std::int64_t inputs = s.inputs, results_a_block = 1;
  (fastest ? inputs = ceil_div(inputs, g.threads_x) : results_a_block = g.threads_x);
  const bool block_shares =
      inputs >= g.threads_y * least_values_per_thread || inputs >= most_values_per_thread;
  (block_shares ? inputs = ceil_div(inputs, g.threads_y) : results_a_block *= g.threads_y);
  g.blocks = ceil_div(s.results / g.width, results_a_block);
  if (block_shares) g.parts = blocks_sharing_result(inputs, g.blocks, resident_blocks(gpu, g));
  g.values = ceil_div(inputs, g.parts);
  g.adders = g.threads_y * (fastest ? g.threads_x : 1);
  return g;
}

std::vector<Field<SumPace>> sum_pace_fields() {
  using P = SumPace;
  return {
      field("sum_wave_us", "us", "a wave of blocks of the framework's sums", &P::wave_us),
      field("sum_row_value_us", "us", "a value that one of their threads adds, of a row",
            &P::row_value_us),
      field("sum_piece_value_us", "us", "the same of a channel of all images", &P::piece_value_us),
      field("sum_column_value_us", "us", "the same of a column", &P::column_value_us),
      field("sum_share_us", "us", "blocks that share a result, once", &P::share_us),
      field("sum_step_us", "us", "and for each step in which threads add what these left",
            &P::step_us)};
}

namespace {

double value_us(const SumPace& pace, SumForm form) {
  switch (form) {
    case SumForm::rows: return pace.row_value_us;
    case SumForm::pieces: return pace.piece_value_us;
    case SumForm::columns: return pace.column_value_us;
  }
  return 0;
}

}  // namespace

double sum_waiting_us(const GpuArch& gpu, const SumPace& pace, const SumGrid& g) {
  const auto waves = static_cast<double>(ceil_div(g.blocks * g.parts, resident_blocks(gpu, g)));
  double us = waves * (pace.wave_us + value_us(pace, g.form) * static_cast<double>(g.values));
  const auto steps = static_cast<double>(ceil_div(g.parts, g.adders));
  if (g.parts > 1) us += pace.share_us + pace.step_us * steps;
  return us;
}

}  // namespace tandem
