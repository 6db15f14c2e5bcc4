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

}  // namespace

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
  out["kinds"] = table_json(d.kinds);
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
