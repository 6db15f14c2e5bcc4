#include "models/step/launches.h"

#include <unordered_map>

#include "models/kernel/work/work.h"

namespace tandem {

// What makes two launches equal, as ids of the trace.
struct TraceLaunches::Key {
  StringId name;
  GeometryId geometry;
  std::uint32_t kind = 0;
  StringId op;
  OperandsId operands;
  friend bool operator==(const Key&, const Key&) = default;
};

namespace {

struct KeyHash {
  template <class Key>
  std::size_t operator()(const Key& key) const {
    std::size_t h = key.name.value * 0x9e3779b97f4a7c15ULL + key.geometry.value;
    for (const std::uint32_t id : {key.op.value, key.operands.value}) {
      h = (h ^ id) * 0xff51afd7ed558ccdULL;
    }
    return h ^ (h >> 32U) ^ key.kind;
  }
};

KernelLaunch transfer_launch(ActivityKind kind, std::string_view name) {
  KernelLaunch launch;
  launch.name = name;
  launch.traits.kind = kind == ActivityKind::memcpy ? Kind::memcpy : Kind::memset;
  launch.family = row_of(launch.traits).family;
  return launch;
}

}  // namespace

TraceLaunches::TraceLaunches(const Trace& trace, const Links& links,
                             std::span<const std::uint32_t> op_of_call)
    : trace_(trace) {
  const Activities& acts = trace.activities;
  std::unordered_map<Key, std::uint32_t, KeyHash> known;
  std::unordered_map<Key, Key, KeyHash> twins;  // without operation -> the same kernel with one
  std::vector<Key> keys(acts.size());
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    Key& key = keys[a];
    key = {acts.name[a], acts.geometry[a], static_cast<std::uint32_t>(acts.kind[a]), {}, {}};
    const std::uint32_t call = links.call_of_activity[a];
    if (call == no_row || op_of_call[call] == no_row) continue;
    const std::uint32_t op = op_of_call[call];
    const Key bare = key;
    key.op = trace.ops.name[op];
    key.operands = trace.ops.operands[op];
    if (operands_of(trace, op).has_shapes) twins.try_emplace(bare, key);
  }
  shape_of_.resize(acts.size());
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    // Launched before the trace began: most likely what its twin with the same geometry was.
    const auto twin = keys[a].op.valid() ? twins.end() : twins.find(keys[a]);
    const Key& key = twin != twins.end() ? twin->second : keys[a];
    const auto [it, fresh] = known.try_emplace(key, 0);
    if (fresh) it->second = add(key);
    shape_of_[a] = it->second;
  }
}

const KernelClass& TraceLaunches::class_of(StringId name, StringId op) {
  const auto text = [&](StringId id) { return text_of(trace_, id); };
  const std::uint64_t key = (std::uint64_t{name.value} << 32U) | op.value;
  const auto [it, fresh] = classes_.try_emplace(key);
  if (fresh) it->second = classify(text(name), text(op));
  return it->second;
}

std::uint32_t TraceLaunches::add(const Key& key) {
  const auto text = [&](StringId id) { return text_of(trace_, id); };
  const auto kind = static_cast<ActivityKind>(key.kind);
  const std::string_view name = text(key.name);
  const auto number = static_cast<std::uint32_t>(launches_.size());
  if (kind != ActivityKind::kernel) {
    launches_.push_back(transfer_launch(kind, name));
    return number;
  }
  const Operands& operands = trace_.operands.get(key.operands);
  KernelLaunch launch;
  launch.name = name;
  launch.op = text(key.op);
  const KernelClass& c = class_of(key.name, key.op);
  launch.family = c.family;
  launch.math = c.math;
  launch.traits = c.traits;
  if (key.geometry.valid()) launch.geometry = trace_.geometries[key.geometry.index()];
  launch.work =
      kernel_work(c, OpContext{launch.op, operands.tensors, operands.arguments, launch.geometry});
  launch.tensors = operands.tensors.shapes;
  if (c.traits.kind == Kind::unknown) {
    losses_.add("kernel_unknown", Severity::info,
                "kernel names that no rule of the kernel model knows, e.g. " + std::string(name));
  }
  launches_.push_back(launch);
  return number;
}

KernelLaunch TraceLaunches::launch(std::uint32_t activity) const {
  KernelLaunch launch = launches_[shape_of_[activity]];
  launch.duration_us = to_us(trace_.activities.duration[activity]);
  return launch;
}

}  // namespace tandem
