#include "validation/fits/batch/series.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include "sim/core/field.h"
#include "sim/trace/import.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

struct RunName {
  std::string series;
  std::int64_t batch = 0;
};

// "bert_base-train-amp-eager-b16.json.gz"; batch 0: not a run of the eager series.
RunName parse_name(const std::string& file) {
  const std::size_t mode = file.find("-eager-b"), end = file.find(".json");
  if (mode == std::string::npos || end == std::string::npos || file.find(".meta.") != file.npos) {
    return {};
  }
  RunName out{file.substr(0, mode), 0};
  const char* last = file.data() + end;
  const auto [next, error] = std::from_chars(file.data() + mode + 8, last, out.batch);
  if (error != std::errc{} || next != last) out.batch = 0;
  return out;
}

double total_us(const std::vector<OpGroup>& groups) {
  double us = 0;
  for (const OpGroup& g : groups) us += g.us;
  return us;
}

// The activity that takes longest says what the operation is.
std::uint32_t main_activity(const Trace& trace, const OpGroup& group) {
  return *std::max_element(group.activities.begin(), group.activities.end(),
                           [&](std::uint32_t a, std::uint32_t b) {
                             return trace.activities.duration[a] < trace.activities.duration[b];
                           });
}

}  // namespace

double gpu_us_of(const Trace& trace, const Links& links) {
  double us = 0;
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const auto time = issue_time(trace, links, a);
    for (const StepWindow& step : links.steps) {
      if (time && *time >= step.begin && *time < step.end)
        us += to_us(trace.activities.duration[a]);
    }
  }
  return us / static_cast<double>(std::max<std::size_t>(links.steps.size(), 1));
}

std::vector<Series> read_series(const std::string& folder) {
  std::map<std::string, std::map<std::int64_t, std::string>> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const RunName name = parse_name(entry.path().filename().string());
    if (name.batch > 0) files[name.series][name.batch] = entry.path().string();
  }
  std::vector<Series> out;
  for (const auto& [name, batches] : files) {
    if (batches.size() < 2) continue;
    Series series{name, {}};
    for (const auto& [batch, path] : batches) {
      auto run = std::make_unique<Run>();
      run->name = name, run->batch = batch;
      run->trace = import_trace(path);
      run->links = link_trace(run->trace);
      run->kernels = classify_kernels(run->trace, run->links);
      run->gpu_us = gpu_us_of(run->trace, run->links);
      series.runs.push_back(std::move(run));
    }
    out.push_back(std::move(series));
  }
  return out;
}

double Score::factor() const {
  const auto of = [&](std::int64_t b) {
    const double f = static_cast<double>(batch) / static_cast<double>(b);
    return std::max(f, 1 / f);
  };
  return second == 0 ? of(base) : std::min(of(base), of(second));
}

std::vector<OpError> op_errors(const Run& base, const Trace& predicted, const Run& truth,
                               const BatchReport& report) {
  std::vector<OpError> out;
  const auto groups = [](const Trace& trace, const Links& links) {
    return groups_of_step(trace, links, nest_ops(trace, links), links.steps.back());
  };
  const auto before = groups(base.trace, base.links), a = groups(predicted, base.links);
  const auto b = groups(truth.trace, truth.links);
  const auto text = [&](StringId id) {
    return id.valid() ? std::string(base.trace.strings.get(id)) : std::string();
  };
  for (const auto& [i, j] : align(a, b)) {
    const std::uint32_t last = main_activity(predicted, a[i]);
    OpError e;
    if (a[i].op != no_row) {
      e.op = text(base.trace.ops.name[a[i].op]);
      e.dims = shapes_text(operands_of(base.trace, a[i].op).tensors);
    }
    e.kernel = text(base.trace.activities.name[last]);
    e.scale = report.classes[last];
    e.base_us = before[i].us, e.predicted_us = a[i].us, e.measured_us = b[j].us;
    out.push_back(std::move(e));
  }
  return out;
}

Score score(const std::string& series, const Trace& predicted, const Links& links, const Run& truth,
            const BatchReport& report) {
  Score s;
  s.series = series;
  s.batch = truth.batch;
  s.error = gpu_us_of(predicted, links) / truth.gpu_us - 1;
  const auto a = groups_of_step(predicted, links, nest_ops(predicted, links), links.steps.back());
  const auto b = groups_of_step(truth.trace, truth.links, nest_ops(truth.trace, truth.links),
                                truth.links.steps.back());
  const double total = total_us(b);
  double matched_a = 0, matched_b = 0, off = 0;
  for (const auto& [i, j] : align(a, b)) {
    const auto group = static_cast<std::size_t>(report.classes[main_activity(predicted, a[i])]);
    const double wrong = std::abs(a[i].us - b[j].us);
    s.share[group] += b[j].us / total;
    s.deviation[group] += wrong / total;
    matched_a += a[i].us, matched_b += b[j].us, off += wrong;
  }
  s.kernel_error = (off + total_us(a) - matched_a + total - matched_b) / total;
  return s;
}

}  // namespace tandem
