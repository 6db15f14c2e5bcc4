#include "sim/metrics/attribution.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace tandem {

namespace {

constexpr std::string_view engine_prefix = "autograd::engine::evaluate_function: ";

/// First match wins; compared with the innermost, then the outermost operation, in lower case.
constexpr std::array<std::pair<std::string_view, std::string_view>, 40> layer_patterns{{
    {"nccl", "collective"},
    {"all_reduce", "collective"},
    {"allreduce", "collective"},
    {"_foreach_", "optimizer"},
    {"_fused_adam", "optimizer"},
    {"_fused_sgd", "optimizer"},
    {"_amp_", "optimizer"},
    {"optimizer", "optimizer"},
    {"scaled_dot_product", "attention"},
    {"attention", "attention"},
    {"conv", "convolution"},
    {"batch_norm", "batch_norm"},
    {"batchnorm", "batch_norm"},
    {"layer_norm", "layer_norm"},
    {"layernorm", "layer_norm"},
    {"group_norm", "group_norm"},
    {"embedding", "embedding"},
    {"lstm", "rnn"},
    {"gru", "rnn"},
    {"rnn", "rnn"},
    {"addmm", "linear"},
    {"linear", "linear"},
    {"matmul", "linear"},
    {"bmm", "linear"},
    {"::mm", "linear"},
    {"mmbackward", "linear"},
    {"pool", "pooling"},
    {"softmax", "softmax"},
    {"nll_loss", "loss"},
    {"nllloss", "loss"},
    {"cross_entropy", "loss"},
    {"mse_loss", "loss"},
    {"dropout", "dropout"},
    {"tocopy", "copy"},
    {"copy", "copy"},
    {"clone", "copy"},
    {"contiguous", "copy"},
    {"aten::cat", "copy"},
    {"index", "index"},
    {"gather", "index"},
}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view match_layer(std::string_view name) {
  if (name.empty()) return {};
  const std::string text = lower(name);
  for (const auto& [pattern, layer] : layer_patterns) {
    if (text.find(pattern) != std::string::npos) return layer;
  }
  return {};
}

std::vector<std::vector<std::uint32_t>> rows_by_thread(std::size_t threads,
                                                       const Column<ThreadId>& thread,
                                                       const Column<TimePoint>& begin,
                                                       const Column<Duration>& duration) {
  std::vector<std::vector<std::uint32_t>> rows(threads);
  for (std::uint32_t i = 0; i < thread.size(); ++i) rows[thread[i].index()].push_back(i);
  for (auto& list : rows) {
    std::sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (begin[a] != begin[b]) return begin[a] < begin[b];
      return duration[a] != duration[b] ? duration[a] > duration[b] : a < b;  // parents first
    });
  }
  return rows;
}

}  // namespace

CallOps ops_of_calls(const Trace& trace) {
  CallOps out;
  out.innermost.assign(trace.calls.size(), no_row);
  out.outermost.assign(trace.calls.size(), no_row);
  const HostOps& ops = trace.ops;
  const RuntimeCalls& calls = trace.calls;
  const auto op_rows = rows_by_thread(trace.threads.size(), ops.thread, ops.begin, ops.duration);
  const auto call_rows =
      rows_by_thread(trace.threads.size(), calls.thread, calls.begin, calls.duration);
  std::vector<std::uint32_t> open;
  for (std::size_t t = 0; t < trace.threads.size(); ++t) {
    open.clear();
    std::size_t next = 0;
    for (const std::uint32_t call : call_rows[t]) {
      const TimePoint now = calls.begin[call];
      const auto close = [&](TimePoint time) {
        while (!open.empty() && ops.begin[open.back()] + ops.duration[open.back()] <= time) {
          open.pop_back();
        }
      };
      for (; next < op_rows[t].size() && ops.begin[op_rows[t][next]] <= now; ++next) {
        close(ops.begin[op_rows[t][next]]);
        open.push_back(op_rows[t][next]);
      }
      close(now);
      if (open.empty()) continue;
      out.innermost[call] = open.back();
      out.outermost[call] = open.front();
    }
  }
  return out;
}

namespace {

/// Activities whose call is not in the trace may still name their operation: rows of Trace::ops.
std::vector<std::uint32_t> ops_by_external_id(const Trace& trace, const Links& links) {
  std::vector<std::uint32_t> by_id(trace.ops.size());
  std::iota(by_id.begin(), by_id.end(), 0U);
  const auto& id = trace.ops.external_id;
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return id[a] != id[b] ? id[a] < id[b] : a < b;
  };
  if (!std::is_sorted(by_id.begin(), by_id.end(), earlier)) {
    std::sort(by_id.begin(), by_id.end(), earlier);
  }
  std::vector<std::uint32_t> op_of(trace.activities.size(), no_row);
  for (std::uint32_t act = 0; act < trace.activities.size(); ++act) {
    const std::int64_t wanted = trace.activities.external_id[act];
    if (links.call_of_activity[act] != no_row || wanted < 0) continue;
    const auto it = std::lower_bound(by_id.begin(), by_id.end(), wanted,
                                     [&](std::uint32_t a, std::int64_t v) { return id[a] < v; });
    if (it != by_id.end() && id[*it] == wanted) op_of[act] = *it;
  }
  return op_of;
}

/// match_layer() with a memory: few distinct names stand behind many activities.
class LayerTable {
 public:
  explicit LayerTable(const Trace& trace) : trace_(trace), known_(trace.strings.size()) {}
  std::string_view of(StringId name) {
    Entry& entry = known_[name.index()];
    if (!entry.matched) entry = {true, match_layer(trace_.strings.get(name))};
    return entry.layer;
  }

 private:
  struct Entry {
    bool matched = false;
    std::string_view layer;
  };
  const Trace& trace_;
  std::vector<Entry> known_;
};

std::string_view without_prefix(std::string_view name) {
  if (name.starts_with(engine_prefix)) name.remove_prefix(engine_prefix.size());
  return name;
}

}  // namespace

Attribution::Attribution(const Trace& trace, const Links& links) {
  const CallOps ops = ops_of_calls(trace);
  const auto by_id = ops_by_external_id(trace, links);
  LayerTable layers(trace);
  op_of_call_.resize(trace.calls.size());
  for (std::size_t call = 0; call < trace.calls.size(); ++call) {
    if (ops.outermost[call] == no_row) continue;
    op_of_call_[call] = without_prefix(trace.strings.get(trace.ops.name[ops.outermost[call]]));
  }
  const auto layer_of = [&](std::uint32_t act) -> std::string_view {
    const StringId kernel = trace.activities.name[act];
    if (trace.strings.get(kernel).starts_with("nccl")) return "collective";
    if (trace.activities.kind[act] != ActivityKind::kernel) return "copy";
    const std::uint32_t call = links.call_of_activity[act];
    if (call == no_row || ops.innermost[call] == no_row) {
      const std::string_view layer = layers.of(kernel);
      return layer.empty() ? "other" : layer;
    }
    for (const std::uint32_t op : {ops.innermost[call], ops.outermost[call]}) {
      if (const auto layer = layers.of(trace.ops.name[op]); !layer.empty()) return layer;
    }
    return "pointwise";
  };
  for (std::uint32_t act = 0; act < trace.activities.size(); ++act) {
    const std::string_view of_call = op_of_call(links.call_of_activity[act]);
    op_.push_back(!of_call.empty()       ? of_call
                  : by_id[act] != no_row ? trace.strings.get(trace.ops.name[by_id[act]])
                                         : std::string_view("(no operation)"));
    layer_.push_back(layer_of(act));
  }
}

}  // namespace tandem
