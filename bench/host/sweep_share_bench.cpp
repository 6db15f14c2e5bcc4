// What one point costs rank 0 of a sweep over ranks: its message is read, its line written.
#include <benchmark/benchmark.h>

#include <cmath>
#include <filesystem>

#include "sim/sweep/ranks/messages.h"
#include "sim/sweep/store.h"

namespace tandem {
namespace {

// Numbers as long as those of a prediction.
Outcome outcome() {
  Outcome o;
  for (std::size_t m = 0; m < sweep_metrics().size(); ++m) {
    o.result.values.push_back(1e4 * std::sqrt(2.0 + static_cast<double>(m)));
  }
  return o;
}

void point_at_rank_0(benchmark::State& state) {
  const auto folder = std::filesystem::temp_directory_path() / "tandem_sweep_share_bench";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "points.jsonl").string();
  const Point point{{"batch", "128"}, {"precision", "amp"}, {"gpu", "some_gpu_80gb"}};
  Outcome brought = outcome();
  brought.line = point_line(7, point, brought.result);
  const std::string message = bytes_of({Told::done, 12345, outcome_bytes(brought)});
  {
    PointStore store(file, 7, true);
    for (auto _ : state) {
      const Letter letter = letter_of(message);
      store.append(outcome_of(letter.rest).line);
    }
  }
  state.counters["bytes_a_message"] = static_cast<double>(message.size());
  state.counters["bytes_a_line"] = static_cast<double>(std::filesystem::file_size(file)) /
                                   static_cast<double>(state.iterations());
  std::filesystem::remove_all(folder);
}

BENCHMARK(point_at_rank_0);

}  // namespace
}  // namespace tandem
