#include "models/runtime/executor_model.h"

#include <algorithm>
#include <utility>

#include "sim/core/fields/constants.h"

namespace tandem {

namespace {

std::vector<Field<ExecutorModel>> fields() {
  using M = ExecutorModel;
  const auto us = [](std::string_view name, std::string_view doc, double M::*member) {
    return field<M>(name, "us", doc, member, Range::non_negative);
  };
  return {
      us("wake_us", "end of an enqueue to the begin of its node, executor idle", &M::wake_us),
      us("pop_us", "end of a node to the begin of the next one", &M::pop_us),
      us("value_return_us", "end of a node to the return of a wait for it", &M::value_return_us),
      us("push_us", "what an enqueue takes longer than the call that runs its node itself",
         &M::push_us),
      us("dequeue_us", "of a node, before a CPU kernel runs", &M::dequeue_us),
      field<M>("profiled_gap", "ratio", "host time with the profiler / without it",
               &M::profiled_gap),
      us("step_begin_us", "before the first operation", &M::step_begin_us),
      us("op_gap_us", "between operations of a layer", &M::op_gap_us),
      us("layer_gap_us", "before the first operation of the next layer", &M::layer_gap_us),
      us("update_gap_us", "before the optimizer updates a variable", &M::update_gap_us),
      us("enqueue_us", "of an operation", &M::enqueue_us),
      us("launch_us", "of a node before its launch call", &M::launch_us),
      us("cpu_kernel_us", "a kernel of the CPU: variables, sizes, views", &M::cpu_kernel_us),
      field<M>("copy_gb_per_s", "GB/s", "pageable memory to the device", &M::copy_gb_per_s)};
}

/// {"value": {op: {next: share}}, "source": text, "kind": text}. The reader sorts keys.
void read_pairs(const Json& json, const Place& place, ExecutorModel& model) {
  require_object(json, place);
  for (const char* const key : {"value", "source", "kind"}) {
    if (!json.contains(key)) {
      place.fail("no key \"" + std::string(key) + "\"", "all of: value, source, kind");
    }
  }
  const Place below = place / "value";
  require_object(json.at("value"), below);
  for (const auto& [op, next_ones] : json.at("value").items()) {
    require_object(next_ones, below / op);
    for (const auto& [next, share] : next_ones.items()) {
      ReadBack& row = model.read_back.emplace_back(ReadBack{op, next, 0});
      read_json(share, below / op / next, Range::positive, row.share);
    }
  }
}

}  // namespace

const ReadBack* find_read_back(const ExecutorModel& model, std::string_view op,
                               std::string_view next) {
  const auto before = [](const ReadBack& row, std::pair<std::string_view, std::string_view> key) {
    return std::pair<std::string_view, std::string_view>(row.op, row.next) < key;
  };
  const auto row =
      std::lower_bound(model.read_back.begin(), model.read_back.end(), std::pair(op, next), before);
  return row != model.read_back.end() && row->op == op && row->next == next ? &*row : nullptr;
}

ExecutorModel load_executor_model(const std::string& path) {
  return load_constants<ExecutorModel>(path, fields(), {"read_back", read_pairs});
}

}  // namespace tandem
