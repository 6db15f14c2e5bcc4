#include "models/step/launches.h"

#include <array>
#include <unordered_map>

#include "models/kernel/work/work.h"

namespace tandem {

// What makes two launches equal, as ids of the trace.
struct TraceLaunches::Key {
  StringId name;
  GeometryId geometry;
  std::uint32_t kind = 0;
  std::array<StringId, 5> op{};  // name, dims, types, strides, concrete arguments
  friend bool operator==(const Key&, const Key&) = default;
};

namespace {

struct KeyHash {
  template <class Key>
  std::size_t operator()(const Key& key) const {
    std::size_t h = key.name.value * 0x9e3779b97f4a7c15ULL + key.geometry.value;
    for (const StringId id : key.op) h = (h ^ id.value) * 0xff51afd7ed558ccdULL;
    return h ^ (h >> 32U) ^ key.kind;
  }
};

KernelLaunch transfer_launch(ActivityKind kind, std::string_view name) {
  KernelLaunch launch;
  launch.name = name;
  const KernelClass c = classify(kind == ActivityKind::memcpy ? "Memcpy" : "Memset");
  launch.family = c.family;
  launch.traits = c.traits;
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
    key = {acts.name[a], acts.geometry[a], static_cast<std::uint32_t>(acts.kind[a]), {}};
    const std::uint32_t call = links.call_of_activity[a];
    if (call == no_row || op_of_call[call] == no_row) continue;
    const std::uint32_t op = op_of_call[call];
    const HostOps& ops = trace.ops;
    const Key bare = key;
    key.op = {ops.name[op], ops.dims[op], ops.types[op], ops.strides[op], ops.concrete[op]};
    if (key.op[1].valid()) twins.try_emplace(bare, key);
  }
  shape_of_.resize(acts.size());
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    // Launched before the trace began: most likely what its twin with the same geometry was.
    const auto twin = keys[a].op[0].valid() ? twins.end() : twins.find(keys[a]);
    const Key& key = twin != twins.end() ? twin->second : keys[a];
    const auto [it, fresh] = known.try_emplace(key, 0);
    if (fresh) it->second = add(key);
    shape_of_[a] = it->second;
  }
  for (std::size_t i = 0; i < launches_.size(); ++i) launches_[i].tensors = tensors_[i].shapes;
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
  OpTensors& tensors = tensors_.emplace_back();
  if (kind != ActivityKind::kernel) {
    launches_.push_back(transfer_launch(kind, name));
    return number;
  }
  std::vector<std::string_view> arguments;
  try {
    tensors = parse_tensors(text(key.op[1]), text(key.op[2]), text(key.op[3]));
    arguments = parse_arguments(text(key.op[4]));
  } catch (const InputError& e) {
    losses_.add("op_shapes_unreadable", Severity::warning, e.what());
  }
  KernelLaunch launch;
  launch.name = name;
  launch.op = text(key.op[0]);
  const KernelClass& c = class_of(key.name, key.op[0]);
  launch.family = c.family;
  launch.math = c.math;
  launch.traits = c.traits;
  if (key.geometry.valid()) launch.geometry = trace_.geometries[key.geometry.index()];
  launch.work = kernel_work(c, OpContext{launch.op, tensors, arguments, launch.geometry});
  if (c.traits.kind == 0) {
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
