#include "models/step/attribution.h"

#include <optional>

#include "models/kernel/classify/classify.h"
#include "models/ops/layers.h"
#include "models/step/module_nesting.h"
#include "models/step/op_nesting.h"

namespace tandem {
namespace {

/// Layers of names, each looked up once: few distinct names stand behind many activities.
class Layers {
 public:
  Layers(const Trace& trace, NamedLayer (*find)(std::string_view))
      : trace_(trace), find_(find), known_(trace.strings.size()) {}
  NamedLayer of(StringId name) {
    Entry& entry = known_[name.index()];
    if (!entry.looked_up) entry = {true, find_(trace_.strings.get(name))};
    return entry.layer;
  }

 private:
  struct Entry {
    bool looked_up = false;
    NamedLayer layer;
  };
  const Trace& trace_;
  NamedLayer (*find_)(std::string_view);
  std::vector<Entry> known_;
};

/// The layer that kernels of a family belong to, whatever launches them; nothing where the words of
/// the name tell more.
std::optional<Layer> layer_of_family(KernelFamily family) {
  switch (family) {
    case KernelFamily::gemm: return Layer::linear;
    case KernelFamily::convolution: return Layer::convolution;
    case KernelFamily::attention: return Layer::attention;
    case KernelFamily::batch_norm: return Layer::batch_norm;
    case KernelFamily::layout:
    case KernelFamily::copy: return Layer::copy;
    case KernelFamily::pointwise: return Layer::around;
    default: return {};
  }
}

/// Of a kernel that no operation tells of. Known: also where it is pointwise.
NamedLayer layer_of_lone_kernel(std::string_view name) {
  const KernelFamily family = classify(name).family;
  if (const auto layer = layer_of_family(family)) return {*layer, true};
  NamedLayer named = layer_of_kernel(name);
  named.known = named.layer != Layer::around || family == KernelFamily::triton;
  return named;
}

class Attributor {
 public:
  Attributor(const Trace& trace, const Links& links)
      : trace_(trace),
        links_(links),
        nesting_(nest_ops(trace, links)),
        of_op_(trace, layer_of_op),
        of_kernel_(trace, layer_of_lone_kernel) {}

  Attribution run() {
    Attribution out;
    out.op_of_call.resize(trace_.calls.size());
    for (std::size_t call = 0; call < trace_.calls.size(); ++call) {
      const std::uint32_t op = outermost(nesting_, nesting_.of_call[call]);
      if (op != no_row) out.op_of_call[call] = without_engine_prefix(name_of(op));
    }
    for (std::uint32_t a = 0; a < trace_.activities.size(); ++a) {
      out.op.push_back(op_of(a, out.op_of_call));
      out.layer.push_back(layer_of(a));
    }
    if (trace_.modules.size() == 0) return out;
    const ModuleNesting modules = nest_modules(trace_);
    for (std::uint32_t a = 0; a < trace_.activities.size(); ++a) {
      const std::uint32_t call = links_.call_of_activity[a];
      const std::uint32_t op = call == no_row ? nesting_.of_activity[a] : nesting_.of_call[call];
      out.module.push_back(module_path(trace_, nesting_, modules, op));
    }
    return out;
  }

 private:
  std::string_view name_of(std::uint32_t op) const {
    return trace_.strings.get(trace_.ops.name[op]);
  }

  std::string_view op_of(std::uint32_t activity,
                         const std::vector<std::string_view>& of_call) const {
    const std::uint32_t call = links_.call_of_activity[activity];
    if (call != no_row && !of_call[call].empty()) return of_call[call];
    const std::uint32_t op = call == no_row ? nesting_.of_activity[activity] : no_row;
    return op == no_row ? "(no operation)" : name_of(op);
  }

  std::string_view layer_of(std::uint32_t activity) {
    const StringId kernel = trace_.activities.name[activity];
    if (is_collective_kernel(trace_.strings.get(kernel))) return to_string(Layer::collective);
    if (trace_.activities.kind[activity] != ActivityKind::kernel) return to_string(Layer::copy);
    const std::uint32_t call = links_.call_of_activity[activity];
    const std::uint32_t inner = call == no_row ? no_row : nesting_.of_call[call];
    // What launches a graph says nothing of what its kernels compute.
    if (inner == no_row || is_graph_node(trace_, links_, activity)) {
      const NamedLayer named = of_kernel_.of(kernel);
      return named.known ? to_string(named.layer) : unknown_layer;
    }
    const NamedLayer own = of_op_.of(trace_.ops.name[inner]);
    const NamedLayer outer = of_op_.of(trace_.ops.name[outermost(nesting_, inner)]);
    if (own.layer != Layer::around) return to_string(own.layer);
    if (outer.layer != Layer::around) return to_string(outer.layer);
    return own.known ? to_string(Layer::around) : unknown_layer;
  }

  const Trace& trace_;
  const Links& links_;
  OpNesting nesting_;
  Layers of_op_, of_kernel_;
};

}  // namespace

Attribution attribute(const Trace& trace, const Links& links) {
  return Attributor(trace, links).run();
}

}  // namespace tandem
