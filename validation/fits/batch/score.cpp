// Scores the batch-size what-if on all pairs (and triples) of measured runs:
//   batch_score --data DIR [--table kernels.csv.gz --gpu-of-table NAME] [--configs configs]
//   [--pairs]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "models/arch/gpu_config.h"
#include "sim/trace/import.h"
#include "validation/fits/batch/orion.h"
#include "validation/fits/batch/series.h"

namespace po = boost::program_options;

namespace tandem {
namespace {

constexpr std::size_t classes = 8;

struct Mean {
  double error = 0, signed_error = 0, kernel_error = 0, worst = 0;
  int n = 0;
  void add(const Score& s) {
    error += std::abs(s.error), signed_error += s.error, kernel_error += s.kernel_error, ++n;
    if (std::abs(s.error) > std::abs(worst)) worst = s.error;
  }
  void print(const std::string& name) const {
    fmt::print("{:<44} {:>4} {:>7.1f} {:>+7.1f} {:>7.1f} {:>+8.1f}\n", name, n, 100 * error / n,
               100 * signed_error / n, 100 * kernel_error / n, 100 * worst);
  }
};

void print_header(const char* title) {
  fmt::print("\n{:<44} {:>4} {:>7} {:>7} {:>7} {:>8}\n", title, "n", "MAPE", "bias", "kernel",
             "worst");
}

std::string bucket(const Score& s) {
  const bool up = s.batch > (s.second == 0 ? s.base : std::max(s.base, s.second));
  const double f = s.factor();
  const char* range = f < 4       ? "x1-4"
                      : f < 4.01  ? "x4"
                      : f < 8.01  ? "x4-8"
                      : f < 16.01 ? "x8-16"
                                  : "x16+";
  const bool inside = s.second != 0 && s.batch > std::min(s.base, s.second) && !up;
  return fmt::format("{:<6} {}", range, inside ? "between" : up ? "up" : "down");
}

void print_groups(const char* title, const std::vector<Score>& scores) {
  print_header(title);
  Mean all;
  std::map<std::string, Mean> by_factor, by_series;
  for (const Score& s : scores) {
    all.add(s), by_factor[bucket(s)].add(s), by_series[s.series].add(s);
  }
  for (const auto& [name, mean] : by_factor) mean.print(name);
  for (const auto& [name, mean] : by_series) mean.print(name);
  if (all.n > 0) all.print("all");
}

void print_classes(const std::vector<Score>& scores) {
  fmt::print("\n{:<12} {:>14} {:>18}\n", "class", "share of time", "|error| in class");
  for (std::size_t c = 0; c < classes; ++c) {
    double share = 0, off = 0;
    for (const Score& s : scores) share += s.share[c], off += s.deviation[c];
    if (share == 0) continue;
    fmt::print("{:<12} {:>13.1f}% {:>17.1f}%\n", to_string(static_cast<ScaleClass>(c)),
               100 * share / static_cast<double>(scores.size()), 100 * off / share);
  }
}

struct Tool {
  GpuCatalogue catalogue;
  BatchLaw law;
  bool pairs = false, details = false, kinds = false;
  std::map<std::string, std::array<double, 6>> by_kind;  // up and down: measured, predicted, off
  std::string only;
  std::vector<Score> one, two, single_item;

  const GpuArch& gpu_of(const Run& run, const std::string& fallback) const {
    if (run.trace.devices.empty()) return find_gpu(catalogue, fallback);
    const DeviceMatch match = match_device(catalogue, run.trace.devices[0]);
    return match.gpu != nullptr ? *match.gpu : find_gpu(catalogue, fallback);
  }
  // "--only SERIES:BASE:BATCH" picks one pair.
  bool wanted(const Series& series, const Run& base, const Run& truth) const {
    return only.empty() || only == fmt::format("{}:{}:{}", series.name, base.batch, truth.batch);
  }
  void print_pair(const Score& s) const {
    if (!pairs) return;
    fmt::print("{:<36} {:>6}{} -> {:<6} {:>+7.1f} {:>6.1f}\n", s.series, s.base,
               s.second == 0 ? "" : fmt::format(",{}", s.second), s.batch, 100 * s.error,
               100 * s.kernel_error);
  }
  void two_bases(const Series& series, const std::string& gpu) {
    for (std::size_t i = 0; i < series.runs.size(); ++i) {
      for (std::size_t j = i + 1; j < series.runs.size(); ++j) {
        for (const auto& truth : series.runs) {
          if (truth != series.runs[i] && truth != series.runs[j]) {
            triple(*series.runs[i], *series.runs[j], *truth, series.name, gpu);
          }
        }
      }
    }
  }
  void triple(const Run& a, const Run& b, const Run& truth, const std::string& series,
              const std::string& gpu) {
    const BatchOptions options{truth.batch, &gpu_of(a, gpu), &law};
    LossList losses;
    BatchReport report;
    const Trace predicted = with_batch(a.base(), b.base(), options, losses, &report);
    Score s = score(series, predicted, report.from_second ? b.links : a.links, truth, report);
    s.base = a.batch, s.second = b.batch;
    print_pair(s);
    (a.batch == 1 || truth.batch == 1 ? single_item : two).push_back(s);
  }
  void collect(const std::vector<OpError>& errors, bool up) {
    double total = 0;
    for (const OpError& e : errors) total += e.measured_us;
    for (const OpError& e : errors) {
      auto& sum = by_kind[fmt::format("{:<10}{:<22}{}", to_string(e.scale),
                                      kind_name(classify(e.kernel, e.op).traits), e.op)];
      const std::size_t at = up ? 0 : 3;
      sum[at] += e.measured_us / total, sum[at + 1] += e.predicted_us / total;
      sum[at + 2] += std::abs(e.predicted_us - e.measured_us) / total;
    }
  }
  void print_kinds() const {
    std::vector<std::pair<std::string, std::array<double, 6>>> list(by_kind.begin(), by_kind.end());
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
      return a.second[2] + a.second[5] > b.second[2] + b.second[5];
    });
    fmt::print("\n{:<64} {:>8} {:>7} {:>7} {:>8} {:>7} {:>7}\n", "kind", "up time", "bias", "off",
               "down", "bias", "off");
    const double n = std::max<double>(1, double(one.size()) / 2);
    for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 45); ++i) {
      const auto& s = list[i].second;
      fmt::print("{:<64.64} {:>7.2f}% {:>+7.2f} {:>7.2f} {:>7.2f}% {:>+7.2f} {:>7.2f}\n",
                 list[i].first, 100 * s[0] / n, 100 * (s[1] - s[0]) / n, 100 * s[2] / n,
                 100 * s[3] / n, 100 * (s[4] - s[3]) / n, 100 * s[5] / n);
    }
  }
  // Equal operations in one line, those with the largest error first.
  static void print_ops(const std::vector<OpError>& errors) {
    std::map<std::string, OpError> sums;
    for (const OpError& e : errors) {
      OpError& sum = sums[e.op + e.dims + e.kernel.substr(0, 60)];
      const double b = sum.base_us, p = sum.predicted_us, m = sum.measured_us;
      sum = e;
      sum.base_us += b, sum.predicted_us += p, sum.measured_us += m;
    }
    std::vector<OpError> list;
    for (const auto& [key, e] : sums) list.push_back(e);
    std::sort(list.begin(), list.end(), [](const OpError& a, const OpError& b) {
      return std::abs(a.predicted_us - a.measured_us) > std::abs(b.predicted_us - b.measured_us);
    });
    for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 40); ++i) {
      const OpError& e = list[i];
      fmt::print("    {:>8.1f} {:>8.1f} {:>8.1f} {:<9} {:<30.30} {:<70.70} {:.90}\n", e.base_us,
                 e.predicted_us, e.measured_us, to_string(e.scale), e.op, e.kernel, e.dims);
    }
  }
  void one_base(const Series& series, const std::string& gpu) {
    for (const auto& base : series.runs) {
      const BatchModel model(base->base(), gpu_of(*base, gpu), law);
      for (const auto& truth : series.runs) {
        if (truth == base || !wanted(series, *base, *truth)) continue;
        LossList losses;
        BatchReport report;
        const Trace predicted = model.at(truth->batch, losses, &report);
        Score s = score(series.name, predicted, base->links, *truth, report);
        s.base = base->batch;
        print_pair(s);
        if (kinds && std::min(base->batch, truth->batch) > 1)
          collect(op_errors(*base, predicted, *truth, report), truth->batch > base->batch);
        if (details) print_ops(op_errors(*base, predicted, *truth, report));
        (std::min(base->batch, truth->batch) == 1 ? single_item : one).push_back(s);
      }
    }
  }
};

// What the law does to one trace: time by scale class and operation, at twice the batch.
void print_classes_of(const Tool& tool, const std::string& path, std::int64_t batch,
                      const std::string& gpu) {
  Run run;
  run.trace = import_trace(path);
  run.batch = batch;
  run.links = link_trace(run.trace);
  run.kernels = classify_kernels(run.trace, run.links);
  const BatchModel model(run.base(), tool.gpu_of(run, gpu), tool.law);
  LossList losses;
  BatchReport report;
  const Trace twice = model.at(2 * batch, losses, &report);
  std::map<std::string, std::pair<double, double>> sums;
  double before = 0, after = 0;
  for (std::uint32_t a = 0; a < twice.activities.size(); ++a) {
    const std::uint32_t row = model.nesting().of_activity[a];
    const std::string_view op =
        row == no_row ? "-" : run.trace.strings.get(run.trace.ops.name[row]);
    auto& sum = sums[fmt::format("{:<10} {:<34.34} {:.60}", to_string(report.classes[a]), op,
                                 run.trace.strings.get(run.trace.activities.name[a]))];
    const double x = to_us(run.trace.activities.duration[a]),
                 y = to_us(twice.activities.duration[a]);
    sum.first += x, sum.second += y, before += x, after += y;
  }
  std::vector<std::pair<std::string, std::pair<double, double>>> list(sums.begin(), sums.end());
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  const BatchConfidence& c = report.confidence;
  fmt::print(
      "{}: x2 gives x{:.3f}; affine {:.0f} %, at the floor {:.0f} %, switches {:.0f} %, "
      "expected error {:.1f} %\n",
      path, after / before, 100 * c.affine_share, 100 * c.floor_share, 100 * c.switch_share,
      100 * c.expected_error);
  for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 28); ++i) {
    fmt::print("  {:>5.1f} % x{:.2f} {}\n", 100 * list[i].second.first / before,
               list[i].second.second / list[i].second.first, list[i].first);
  }
}

int run(const po::variables_map& args) {
  Tool tool;
  const auto configs = args["configs"].as<std::string>();
  tool.catalogue = load_catalogue(configs + "/gpus");
  tool.law = load_batch_law(configs + "/kernels/batch.json");
  tool.only = args["only"].as<std::string>();
  tool.kinds = args.count("kinds") > 0;
  tool.details = !tool.only.empty();
  tool.pairs = tool.details || args.count("pairs") > 0;
  if (args.count("trace") > 0) {
    print_classes_of(tool, args["trace"].as<std::string>(), args["batch"].as<std::int64_t>(),
                     args["gpu-of-table"].as<std::string>());
  }
  if (args.count("data") > 0) {
    const std::vector<Series> all = read_series(args["data"].as<std::string>());
    for (const Series& series : all) tool.one_base(series, "");
    for (const Series& series : all) tool.two_bases(series, "");
    print_groups("one base, batch 1 not among them", tool.one);
    print_classes(tool.one);
    if (tool.kinds) tool.print_kinds();
    print_groups("one base, from or to batch 1", tool.single_item);
    print_groups("two bases, batch 1 not among them", tool.two);
    tool.one.clear(), tool.two.clear();
  }
  if (args.count("table") > 0) {
    const auto gpu = args["gpu-of-table"].as<std::string>();
    const Series s = read_kernel_table(args["table"].as<std::string>(), "mobilenetv2");
    tool.one_base(s, gpu);
    tool.two_bases(s, gpu);
    print_groups("table, one base", tool.one);
    print_groups("table, two bases", tool.two);
  }
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  po::options_description options("batch_score");
  options.add_options()("data", po::value<std::string>(), "folder of NAME-eager-bN.json[.gz]")(
      "table", po::value<std::string>(), "kernel table of Orion")(
      "gpu-of-table", po::value<std::string>()->default_value("v100_sxm2_16gb"), "its GPU")(
      "configs", po::value<std::string>()->default_value("configs"),
      "folder with gpus and kernels")("trace", po::value<std::string>(),
                                      "one trace: time by scale class at twice the batch")(
      "batch", po::value<std::int64_t>()->default_value(1), "its batch")(
      "only", po::value<std::string>()->default_value(""), "SERIES:BASE:BATCH: its operations")(
      "kinds", "errors by kind of kernel")("pairs", "print every pair");
  try {
    po::variables_map args;
    po::store(po::parse_command_line(argc, argv, options), args);
    po::notify(args);
    return tandem::run(args);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
}
