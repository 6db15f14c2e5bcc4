#include "validation/fits/kernel_time/event_timing.h"

#include <algorithm>
#include <iterator>

#include "sim/core/median.h"

namespace tandem::kernel_time {
namespace {

struct Row {
  std::string_view op, gpu;
  EventTiming timing;
};

// Fitted on the tables' fit rows (tables.h). Operators that are not here take relu's row; other
// GPUs the last row of their operator.
constexpr Row rows[] = {
    {"bmm", "v100_pcie_32gb", {40.4, 24.9}},   {"bmm", "a100_pcie_40gb", {32.4, 20.9}},
    {"linear", "v100_pcie_32gb", {66, 49.3}},  {"linear", "a100_pcie_40gb", {53, 40}},
    {"relu", "v100_pcie_32gb", {39.3, 19.1}},  {"relu", "a100_pcie_40gb", {31.6, 18.6}},
    {"gelu", "v100_pcie_32gb", {38.1, 19}},    {"gelu", "a100_pcie_40gb", {30.5, 19.5}},
    {"pow", "v100_pcie_32gb", {32.8, 18.9}},   {"pow", "a100_pcie_40gb", {26.5, 18.9}},
    {"tanh", "v100_pcie_32gb", {31.9, 14.6}},  {"tanh", "a100_pcie_40gb", {26, 14}},
    {"ln", "v100_pcie_32gb", {54, 36.5}},      {"ln", "a100_pcie_40gb", {61, 48.8}},
    {"softmax", "v100_pcie_32gb", {37, 19.6}}, {"softmax", "a100_pcie_40gb", {34, 21.1}},
    {"conv", "v100_pcie_32gb", {60, 110}},     {"conv", "a100_pcie_80gb", {60, 95}},
};

constexpr std::size_t fewest_calibration_rows = 50;
constexpr std::ptrdiff_t nearest_rows = 5;

}  // namespace

EventTiming event_timing(std::string_view op, std::string_view gpu) {
  const Row* found = nullptr;
  for (const Row& row : rows) {
    if (row.op == op) found = &row;
    if (row.op == op && row.gpu == gpu) return row.timing;
  }
  return found != nullptr ? found->timing : event_timing("relu", gpu);
}

std::vector<EventTiming> row_timings(const MeasuredTable& table,
                                     std::span<const KernelTime> kernels,
                                     const EventTiming& timing) {
  std::vector<std::size_t> hidden;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (table.rows[i].fit && kernels[i].time_us < (timing.floor_us - timing.offset_us) / 2)
      hidden.push_back(i);
  }
  std::vector<EventTiming> out(table.rows.size(), timing);
  if (hidden.size() < fewest_calibration_rows) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto after = std::lower_bound(hidden.begin(), hidden.end(), i) - hidden.begin();
    const auto last = std::min(std::ssize(hidden), after + nearest_rows / 2 + 1);
    const auto first = std::max<std::ptrdiff_t>(0, last - nearest_rows);
    std::vector<double> near;
    for (auto h = first; h < last; ++h) {
      near.push_back(table.rows[hidden[static_cast<std::size_t>(h)]].measured_us);
    }
    out[i].floor_us = median(std::move(near));
    out[i].offset_us += out[i].floor_us - timing.floor_us;
  }
  return out;
}

}  // namespace tandem::kernel_time
