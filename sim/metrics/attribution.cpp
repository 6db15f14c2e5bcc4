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

Attribution::Attribution(const Trace& trace, const Links& links)
    : trace_(trace), links_(links), ops_(ops_of_calls(trace)) {
  // Activities whose call is not in the trace may still name their operation.
  std::vector<std::uint32_t> by_id(trace.ops.size());
  std::iota(by_id.begin(), by_id.end(), 0U);
  const auto& id = trace.ops.external_id;
  std::sort(by_id.begin(), by_id.end(), [&](std::uint32_t a, std::uint32_t b) {
    return id[a] != id[b] ? id[a] < id[b] : a < b;
  });
  op_by_external_id_.assign(trace.activities.size(), no_row);
  for (std::uint32_t act = 0; act < trace.activities.size(); ++act) {
    const std::int64_t wanted = trace.activities.external_id[act];
    if (links.call_of_activity[act] != no_row || wanted < 0) continue;
    const auto it = std::lower_bound(by_id.begin(), by_id.end(), wanted,
                                     [&](std::uint32_t a, std::int64_t v) { return id[a] < v; });
    if (it != by_id.end() && id[*it] == wanted) op_by_external_id_[act] = *it;
  }
}

std::string_view Attribution::op_of_call(std::uint32_t call) const {
  if (call == no_row || ops_.outermost[call] == no_row) return {};
  std::string_view name = trace_.strings.get(trace_.ops.name[ops_.outermost[call]]);
  if (name.starts_with(engine_prefix)) name.remove_prefix(engine_prefix.size());
  return name;
}

std::string_view Attribution::op(std::uint32_t activity) const {
  const std::uint32_t call = links_.call_of_activity[activity];
  const std::string_view name = op_of_call(call);
  if (!name.empty()) return name;
  const std::uint32_t op = op_by_external_id_[activity];
  return op == no_row ? "(no operation)" : trace_.strings.get(trace_.ops.name[op]);
}

std::string_view Attribution::layer(std::uint32_t activity) const {
  const std::string_view kernel = trace_.strings.get(trace_.activities.name[activity]);
  if (kernel.starts_with("nccl")) return "collective";
  if (trace_.activities.kind[activity] != ActivityKind::kernel) return "copy";
  const std::uint32_t call = links_.call_of_activity[activity];
  if (call != no_row && ops_.innermost[call] != no_row) {
    const std::string_view inner = trace_.strings.get(trace_.ops.name[ops_.innermost[call]]);
    if (const auto layer = match_layer(inner); !layer.empty()) return layer;
    if (const auto layer = match_layer(op_of_call(call)); !layer.empty()) return layer;
    return "pointwise";
  }
  const auto layer = match_layer(kernel);
  return layer.empty() ? "other" : layer;
}

}  // namespace tandem
