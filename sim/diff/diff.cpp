#include "sim/diff/diff.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tandem {

namespace {

constexpr std::string_view no_operation = "(Python, between operations)";
constexpr std::string_view unknown_operation = "(no operation)";  // of Attribution
constexpr std::string_view host_time = "(host)";
constexpr std::string_view between_work = "(between device work)";

Duration size(Duration d) { return d < Duration{} ? -d : d; }

/// Times of both sides that share a key.
template <class Key>
class Rows {
 public:
  void add(const Key& key, bool of_b, std::int64_t count, Duration time, bool device) {
    DiffRow& row = rows_[key];
    (of_b ? row.count_b : row.count_a) += count;
    (of_b ? row.b : row.a) += time;
    if (device) row.on_device += of_b ? time : -time;
  }
  const std::map<Key, DiffRow>& all() const { return rows_; }

 private:
  std::map<Key, DiffRow> rows_;
};

/// Sorts by size of change, then by key: the same order for A to B and B to A.
template <class T, class RowOf>
void sort_rows(std::vector<T>& rows, const RowOf& row_of) {
  std::stable_sort(rows.begin(), rows.end(), [&](const T& x, const T& y) {
    return size(row_of(x).change()) > size(row_of(y).change());
  });
}

DiffTable table_of(const Rows<std::string>& rows) {
  DiffTable table;
  for (const auto& [name, row] : rows.all()) {
    table.rows.push_back(row);
    table.rows.back().name = name;
    table.change += row.change();
  }
  sort_rows(table.rows, [](const DiffRow& row) -> const DiffRow& { return row; });
  return table;
}

std::vector<DiffKind> by_kind(const DiffSide& a, const DiffSide& b) {
  Rows<PathKind> rows;
  for (const DiffSide* side : {&a, &b}) {
    for (const StepPart& p : side->parts) {
      rows.add(p.kind, side == &b, p.count, p.time, of_device(p.kind));
    }
  }
  std::vector<DiffKind> kinds;
  for (const auto& [kind, row] : rows.all()) kinds.push_back({kind, row});
  sort_rows(kinds, [](const DiffKind& one) -> const DiffRow& { return one.row; });
  return kinds;
}

/// A table over the parts of both sides that `name` names; without a name they are left out. Counts
/// are of kernels and copies.
template <class Name>
DiffTable by_name(const DiffSide& a, const DiffSide& b, const Name& name) {
  Rows<std::string> rows;
  for (const DiffSide* side : {&a, &b}) {
    for (const StepPart& p : side->parts) {
      const std::string text(name(p));
      const std::int64_t count = p.kind == PathKind::work ? p.count : 0;
      if (!text.empty()) rows.add(text, side == &b, count, p.time, of_device(p.kind));
    }
  }
  return table_of(rows);
}

/// Moves the time of one kernel from a row to another. A kernel is said to be of what runs most of
/// it, and the rest of it stands in other rows: no more is moved than the row holds.
void move_time(std::vector<DeviceTime>& rows, const std::string& from, const std::string& to,
               const DeviceTime& kernel) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const DeviceTime& r) { return r.name == from; });
  if (row == rows.end()) return;
  const Duration time = std::min(kernel.time, row->time);
  const std::int64_t count = std::min(kernel.count, row->count);
  row->time -= time;
  row->count -= count;
  rows.push_back({to, count, time, {}, {}});
}

/// `side` with what a CUDA graph hides: a kernel without an operation is taken for one of the
/// operation that runs most kernels of its name on the `other` side.
DiffSide with_operations_of(const DiffSide& other, DiffSide side) {
  std::map<std::string_view, const DeviceTime*> owners;
  for (const DeviceTime& kernel : other.kernels) {
    if (kernel.op != unknown_operation) owners[kernel.name] = &kernel;
  }
  const auto owner_of = [&](std::string_view kernel, std::string_view op) -> const DeviceTime* {
    const auto owner = owners.find(kernel);
    return op != unknown_operation || owner == owners.end() ? nullptr : owner->second;
  };
  for (StepPart& p : side.parts) {
    const DeviceTime* owner = p.kind == PathKind::work ? owner_of(p.name, p.op) : nullptr;
    if (owner == nullptr) continue;
    p.op = owner->op;
    p.layer = owner->layer;
  }
  for (const DeviceTime& kernel : side.kernels) {
    const DeviceTime* owner = owner_of(kernel.name, kernel.op);
    if (owner == nullptr) continue;
    move_time(side.ops, kernel.op, owner->op, kernel);
    move_time(side.layers, kernel.layer, owner->layer, kernel);
  }
  return side;
}

std::vector<DiffPart> diff_parts(const DiffSide& a, const DiffSide& b) {
  using Key = std::tuple<PathKind, std::string, std::string, std::string>;
  Rows<Key> rows;
  for (const DiffSide* side : {&a, &b}) {
    for (const StepPart& p : side->parts) {
      rows.add({p.kind, p.op, p.layer, p.name}, side == &b, p.count, p.time, of_device(p.kind));
    }
  }
  std::vector<DiffPart> parts;
  for (const auto& [key, row] : rows.all()) {
    const auto& [kind, op, layer, name] = key;
    parts.push_back({{kind, op, layer, name, 0, {}}, row});
  }
  sort_rows(parts, [](const DiffPart& part) -> const DiffRow& { return part.row; });
  return parts;
}

DiffTable device_table(const std::vector<DeviceTime>& a, const std::vector<DeviceTime>& b) {
  Rows<std::string> rows;
  for (const DeviceTime& d : a) rows.add(d.name, false, d.count, d.time, true);
  for (const DeviceTime& d : b) rows.add(d.name, true, d.count, d.time, true);
  return table_of(rows);
}

std::string_view layer_of(const StepPart& p) {
  if (!of_device(p.kind)) return host_time;
  return p.layer.empty() ? between_work : std::string_view(p.layer);
}

std::string_view op_of(const StepPart& p) {
  if (!p.op.empty()) return p.op;
  return of_device(p.kind) ? between_work : no_operation;
}

std::string_view kernel_of(const StepPart& p) {
  return p.kind == PathKind::work ? std::string_view(p.name) : std::string_view{};
}

/// Operations of `ops` that one side has and the other does not, neither on its path nor off it.
DiffTable one_sided(const DiffTable& ops, const DiffTable& device, bool of_b) {
  DiffTable out;
  for (const DiffRow& row : ops.rows) {
    const bool elsewhere = std::any_of(
        device.rows.begin(), device.rows.end(),
        [&](const DiffRow& r) { return r.name == row.name && (of_b ? r.count_a : r.count_b) > 0; });
    if ((of_b ? row.a : row.b) != Duration{} || elsewhere) continue;
    out.rows.push_back(row);
    out.change += row.change();
  }
  return out;
}

/// Sets what is left of the change, and how much of the parts has a name.
void set_shares(Diff& d) {
  Duration attributed{}, moved{}, named{};
  for (const DiffPart& p : d.parts) {
    attributed += p.row.change();
    moved += size(p.row.change());
    if (!p.part.op.empty() || !p.part.name.empty()) named += size(p.row.change());
  }
  d.remainder = d.change() - attributed;
  if (d.remainder != Duration{}) {
    const double share = to_us(size(d.remainder)) / std::max(to_us(size(d.change())), 1e-9);
    d.attributed_share = std::max(0.0, 1 - share);
  }
  if (moved != Duration{}) d.named_share = to_us(named) / to_us(moved);
}

}  // namespace

Duration DiffPart::by_count() const {
  if (row.count_a == 0 || row.count_b == 0) return row.change();
  const double mean_us = (to_us(row.a) / static_cast<double>(row.count_a) +
                          to_us(row.b) / static_cast<double>(row.count_b)) /
                         2;
  return from_us(static_cast<double>(row.count_b - row.count_a) * mean_us);
}

Diff diff(const DiffSide& given_a, const DiffSide& given_b) {
  const DiffSide a = with_operations_of(given_b, given_a);
  const DiffSide b = with_operations_of(given_a, given_b);
  Diff d;
  d.path_a = a.path, d.path_b = b.path;
  d.scenario_a = a.scenario, d.scenario_b = b.scenario;
  d.a = a.step, d.b = b.step;
  d.parts = diff_parts(a, b);
  set_shares(d);
  d.kinds = by_kind(a, b);
  d.layers = by_name(a, b, layer_of);
  d.ops = by_name(a, b, op_of);
  d.kernels = by_name(a, b, kernel_of);
  d.device = {device_table(a.layers, b.layers), device_table(a.ops, b.ops),
              device_table(a.kernels, b.kernels), b.device - a.device};
  d.only_a = one_sided(d.ops, d.device.ops, false);
  d.only_b = one_sided(d.ops, d.device.ops, true);
  for (const auto& [name, value] : a.metrics) {
    const auto other = std::find_if(b.metrics.begin(), b.metrics.end(),
                                    [&, key = name](const auto& m) { return m.first == key; });
    if (other != b.metrics.end()) d.metrics.push_back({name, value, other->second});
  }
  return d;
}

}  // namespace tandem
