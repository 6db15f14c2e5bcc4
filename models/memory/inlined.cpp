#include "models/memory/inlined.h"

#include <algorithm>

namespace tandem {
namespace {

/// A norm also reads its statistics, scale and shift.
constexpr std::size_t reads_of_norm = 4;

bool is_norm(const OpRow& row) {
  return row.kind == OpKind::batch_norm || row.kind == OpKind::row_norm;
}

class Inlined {
 public:
  explicit Inlined(GraphValues& graph) : graph_(graph), loads_(graph.values.size()) {}

  void find() {
    for (std::uint32_t n = 0; n < graph_.values.size(); ++n) {
      GraphValue& v = graph_.values[n];
      if (!by_elements(v)) continue;
      find_loads(n);
      if (v.saved || !by_generated_code(v)) continue;
      v.inlined = costs_little(n);
      v.wide = !v.inlined && stays_wide(v);
    }
  }

 private:
  bool by_elements(const GraphValue& v) const {
    if (v.producer == no_value || !graph_.written(v.producer)) return false;
    const GraphOp& maker = graph_.ops[v.producer];
    if (maker.phase != GraphPhase::forward || graph_.outputs[v.producer].size() != 1) return false;
    return maker.row->kind == OpKind::pointwise || maker.row->kind == OpKind::cast ||
           is_norm(*maker.row);
  }

  /// The buffers that whoever computes it reads.
  void find_loads(std::uint32_t n) {
    std::vector<std::uint32_t>& loads = loads_[n];
    for (const std::uint32_t input : graph_.inputs[graph_.values[n].producer]) {
      if (graph_.values[input].inlined) {
        loads.insert(loads.end(), loads_[input].begin(), loads_[input].end());
      } else {
        loads.push_back(input);
      }
    }
    std::sort(loads.begin(), loads.end());
    loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
  }

  /// Whether something reads it in the forward pass, and that is generated code of its graph.
  bool by_generated_code(const GraphValue& v) const {
    bool read = false;
    for (const std::uint32_t r : v.readers) {
      const GraphOp& reader = graph_.ops[r];
      if (reader.phase == GraphPhase::backward) continue;
      const bool same = reader.phase == GraphPhase::forward &&
                        reader.pass == graph_.ops[v.producer].pass && graph_.written(r);
      if (!same) return false;
      read = true;
    }
    return read;
  }

  bool costs_little(std::uint32_t n) const {
    const GraphValue& v = graph_.values[n];
    std::size_t uses = 0, reads = loads_[n].size();
    for (const std::uint32_t r : v.readers) {
      if (graph_.ops[r].phase == GraphPhase::forward)
        uses += graph_.ops[r].row->is(uses_twice) ? 2 : 1;
    }
    if (is_norm(*graph_.ops[v.producer].row)) reads += reads_of_norm;
    return reads <= (uses > 1 ? most_reads_again : most_reads_at_all);
  }

  /// In a buffer of FP32 where the framework's is of 16 bits.
  bool stays_wide(const GraphValue& v) const {
    constexpr int narrow = 2;
    if (element_bytes(graph_.storages[v.storage].type) != narrow) return false;
    return computes_in_fp32(*graph_.ops[v.producer].row) &&
           std::all_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
             return graph_.ops[r].phase != GraphPhase::forward ||
                    computes_in_fp32(*graph_.ops[r].row);
           });
  }

  GraphValues& graph_;
  std::vector<std::vector<std::uint32_t>> loads_;  // by value
};

}  // namespace

void find_inlined(GraphValues& graph) { Inlined(graph).find(); }

}  // namespace tandem
