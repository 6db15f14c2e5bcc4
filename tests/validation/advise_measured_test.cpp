// Whether advise ranks first what was measured as the fastest, and whether measured speed-ups lie
// in its bands: eager captures that were also measured in another precision or launched otherwise,
// of the hold-outs some or all of them (captures.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/advise/advise.h"
#include "sim/core/fields/field.h"
#include "tests/captures.h"
#include "tests/configs_for_tests.h"
#include "tests/source_dir/source_dir.h"
#include "validation/compare/captures.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// A capture by its name, MODEL-TASK-PRECISION-MODE-bBATCH.
struct Capture {
  std::string program;  // model, task, batch
  std::string precision, mode;
  std::string path;
};

/// Takes what follows the last hyphen off `name`.
std::string cut_last(std::string& name) {
  const std::size_t at = name.rfind('-');
  if (at == std::string::npos) return "";
  const std::string last = name.substr(at + 1);
  name.resize(at);
  return last;
}

/// Whether the windows of its loop, some of a second each, agree to a half: a machine that others
/// slow measures no speed-up.
bool is_steady(const std::string& path) {
  constexpr double most_apart = 1.5;
  const Json meta = read_json_file(meta_of(path));
  if (!meta.contains("iter_windows_s")) return true;
  const auto windows = meta["iter_windows_s"].get<std::vector<double>>();
  const auto [fastest, slowest] = std::minmax_element(windows.begin(), windows.end());
  return windows.empty() || *slowest <= most_apart * *fastest;
}

/// Those of a folder that say all of that; others (ranks, channels-last, JAX) have names of their
/// own.
std::vector<Capture> captures_of(const fs::path& folder) {
  const std::set<std::string> tasks{"train", "infer"}, precisions{"fp32", "tf32", "amp", "bf16"},
      modes{"eager", "compile", "cudagraph", "overhead"};
  std::vector<Capture> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename();
    if (!name.ends_with(".json.zst")) continue;
    name.resize(name.size() - std::string_view(".json.zst").size());
    const std::string batch = cut_last(name), mode = cut_last(name), precision = cut_last(name),
                      task = cut_last(name);
    if (!tasks.contains(task) || !precisions.contains(precision) || !modes.contains(mode)) continue;
    if (!batch.starts_with('b') || batch.find_first_not_of("0123456789", 1) != std::string::npos) {
      continue;
    }
    // These hold forward and backward only (validation/captures/README.md).
    if (task == "train" && precision == "amp" && mode == "cudagraph") continue;
    if (!is_steady(entry.path())) continue;
    out.push_back({name + "-" + task + "-" + batch, precision, mode, entry.path()});
  }
  std::sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.path < y.path; });
  return out;
}

/// The row that stands for `other` in advice on the eager capture `base`; empty: more than one
/// thing is different.
std::string row_name(const Capture& base, const Capture& other) {
  static const std::map<std::string, std::string> launches = {
      {"eager", "as traced"},
      {"compile", "compile"},
      {"overhead", "compile reduce-overhead"},
      {"cudagraph", "CUDA graph"}};
  static const std::map<std::string, std::string> types = {
      {"amp", "AMP"}, {"bf16", "BF16"}, {"tf32", "TF32"}};
  if (other.precision == base.precision) return launches.at(other.mode);
  const auto type = types.find(other.precision);
  return other.mode == "eager" && type != types.end() ? type->second : "";
}

struct Score {
  int bases = 0, best_first = 0;
  int speed_ups = 0, inside = 0;
  double log_error = 0;  // sum
  double log_error_squares = 0;
  double lost = 0;             // of the measured best's throughput, by following the advice; sum
  int effects = 0, right = 0;  // measured changes of more than 5 %, and those predicted that way
  int thumb_first = 0;         // the same by a rule of thumb, which looks at no trace
  double thumb_lost = 0;
};

/// What people do who do not look: compile, else capture, else take the fewest bits.
std::string rule_of_thumb(const std::map<std::string, double>& measured) {
  for (const char* name :
       {"compile reduce-overhead", "compile", "CUDA graph", "BF16", "AMP", "TF32"}) {
    if (measured.count(name) > 0) return name;
  }
  return "as traced";
}

/// Captures of its program that stand for a row of advice on it, by that row; its own among them.
std::map<std::string, std::string> comparable(const Capture& base,
                                              const std::vector<Capture>& all) {
  std::map<std::string, std::string> out;
  for (const Capture& other : all) {
    if (other.program != base.program) continue;
    const std::string name = row_name(base, other);
    if (!name.empty()) out[name] = other.path;
  }
  return out;
}

void score_base(const Capture& base, const std::vector<Capture>& all, Score& score) {
  std::map<std::string, double> measured;
  for (const auto& [name, path] : comparable(base, all)) measured[name] = measured_us(path);
  if (measured.size() < 2) return;
  ReplayOptions options;
  options.configs = source_path("configs");
  options.trace_path = base.path;
  const Advice advice = advise(subject_of(import_trace(base.path), options, test::configs()), {});
  std::string advised;
  double best_us = measured.at("as traced");
  int compared = 0;
  for (const AdvisedRow& row : advice.rows) {
    const auto it = measured.find(row.name);
    if (it == measured.end()) continue;
    ++compared;
    if (advised.empty()) advised = row.name;
    best_us = std::min(best_us, it->second);
    if (row.is_base) continue;
    const double speed_up = measured.at("as traced") / it->second;
    ++score.speed_ups;
    score.inside += row.speed_up.low <= speed_up && speed_up <= row.speed_up.high;
    if (std::abs(std::log(speed_up)) > 0.05) {
      ++score.effects;
      score.right += (speed_up > 1) == (row.speed_up.value > 1);
    }
    const double log_error = std::abs(std::log(row.speed_up.value / speed_up));
    score.log_error += log_error;
    score.log_error_squares += log_error * log_error;
  }
  if (compared < 2) return;
  ++score.bases;
  score.best_first += measured.at(advised) <= best_us;
  score.lost += 1 - best_us / measured.at(advised);
  const double thumb_us = measured.at(rule_of_thumb(measured));
  score.thumb_first += thumb_us <= best_us;
  score.thumb_lost += 1 - best_us / thumb_us;
}

void expect_good(const Score& score, const char* which, int least_bases) {
  std::printf(
      "%s: advise ranks the measured best first in %d of %d and loses %.1f %% of the best "
      "throughput in the mean (a rule of thumb: %d, %.1f %%); %d of %d effects beyond 5 %% go the "
      "way it says; %d of %d speed-ups lie in the bands, off by %.1f %% in the mean\n",
      which, score.best_first, score.bases, 100 * score.lost / score.bases, score.thumb_first,
      100 * score.thumb_lost / score.bases, score.right, score.effects, score.inside,
      score.speed_ups, 100 * score.log_error / score.speed_ups);
  ASSERT_GE(score.bases, least_bases);
  EXPECT_GE(score.best_first, 0.7 * score.bases);
  EXPECT_LE(score.lost, 0.03 * score.bases);
  EXPECT_LE(score.lost, score.thumb_lost);
  EXPECT_GE(score.right, 0.8 * score.effects);
  // Nine of ten, give or take what so few tell, is the bands' own criterion
  // (validation/fits/bands).
  EXPECT_GE(score.inside, 0.85 * score.speed_ups);
  // All captures lie 15.1 % off; the mean of some of them differs from that by chance, for which
  // two standard errors are given.
  const double mean = score.log_error / score.speed_ups;
  const double variance = score.log_error_squares / score.speed_ups - mean * mean;
  EXPECT_LE(mean, 0.15 + 2 * std::sqrt(variance / score.speed_ups));
}

TEST(AdviseMeasured, RanksTheFastestFirst) {
  Score fit, holdout;  // by what the captures gave constants to
  std::vector<std::pair<Capture, std::vector<Capture>>> unfitted;  // each with its folder's others
  for (const auto& folder : fs::directory_iterator(source_path("validation/captures"))) {
    const std::string name = folder.path().filename();
    if (!name.starts_with("h200") || !fs::is_directory(folder.path() / "traces")) continue;
    const std::vector<Capture> all = captures_of(folder.path() / "traces");
    const bool fitted = name.ends_with("_fit");
    for (const Capture& base : all) {
      if (base.mode != "eager") continue;
      if (fitted)
        score_base(base, all, fit);
      else if (comparable(base, all).size() > 1)
        unfitted.push_back({base, all});
    }
  }
  for (const auto& [base, all] : test::some_of(unfitted, 144)) score_base(base, all, holdout);
  expect_good(fit, "fit", 20);
  expect_good(holdout, "holdout", 90);
}

}  // namespace
}  // namespace tandem
