#include "sim/advise/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/arch/gpu_config.h"
#include "sim/advise/candidates.h"
#include "sim/advise/reason.h"
#include "sim/core/parallel/for_each_index.h"
#include "sim/predict/predict.h"

namespace tandem {

namespace {

/// Candidates that go together, and what becomes of the step: a row, or why there is none.
struct Trial {
  std::vector<Candidate> parts;
  std::optional<AdvisedRow> row;
  std::string refusal;
};

std::string name_of(const std::vector<Candidate>& parts) {
  std::string name;
  for (const Candidate& c : parts) name += (name.empty() ? "" : " + ") + c.name;
  return name;
}

ReplayOptions options_of(const AdviceSubject& subject, const std::vector<Candidate>& parts) {
  ReplayOptions options = subject.options;
  for (const Candidate& c : parts) {
    for (const auto& [option, value] : c.what_ifs) options.what_ifs.set(option, value);
    if (c.mode != Mode::as_traced) options.mode.mode = c.mode;
  }
  return options;
}

/// Options of the command line and their values.
class CommandText {
 public:
  template <class Value>
  void add(std::string_view option, const Value& value, bool said = true) {
    if (said) text_ += fmt::format("{}--{} {}", text_.empty() ? "" : " ", option, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// What was said of a network, but for what the row changes.
void add_request(const NetworkRequest& request, const WhatIfs& changed, CommandText& text) {
  text.add("gpu", request.gpu, !request.gpu.empty() && !changed.has("gpu"));
  text.add("batch", request.batch.value_or(0), request.batch && !changed.has("batch"));
  text.add("seq", request.length.value_or(0), request.length.has_value());
  if (request.task) text.add("task", to_string(*request.task));
  text.add("optimizer", request.optimizer, !request.optimizer.empty());
}

/// What was said of a trace and its host.
void add_trace(const ReplayOptions& options, CommandText& text) {
  text.add("traced-gpu", options.traced_gpu, !options.traced_gpu.empty());
  text.add("steps", options.steps.count, options.steps.count > 0);
  text.add("step", options.steps.annotation, !options.steps.annotation.empty());
  text.add("traced-batch", options.traced_batch, options.traced_batch > 0);
  text.add("peak-memory", options.peak_memory_bytes * 1e-9, options.peak_memory_bytes > 0);
  text.add("host", options.host, options.host != ReplayOptions{}.host);
  text.add("measured-step", options.measured_step_us * 1e-6, options.measured_step_us > 0);
}

/// As on the command line of `replay` or `run`, what-ifs first.
std::string command_options(const AdviceSubject& subject, const ReplayOptions& options) {
  CommandText text;
  for (const auto& [option, value] : options.what_ifs.values) text.add(option, value);
  text.add("mode", to_string(options.mode.mode), options.mode.mode != Mode::as_traced);
  if (subject.network) add_request(*subject.network, options.what_ifs, text);
  add_trace(options, text);
  return text.take();
}

/// A network is generated anew where it takes another place, size, order or type of 16 bits.
bool is_anew(const AdviceSubject& subject, const WhatIfs& asked) {
  return subject.network && (asked.has("gpu") || asked.has("batch") || asked.has("layout") ||
                             whole_type(asked) != subject.network->whole_type);
}

/// What all predictions of one advice start from.
struct Start {
  const AdviceSubject& subject;
  std::optional<TracedRun> turned;  // a network in channels-last order, where it has one
  Result base;
};

std::optional<TracedRun> turned_run(const AdviceSubject& subject) {
  if (!subject.network) return {};
  NetworkRequest request = *subject.network;
  request.channels_last = true;
  try {
    return analyse_network(request, subject.options, subject.configs);
  } catch (const InputError&) {
    return {};  // the candidate that asks for it says why
  }
}

Result predicted(const Start& start, ReplayOptions options) {
  const AdviceSubject& subject = start.subject;
  const WhatIfs& asked = options.what_ifs;
  if (!is_anew(subject, asked)) return predict(subject.run, options).result;
  if (start.turned && asked.has("layout") && !asked.has("gpu") && !asked.has("batch")) {
    options.what_ifs.set("layout", asks_nothing);
    return predict(*start.turned, options).result;
  }
  NetworkRequest request = *subject.network;
  if (!asked.has("gpu")) options.what_ifs.set("gpu", request.gpu);
  if (!asked.has("batch") && request.batch) options.what_ifs.set("batch", *request.batch);
  const NetworkRequest other = take_request(request.path, options);
  request.gpu = other.gpu;
  request.batch = other.batch;
  request.channels_last = other.channels_last || request.channels_last;
  request.whole_type = other.whole_type;
  return run_network(request, options, subject.configs).prediction.result;
}

/// What warns of `result`, beyond what warns of `base`.
std::vector<std::string> warnings_of(const Result& result, const LossList& base) {
  std::vector<std::string> notes;
  for (const Loss& loss : result.losses.all()) {
    if (loss.severity == Severity::info || base.count(loss.code) >= loss.count) continue;
    notes.push_back(fmt::format("{} ({} x): {}", loss.code, loss.count, loss.description));
  }
  return notes;
}

/// What keeps the CUDA graphs of the step apart; empty where there is one.
std::string graphs_note(const Result& r) {
  if (r.graphs.size() < 2) return {};
  constexpr std::size_t most = 3;
  const std::vector<std::string>& names = r.graphs.front().followed_by;
  std::string apart;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    apart += (apart.empty() ? "" : ", ") + names[i];
  }
  if (names.size() > most) apart += fmt::format(" and {} more", names.size() - most);
  return fmt::format("{} graphs, not one: the first ends before {}", r.graphs.size(),
                     apart.empty() ? "a wait" : apart);
}

std::vector<std::string> notes_of(const Result& base, const Result& changed) {
  std::vector<std::string> notes = warnings_of(changed, base.losses);
  const std::string graphs = graphs_note(changed);
  if (changed.graphs.size() > base.graphs.size() && !graphs.empty()) {
    notes.insert(notes.begin(), graphs);
  }
  return notes;
}

ComparedStep compared(const Result& r) {
  return {r.step.time_us, static_cast<double>(r.scenario.items().value_or(1)), r.band_parts};
}

void try_one(const Start& start, Trial& trial) {
  const AdviceSubject& subject = start.subject;
  const Result& base = start.base;
  const ReplayOptions options = options_of(subject, trial.parts);
  AdvisedRow row;
  row.name = name_of(trial.parts);
  row.combined = trial.parts.size() > 1;
  const bool pytorch = base.trace.framework == Framework::pytorch;
  for (const Candidate& c : trial.parts) {
    if (pytorch) row.how += (row.how.empty() ? "" : "; ") + c.how;
  }
  row.options = command_options(subject, options);
  try {
    row.result = predicted(start, options);
  } catch (const InputError& error) {
    trial.refusal = fmt::format("{}; needs {}", error.found(), error.expected());
    return;
  }
  const bool largest = std::any_of(trial.parts.begin(), trial.parts.end(),
                                   [](const Candidate& c) { return c.largest_batch; });
  if (largest && !row.fits()) {
    trial.refusal = fmt::format("predicted at it, the peak of {:.2f} GB does not fit either",
                                row.result.memory->peak_bytes * 1e-9);
    return;
  }
  if (row.result.losses.count("graph_captures_nothing") > 0) {
    trial.refusal = "the step launches nothing that a graph could capture";
    return;
  }
  row.speed_up = speed_up(subject.run.configs.bands, compared(base), compared(row.result),
                          row.result.what_ifs, is_anew(subject, options.what_ifs));
  row.same_work = row.result.scenario.batch == base.scenario.batch &&
                  row.result.scenario.gpu == base.scenario.gpu;
  row.why = reason(base, row.result);
  row.notes = notes_of(base, row.result);
  trial.row = std::move(row);
}

/// Predicts all that nothing speaks against so far.
void try_all(const Start& start, std::vector<Trial>& trials, int threads) {
  for_each_index(trials.size(), threads, [&](std::size_t i) {
    if (trials[i].refusal.empty()) try_one(start, trials[i]);
  });
}

/// The table's rows and the GPUs, with the batch that each means.
std::vector<Trial> single_trials(const AdviceSubject& subject, const Result& base,
                                 const std::vector<std::string>& gpus) {
  std::vector<Candidate> all(candidates().begin(), candidates().end());
  for (const std::string& gpu : gpus) {
    all.push_back(gpu_candidate(find_gpu(subject.run.configs.gpus, gpu).name));
  }
  std::vector<Trial> trials;
  for (Candidate& c : all) {
    Trial trial;
    if (c.choice == Choice::batch) {
      if (const auto batch = batch_of(c, base, trial.refusal)) {
        c.what_ifs = {{"batch", std::to_string(*batch)}};
        c.name = fmt::format("{} ({})", c.name, *batch);
        if (*batch < base.scenario.batch) c.how = "the largest halved batch that fits";
      }
    }
    if (c.choice == Choice::gpu && c.name == base.scenario.gpu) {
      trial.refusal = "the step runs on this GPU";
    }
    if (c.obstacle != nullptr) {
      if (const auto text = c.obstacle({subject.run, base})) trial.refusal = *text;
    }
    trial.parts.push_back(c);
    trials.push_back(std::move(trial));
  }
  return trials;
}

bool helps(const Trial& trial) {
  return trial.row && trial.row->fits() && trial.row->speed_up.value > 1;
}

/// The candidate of a choice that helps most by itself, or null.
const Trial* best_single(const std::vector<Trial>& singles, Choice choice) {
  const Trial* best = nullptr;
  for (const Trial& trial : singles) {
    if (trial.parts.front().choice != choice || !helps(trial)) continue;
    if (best == nullptr || trial.row->speed_up.value > best->row->speed_up.value) best = &trial;
  }
  return best;
}

/// The candidates of a choice to combine: precisions and launches that can be tried at all, since
/// one may turn the tables for the other (fewer bits help what the host no longer limits); of other
/// choices the one that helps.
std::vector<Candidate> to_combine(const std::vector<Trial>& singles, Choice choice) {
  std::vector<Candidate> out;
  if (choice != Choice::launch && choice != Choice::precision) {
    if (const Trial* best = best_single(singles, choice)) out.push_back(best->parts.front());
    return out;
  }
  for (const Trial& trial : singles) {
    if (trial.parts.front().choice == choice && trial.row) out.push_back(trial.parts.front());
  }
  return out;
}

bool sets_mode(const Candidate& c) { return c.mode != Mode::as_traced; }

/// Every way to take one candidate, or none, of each choice that keeps batch and GPU, where that
/// makes two or more; a step has one mode.
std::vector<Trial> combinations(const std::vector<Trial>& singles) {
  std::vector<std::vector<Candidate>> sets = {{}};
  for (const Choice choice : {Choice::layout, Choice::precision, Choice::waits, Choice::launch,
                              Choice::update, Choice::input}) {
    const std::size_t known = sets.size();
    for (const Candidate& c : to_combine(singles, choice)) {
      for (std::size_t i = 0; i < known; ++i) {
        if (sets_mode(c) && std::any_of(sets[i].begin(), sets[i].end(), sets_mode)) continue;
        sets.push_back(sets[i]);
        sets.back().push_back(c);
      }
    }
  }
  std::vector<Trial> out;
  for (std::vector<Candidate>& set : sets) {
    if (set.size() > 1) out.push_back({std::move(set), {}, {}});
  }
  return out;
}

const Trial* best_of(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (!trial.row || !trial.row->fits()) continue;
    if (best == nullptr || trial.row->speed_up.value > best->row->speed_up.value) best = &trial;
  }
  return best;
}

/// The best combination, if it beats what it is made of.
Trial combined(const std::vector<Trial>& tried, const std::vector<Trial>& singles) {
  const Trial* best = best_of(tried);
  if (best == nullptr) return {{}, {}, "no two candidates that help go together"};
  for (const Trial& single : singles) {
    if (!single.row || !single.row->fits()) continue;
    if (single.row->speed_up.value < best->row->speed_up.value) continue;
    const auto is_part = [&](const Candidate& c) { return c.name == single.parts.front().name; };
    if (std::none_of(best->parts.begin(), best->parts.end(), is_part)) continue;
    return {{}, {}, "no combination is faster than " + single.row->name + " alone"};
  }
  return *best;
}

/// What is best at the batch of the step, taken at the best other batch.
Trial at_best_batch(const std::vector<Trial>& singles, const Trial& together) {
  const Trial* batch = best_single(singles, Choice::batch);
  if (batch == nullptr) return {{}, {}, "no other batch helps"};
  Trial out;
  if (together.row) {
    out.parts = together.parts;
  } else {
    const Trial* best = nullptr;
    for (const Trial& trial : singles) {
      const Choice choice = trial.parts.front().choice;
      if (!helps(trial) || choice == Choice::batch || choice == Choice::gpu) continue;
      if (best == nullptr || trial.row->speed_up.value > best->row->speed_up.value) best = &trial;
    }
    if (best == nullptr) return {{}, {}, "nothing else helps beside another batch"};
    out.parts = best->parts;
  }
  out.parts.push_back(batch->parts.front());
  return out;
}

AdvisedRow base_row(const AdviceSubject& subject, Result result) {
  AdvisedRow row;
  row.name = subject.network ? "as generated" : "as traced";
  row.options = command_options(subject, subject.options);
  row.is_base = true;
  row.speed_up = {result.step.time_us, 1, 1, 1};
  row.notes = warnings_of(result, {});
  row.result = std::move(result);
  return row;
}

void take(Trial&& trial, const std::string& name, Advice& advice) {
  if (trial.row) {
    advice.rows.push_back(std::move(*trial.row));
  } else {
    advice.refused.push_back({name, std::move(trial.refusal)});
  }
}

void rank(std::vector<AdvisedRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const AdvisedRow& x, const AdvisedRow& y) {
    if (x.fits() != y.fits()) return x.fits();
    return x.speed_up.value > y.speed_up.value;
  });
}

}  // namespace

AdviceSubject load_subject(ReplayOptions options) {
  if (!is_network(options.trace_path)) {
    Trace trace = import_trace(options.trace_path, options.import);
    Configs configs = load_configs(options);
    return subject_of(std::move(trace), std::move(options), std::move(configs));
  }
  AdviceSubject subject;
  subject.network = take_request(options.trace_path, options);
  subject.configs = load_configs(options);
  subject.run = analyse_network(*subject.network, options, subject.configs);
  subject.options = std::move(options);
  return subject;
}

AdviceSubject subject_of(Trace trace, ReplayOptions options, Configs configs) {
  AdviceSubject subject;
  subject.configs = std::move(configs);
  subject.run = analyse(std::move(trace), options, subject.configs);
  subject.options = std::move(options);
  return subject;
}

const AdvisedRow& Advice::base() const {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.is_base; });
  return found == rows.end() ? rows.front() : *found;
}

const AdvisedRow* Advice::best(bool same_work) const {
  for (const AdvisedRow& row : rows) {
    if (!row.is_base && row.fits() && row.same_work == same_work) return &row;
  }
  return nullptr;
}

bool Advice::nothing_helps() const {
  return std::none_of(rows.begin(), rows.end(),
                      [](const AdvisedRow& row) { return row.fits() && row.speed_up.low > 1; });
}

Advice advise(const AdviceSubject& subject, const std::vector<std::string>& gpus, int threads) {
  const Start start{subject, turned_run(subject), predict(subject.run, subject.options).result};
  std::vector<Trial> singles = single_trials(subject, start.base, gpus);
  try_all(start, singles, threads);
  std::vector<Trial> sets = combinations(singles);
  try_all(start, sets, threads);
  std::vector<Trial> last = {combined(sets, singles)};
  last.push_back(at_best_batch(singles, last.front()));
  if (last.back().refusal.empty()) try_one(start, last.back());
  Advice advice;
  advice.generated = subject.network.has_value();
  advice.rows.push_back(base_row(subject, start.base));
  for (Trial& single : singles) {
    const std::string name = name_of(single.parts);
    take(std::move(single), name, advice);
  }
  take(std::move(last.front()), "combination", advice);
  take(std::move(last.back()), "at another batch", advice);
  rank(advice.rows);
  return advice;
}

}  // namespace tandem
