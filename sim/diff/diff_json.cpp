#include <nlohmann/json.hpp>

#include "sim/diff/diff_report.h"

namespace tandem {

namespace {

void add_row(const DiffRow& row, Json& out) {
  out["count_a"] = row.count_a;
  out["count_b"] = row.count_b;
  out["a_us"] = to_us(row.a);
  out["b_us"] = to_us(row.b);
  out["change_us"] = to_us(row.change());
  out["device_change_us"] = to_us(row.on_device);
}

Json table_json(const DiffTable& table) {
  Json rows = Json::array();
  for (const DiffRow& row : table.rows) {
    Json one = {{"name", row.name}};
    add_row(row, one);
    rows.push_back(std::move(one));
  }
  return {{"change_us", to_us(table.change)}, {"rows", std::move(rows)}};
}

Json part_json(const DiffPart& p) {
  Json one = {{"kind", to_string(p.part.kind)},
              {"op", p.part.op},
              {"layer", p.part.layer},
              {"name", p.part.name}};
  add_row(p.row, one);
  one["change_by_count_us"] = to_us(p.by_count());
  return one;
}

constexpr FieldRow rows[] = {
    {"schema", "text", "name and version of this format"},
    {"change_us", "us", "time of a step of B less that of A"},
    {"attributed_us", "us", "of that, in parts that are named"},
    {"remainder_us", "us", "the rest"},
    {"attributed_share", "ratio", "attributed_us over change_us"},
    {"named_share", "ratio", "of the parts' changes: of parts that name an operation or a kernel"},
    {"device.change_us", "us", "of the time of all device work, whether or not anything waits"},
    {"parts[].kind", "text", path_kind_doc},
    {"parts[].op", "text", "operation; empty: none is known"},
    {"parts[].layer", "text", "kind of layer, of what the device does"},
    {"parts[].name", "text", "kernel or call; empty for host time and gaps"},
    {"parts[].change_by_count_us", "us", "of the change: because there are more or fewer of them"},
    {"metrics[].name", "text", "number of a step, as in a result"},
    {"metrics[].a", "any", "of A"},
    {"metrics[].b", "any", "of B"},
    {"metrics[].change", "any", "b less a"},
};

/// Of a side, of a row of a table, and of a part of the step.
constexpr FieldRow side_rows[] = {
    {"path", "text", "file of the trace or result"},
    {"scenario", "text", "GPU, mode, batch, precision and profiler"},
    {"time_us", "us", "of a step"},
};
constexpr FieldRow change_rows[] = {
    {"count_a", "count", "of A"},
    {"count_b", "count", "of B"},
    {"a_us", "us", "time of A"},
    {"b_us", "us", "time of B"},
    {"change_us", "us", "b_us less a_us"},
    {"device_change_us", "us", "of that, of the device; the rest: of the host"},
};

}  // namespace

std::vector<PublishedField> diff_fields() {
  std::vector<PublishedField> out;
  add_rows(rows, out);
  const auto add = [&](const std::string& at, const FieldRow& row) {
    out.push_back({at + "." + row.path, row.unit, row.doc, row.presence});
  };
  for (const char* side : {"a", "b"}) {
    for (const FieldRow& row : side_rows) add(side, row);
  }
  for (const char* table : {"kinds", "layers", "ops", "kernels", "device.layers", "device.ops",
                            "device.kernels", "only_a", "only_b"}) {
    out.push_back({std::string(table) + ".change_us", "us", "sum of the rows' changes"});
    out.push_back({std::string(table) + ".rows[].name", "text", "what the time is of"});
    for (const FieldRow& row : change_rows) add(std::string(table) + ".rows[]", row);
  }
  for (const FieldRow& row : change_rows) add("parts[]", row);
  return out;
}

Json diff_json(const Diff& d) {
  Json out;
  out["schema"] = diff_schema;
  out["a"] = {{"path", d.path_a}, {"scenario", d.scenario_a}, {"time_us", to_us(d.a)}};
  out["b"] = {{"path", d.path_b}, {"scenario", d.scenario_b}, {"time_us", to_us(d.b)}};
  out["change_us"] = to_us(d.change());
  out["attributed_us"] = to_us(d.change() - d.remainder);
  out["remainder_us"] = to_us(d.remainder);
  out["attributed_share"] = d.attributed_share;
  out["named_share"] = d.named_share;
  out["kinds"] = table_json(named(d.kinds, to_string));
  out["layers"] = table_json(d.layers);
  out["ops"] = table_json(d.ops);
  out["kernels"] = table_json(d.kernels);
  out["device"] = {{"change_us", to_us(d.device.change)},
                   {"layers", table_json(d.device.layers)},
                   {"ops", table_json(d.device.ops)},
                   {"kernels", table_json(d.device.kernels)}};
  out["only_a"] = table_json(d.only_a);
  out["only_b"] = table_json(d.only_b);
  out["parts"] = Json::array();
  for (const DiffPart& p : d.parts) out["parts"].push_back(part_json(p));
  out["metrics"] = Json::array();
  for (const DiffMetric& m : d.metrics) {
    out["metrics"].push_back({{"name", m.name}, {"a", m.a}, {"b", m.b}, {"change", m.b - m.a}});
  }
  return out;
}

}  // namespace tandem
