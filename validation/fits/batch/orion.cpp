#include "validation/fits/batch/orion.h"

#include <charconv>
#include <map>
#include <sstream>

#include "sim/trace/source/byte_source.h"

namespace tandem {
namespace {

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string read_all(const std::string& path) {
  ByteSource source(path);
  std::string text;
  char piece[1 << 16];
  while (const std::size_t n = source.read(piece)) text.append(piece, n);
  return text;
}

void add_kernel(Trace& t, std::string_view name, std::int64_t ns) {
  Activities& a = t.activities;
  const auto row = static_cast<std::int64_t>(a.size());
  const TimePoint begin =
      a.size() == 0 ? TimePoint{} : a.begin[a.size() - 1] + a.duration[a.size() - 1];
  a.begin.push_back(begin);
  a.duration.push_back(nanoseconds(ns));
  a.kind.push_back(ActivityKind::kernel);
  a.stream.push_back(StreamId{0});
  a.name.push_back(t.strings.intern(name));
  a.correlation.push_back(row);
  a.external_id.push_back(-1);
  a.geometry.push_back({});
  a.bytes.push_back(0);
  a.collective.push_back({});
}

}  // namespace

Series read_kernel_table(const std::string& path, const std::string& prefix) {
  std::map<std::int64_t, std::unique_ptr<Run>> runs;
  std::istringstream in(read_all(path));
  for (std::string line; std::getline(in, line);) {
    const std::string start = prefix + "_";
    if (!line.starts_with(start)) continue;
    const std::size_t comma = line.find(','), second = line.find(',', comma + 1);
    if (line.substr(0, comma).find("_fb1") == line.npos) continue;
    // The name may hold commas; the last four cells are numbers.
    std::size_t end = line.size();
    for (int cell = 0; cell < 4; ++cell) end = line.rfind(',', end - 1);
    const std::int64_t batch = number(std::string_view(line).substr(start.size()));
    auto& run = runs[batch];
    if (!run) {
      run = std::make_unique<Run>();
      run->name = prefix, run->batch = batch;
      run->trace.path = path;
      run->trace.streams.push_back({0, 1, 7});
    }
    add_kernel(run->trace, std::string_view(line).substr(second + 1, end - second - 1),
               number(std::string_view(line).substr(line.rfind(',') + 1)));
  }
  if (runs.empty()) throw InputError(path, "", "no rows of " + prefix, "kernel times");
  Series out{prefix, {}};
  for (auto& [batch, run] : runs) {
    run->links = link_trace(run->trace);
    run->kernels = classify_kernels(run->trace, run->links);
    run->gpu_us = gpu_us_of(run->trace, run->links);
    out.runs.push_back(std::move(run));
  }
  return out;
}

}  // namespace tandem
