#include "workloads/lower/rules.h"

#include "sim/core/fields/field.h"

namespace tandem {
namespace {

constexpr std::string_view recipes[] = {"nothing",
                                        "sequence",
                                        "picked_loss",
                                        "put",
                                        "elementwise",
                                        "copy",
                                        "fill",
                                        "reduction",
                                        "softmax",
                                        "row_norm",
                                        "batch_norm",
                                        "group_norm",
                                        "product",
                                        "convolution",
                                        "convolution_backward",
                                        "depthwise",
                                        "attention",
                                        "multi_tensor",
                                        "concatenation",
                                        "embedding_gradient",
                                        "recurrent",
                                        "fourier",
                                        "interpolation",
                                        "sampling",
                                        "windows",
                                        "weight_norm",
                                        "running",
                                        "nhwc_convolution",
                                        "nhwc_batch_norm",
                                        "column_sums"};
constexpr std::string_view overs[] = {"output", "first", "second",  "third",
                                      "fourth", "rows",  "largest", "one"};
constexpr std::string_view throughs[] = {"nothing", "images", "channels", "planes"};
constexpr std::string_view schemas[] = {"tandem.lowering/1"};

std::vector<Field<KernelTemplate>> kernel_fields() {
  using K = KernelTemplate;
  return {field<K>("key", "name", "how rules name it", &K::key),
          field<K>("name", "name", "kernel name", &K::name),
          field<K>("source", "name", "where it was seen", &K::source),
          field<K>("channels_last", "name", "key of its counterpart for images in NHWC order",
                   &K::channels_last),
          field<K>("compute_major", "count", "first generation", &K::compute_major),
          field<K>("threads", "count", "threads of a block", &K::threads),
          field<K>("registers", "count", "registers of a thread", &K::registers),
          field<K>("shared_bytes", "B", "shared memory of a block", &K::shared_bytes,
                   Range::non_negative),
          choice_field<K>("over", "what blocks share out", &K::over, overs),
          field<K>("per_block", "count", "elements or rows of a block", &K::per_block),
          field<K>("blocks_per_sm", "count", "most blocks per SM", &K::blocks_per_sm),
          field<K>("share", "ratio", "of the time law's rate", &K::share),
          choice_field<K>("through", "what each thread goes through", &K::through, throughs),
          field<K>("step_us", "us", "an element, or a pass over a chunk", &K::step_us),
          field<K>("step_cycles", "cycles", "of a step of a thread", &K::step_cycles),
          field<K>("missed_cycles", "cycles", "of a step beside that, beyond the L2",
                   &K::missed_cycles),
          field<K>("start_us", "us", "beside law and launch", &K::start_us),
          field<K>("block_cycles", "cycles", "of an SM for a block or its step", &K::block_cycles),
          field<K>("sector_share", "ratio", "of the L2's rate, scattered reads", &K::sector_share),
          field<K>("fp32_ratio", "ratio", "cycles of FP32 over those of 16 bits", &K::fp32_ratio),
          field<K>("fills", "count", "1: only writes the result", &K::fills)};
}

std::vector<Field<OpRule>> rule_fields() {
  using R = OpRule;
  return {
      field<R>("ops", "name", "operations", &R::ops),
      choice_field<R>("recipe", "how it becomes kernels", &R::recipe, recipes),
      field<R>("kernels", "name", "keys of kernels", &R::kernels),
      field<R>("functor", "name", "what an elementwise kernel computes", &R::functor),
      field<R>("outer", "name", "operations around it", &R::outer),
      field<R>("lists", "count", "tensor lists", &R::lists),
      field<R>("scalar_lists", "count", "lists of numbers", &R::scalar_lists, Range::non_negative),
      field<R>("accesses", "count",
               "reads and writes of an element, where operands are read in part", &R::accesses),
      field<R>("tf32", "count", "1: FP32 products use it", &R::tf32),
      field<R>("forwards", "count", "1: nothing to do where sizes stay", &R::forwards)};
}

constexpr std::string_view uses[] = {"plain", "implicit", "strided", "sampled"};
constexpr std::string_view passes[] = {"forward", "input_gradient", "weight_gradient"};
constexpr std::string_view types[] = {"any", "fp32", "tf32", "fp16", "bf16"};  // of DataType

std::vector<Field<ConvHabit>> habit_fields() {
  using H = ConvHabit;
  return {choice_field<H>("use", "how the library computes it", &H::use, uses),
          choice_field<H>("pass", "of the layer", &H::pass, passes),
          choice_field<H>("type", "of the arithmetic", &H::type, types),
          field<H>("compute_major", "count", "generation", &H::compute_major),
          field<H>("share", "ratio", "of the time law's rate", &H::share),
          field<H>("start_us", "us", "before the first product", &H::start_us, Range::non_negative),
          field<H>("source", "name", "what it was fitted on", &H::source)};
}

constexpr std::string_view directions[] = {"forward", "backward"};
constexpr std::string_view places[] = {"memory", "chip"};

std::vector<Field<ChannelPace>> channel_fields() {
  using C = ChannelPace;
  return {
      choice_field<C>("direction", "of the pass", &C::backward, directions),
      choice_field<C>("place", "of the channel after its first read", &C::on_chip, places),
      field<C>("life_cycles", "cycles", "of a block", &C::life_cycles, Range::non_negative),
      field<C>("life_cycles_per_kb", "cycles", "and for each KB", &C::life_cycles_per_kb),
      field<C>("next_cycles", "cycles", "of a further one", &C::next_cycles, Range::non_negative),
      field<C>("next_cycles_per_kb", "cycles", "and for each KB", &C::next_cycles_per_kb)};
}

constexpr std::string_view cells[] = {"lstm", "gru"};

std::vector<Field<RecurrentPace>> recurrent_fields() {
  using P = RecurrentPace;
  return {choice_field<P>("cell", "of the layer", &P::gated_thrice, cells),
          choice_field<P>("direction", "of the pass", &P::backward, directions),
          field<P>("bytes", "byte", "of an element", &P::bytes),
          field<P>("width", "count", "columns of the state, at most", &P::width),
          field<P>("step_cycles", "cycles", "of a step, at least", &P::step_cycles),
          field<P>("sequence_cycles", "cycles", "of a step of each sequence of an SM",
                   &P::sequence_cycles)};
}

/// Fields that are not named keep their default.
template <class Row>
std::vector<Row> read_rows(const Json& json, const Place& file, const std::string& key,
                           const std::vector<Field<Row>>& fields) {
  std::vector<Row> rows;
  if (!json.contains(key) || !json[key].is_array()) file.fail("no list \"" + key + "\"", "one");
  for (const Json& row : json[key]) {
    const Place at = file / (key + "[" + std::to_string(rows.size()) + "]");
    require_object(row, at);
    Row& out = rows.emplace_back();
    for (const auto& [name, value] : row.items()) {
      find_field(std::span<const Field<Row>>(fields), name, at).read(out, value, at / name);
    }
  }
  return rows;
}

}  // namespace

const OpRule* LoweringRules::find(std::string_view op) const {
  auto found = rule_of.find(std::string(op));
  // What is without a rule in place launches the kernels of its form with a result of its own.
  if (found == rule_of.end() && op.ends_with('_')) {
    found = rule_of.find(std::string(op.substr(0, op.size() - 1)));
  }
  return found == rule_of.end() ? nullptr : &rules[found->second];
}

ConvHabit LoweringRules::habit(ConvUse use, Pass pass, DataType type, int compute_major) const {
  for (const ConvHabit& h : habits) {
    if (h.use == use && h.pass == pass && h.type == type && h.compute_major == compute_major) {
      return h;
    }
  }
  return {};
}

const KernelTemplate& LoweringRules::kernel(std::string_view key, int compute_major) const {
  const KernelTemplate* best = nullptr;
  for (const KernelTemplate& k : kernels) {
    if (k.key != key) continue;
    const bool newer = best != nullptr && k.compute_major > best->compute_major;
    if (best == nullptr || (newer && k.compute_major <= compute_major)) best = &k;
  }
  if (best == nullptr) {
    throw InputError(path, "kernels", "no row \"" + std::string(key) + "\"", "one");
  }
  return *best;
}

LoweringRules load_lowering_rules(const std::string& path) {
  const Json json = read_json_file(path);
  const Place file{path, ""};
  require_object(json, file);
  read_choice(json.value("schema", Json()), file / "schema", schemas);
  LoweringRules out;
  out.path = path;
  read_json(json.value("expected_error", Json()), file / "expected_error", Range::positive,
            out.expected_error);
  read_json(json.value("sm_cycle_bytes", Json()), file / "sm_cycle_bytes", Range::positive,
            out.sm_cycle_bytes);
  if (!json.contains("paces")) file.fail("no key \"paces\"", "one");
  const Place at_paces = file / "paces";
  read_json(json["paces"].value("source", Json()), at_paces / "source", Range::positive,
            out.paces.source);
  out.paces.channels = read_rows(json["paces"], at_paces, "channels", channel_fields());
  read_json(json["paces"].value("recurrent_source", Json()), at_paces / "recurrent_source",
            Range::positive, out.paces.recurrent_source);
  out.paces.recurrent = read_rows(json["paces"], at_paces, "recurrent", recurrent_fields());
  out.habits = read_rows(json, file, "habits", habit_fields());
  out.kernels = read_rows(json, file, "kernels", kernel_fields());
  out.rules = read_rows(json, file, "rules", rule_fields());
  for (std::size_t r = 0; r < out.rules.size(); ++r) {
    const Place at = file / ("rules[" + std::to_string(r) + "]");
    for (const std::string& op : out.rules[r].ops) {
      if (!out.rule_of.emplace(op, r).second) at.fail("a second rule for " + op, "one");
    }
    for (const std::string& key : out.rules[r].kernels) out.kernel(key, 0);
  }
  for (const KernelTemplate& k : out.kernels) {
    if (!k.channels_last.empty()) out.kernel(k.channels_last, 0);
  }
  return out;
}

}  // namespace tandem
