#include "models/kernel/counters/cost_constants.h"

#include <fmt/format.h>

#include <bit>

#include "models/kernel/classify/classify.h"
#include "sim/core/fields/constants.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

constexpr std::string_view functor_prefix = "functor ";
constexpr std::string_view fused_prefix = "fused ";
constexpr std::string_view warp_groups = "gmma";

// 16-bit types cost the same where only one of them was measured.
bool same_width(std::string_view a, std::string_view b) {
  const auto half = [](std::string_view t) { return t == "fp16" || t == "bf16"; };
  const auto word = [](std::string_view t) { return t == "fp32" || t == "tf32" || t == "int32"; };
  return (half(a) && half(b)) || (word(a) && word(b));
}

// How well a row measured for `type` serves a kernel of type `wanted`.
int score(const CostRow& row, std::string_view wanted) {
  if (row.type == wanted) return 3;
  if (same_width(row.type, wanted)) return 2;
  return row.type.empty() ? 1 : 0;
}

/// Positions of the rows of one kind: a kind has few of them, and the table many kinds.
std::vector<std::int16_t> rows_of(std::span<const CostRow> rows, std::string_view kind,
                                  std::string_view engine = "") {
  std::vector<std::int16_t> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind == kind && rows[i].engine == engine) {
      out.push_back(static_cast<std::int16_t>(i));
    }
  }
  return out;
}

/// Of `candidates`, the one that serves `type` best; -1: there are none.
std::int16_t best_row(std::span<const CostRow> rows, std::span<const std::int16_t> candidates,
                      std::string_view type) {
  std::int16_t best = -1;
  int best_score = -1;
  for (const std::int16_t i : candidates) {
    const int found = score(rows[static_cast<std::size_t>(i)], type);
    if (found <= best_score) continue;
    best = i;
    best_score = found;
  }
  return best;
}

CostRow read_row(const Json& json, const Place& place) {
  require_object(json, place);
  CostRow row;
  for (const auto& [key, value] : json.items()) {
    find_field(cost_row_fields(), key, place).read(row, value, place / key);
  }
  for (const std::string_view key : {"kind", "origin", "source"}) {
    if (!json.contains(key))
      place.fail("no key \"" + std::string(key) + "\"", "kind, origin, source");
  }
  return row;
}

/// What a row prices, and its instructions.
std::vector<Field<CostRow>> instruction_fields() {
  using R = CostRow;
  constexpr Range any = Range::non_negative;
  return {
      field("kind", "", "kind of kernel, \"functor NAME\" or \"fused NAME\"", &R::kind),
      field("type", "", "arithmetic type; empty: any", &R::type),
      field("engine", "",
            "gmma: the kind's kernels that multiply by warp groups, where they have prices of "
            "their own",
            &R::engine),
      field("origin", "", "measured (single operators), fitted (networks) or assumed", &R::origin),
      field("source", "", "what was measured, and the error of the fit", &R::source),
      field("error", "ratio", "mean relative error of the instructions", &R::error, any),
      field("per_warp", "instruction", "instructions a warp", &R::per_warp, any),
      field("per_element", "instruction", "instructions a warp-wide element", &R::per_element, any),
      field("per_row", "instruction", "instructions a row or result", &R::per_row, any),
      field("per_busy", "instruction", "instructions more of a warp that holds a part of a row",
            &R::per_busy, any),
      field("per_tap", "instruction", "instructions a warp and tap of a depthwise convolution",
            &R::per_tap, any),
      field("per_indexed", "instruction",
            "instructions a warp-wide element and index dimension beyond the first",
            &R::per_indexed, any),
      field("per_multiply", "instruction", "instructions a multiply", &R::per_multiply, any),
      field("per_fragment", "instruction", "instructions a fragment read", &R::per_fragment, any),
      field("per_load", "instruction", "instructions a warp-wide operand load", &R::per_load, any),
      field("per_converted", "instruction",
            "instructions an element that is loaded or stored in another type than FP32",
            &R::per_converted, any),
      field("per_passed", "instruction",
            "instructions a step in which a warp passes partial results of rows from lane to lane",
            &R::per_passed, any),
      field("per_transposed", "instruction",
            "instructions a warp-wide load of an operand not contiguous along k",
            &R::per_transposed, any),
      field("per_dropped", "instruction", "instructions a warp-wide score that drops out",
            &R::per_dropped, any),
      field("per_masked", "instruction", "instructions a warp-wide score with a mask in memory",
            &R::per_masked, any),
      field("per_compared", "instruction",
            "instructions a warp-wide score of a tile across the end of the keys or the diagonal",
            &R::per_compared, any),
      field("per_step", "instruction", "instructions a k step of a block", &R::per_step, any),
      field("per_tile", "instruction",
            "instructions an output tile; elementwise: more in a warp of the last block",
            &R::per_tile, any),
      field("per_operand", "instruction", "instructions a thread's element and operand",
            &R::per_operand, any),
      field("per_dim", "instruction", "instructions a thread's element and index dimension",
            &R::per_dim, any),
      field("per_dim_operand", "instruction",
            "instructions a thread's element, index dimension and operand", &R::per_dim_operand,
            any)};
}

/// Shared memory, sectors, and rates where the size of a launch is not known.
std::vector<Field<CostRow>> traffic_fields() {
  using R = CostRow;
  constexpr Range any = Range::non_negative;
  return {
      field("tensor_per_element", "instruction",
            "tensor-pipe instructions a warp-wide element of what is fused", &R::tensor_per_element,
            any),
      field("tensor_per_warp", "instruction", "tensor-pipe instructions a warp",
            &R::tensor_per_warp, any),
      field("shared_per_warp", "wavefront", "shared wavefronts a warp", &R::shared_per_warp, any),
      field("shared_per_element", "wavefront", "shared wavefronts a warp-wide element",
            &R::shared_per_element, any),
      field("shared_per_fragment", "wavefront", "shared wavefronts a fragment read",
            &R::shared_per_fragment, any),
      field("shared_per_load", "wavefront", "shared wavefronts an operand load",
            &R::shared_per_load, any),
      field("shared_per_passed", "wavefront",
            "shared wavefronts a step from lane to lane, for those between warps",
            &R::shared_per_passed, any),
      field("shared_per_transposed", "wavefront",
            "shared wavefronts a load of an operand not contiguous along k",
            &R::shared_per_transposed, any),
      field("shared_per_narrow", "wavefront",
            "shared wavefronts an asynchronous copy of four bytes a lane", &R::shared_per_narrow,
            any),
      field("l2_scattered", "ratio",
            "share that misses L1 of the sectors that strided lanes load beyond the operand bytes",
            &R::l2_scattered, any),
      field("shared_per_multiply", "wavefront", "shared wavefronts a multiply without tiles",
            &R::shared_per_multiply, any),
      field("l1_per_multiply", "sector",
            "sectors a multiply of a depthwise convolution reads from L1; 0: by l1_reads",
            &R::l1_per_multiply, any),
      field("l1_reads", "ratio", "L1 read sectors over operand sectors", &R::l1_reads, any),
      field("l1_writes", "ratio", "L1 write sectors over operand sectors", &R::l1_writes, any),
      field("l2_reads", "ratio", "L2 read sectors over operand sectors", &R::l2_reads, any),
      field("l2_writes", "ratio", "L2 write sectors over operand sectors", &R::l2_writes, any),
      field("rate_issue", "ratio", "issue cycles over active ones", &R::rate_issue, any),
      field("rate_tensor", "ratio", "tensor cycles over active ones", &R::rate_tensor, any),
      field("rate_l1", "sector/cycle", "L1 sectors an active SMSP cycle", &R::rate_l1, any),
      field("rate_l2", "sector/cycle", "L2 sectors an active SMSP cycle", &R::rate_l2, any),
      field("rate_shared", "wavefront/cycle", "shared wavefronts an active SMSP cycle",
            &R::rate_shared, any),
      field("rate_dram_reads", "ratio", "DRAM reads over its read bandwidth", &R::rate_dram_reads,
            any),
      field("rate_dram_writes", "ratio", "DRAM writes over its read bandwidth",
            &R::rate_dram_writes, any)};
}

}  // namespace

void CostConstants::index_rows() {
  const auto kinds = kind_rows();
  const auto functors = functor_rows();
  by_kind_.resize(kinds.size());
  by_groups_.resize(kinds.size());
  by_functor_.resize(functors.size());
  const auto type_name = [](std::size_t type) { return to_string(static_cast<DataType>(type)); };
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto plain = rows_of(rows_, kinds[i].key);
    const auto of_groups = rows_of(rows_, kinds[i].key, warp_groups);
    for (std::size_t type = 0; type < types; ++type) {
      by_kind_[i][type] = best_row(rows_, plain, type_name(type));
      by_groups_[i][type] =
          of_groups.empty() ? by_kind_[i][type] : best_row(rows_, of_groups, type_name(type));
    }
  }
  for (std::size_t i = 0; i < functors.size(); ++i) {
    const auto found = rows_of(rows_, fmt::format("{}{}", functor_prefix, functors[i].name));
    for (std::size_t type = 0; type < types; ++type) {
      by_functor_[i][type] = best_row(rows_, found, type_name(type));
    }
  }
  for (const FusedRow& row : fused_rows()) {
    const auto found = rows_of(rows_, fmt::format("{}{}", fused_prefix, row.name));
    const std::int16_t i = best_row(rows_, found, "");
    by_fused_.emplace_back();
    if (i < 0) continue;
    const CostRow& price = rows_[static_cast<std::size_t>(i)];
    by_fused_.back() = {price.per_element, price.tensor_per_element};
  }
}

CostConstants CostConstants::load(const std::string& path) {
  const Place file{path, ""};
  const Json json = read_json_file(path);
  require_object(json, file);
  const std::string_view schemas[] = {"tandem.kernels/1"};
  for (const std::string_view key : {"schema", "general", "kinds"}) {
    if (!json.contains(key))
      file.fail("no key \"" + std::string(key) + "\"", "schema, general, kinds");
  }
  read_choice(json["schema"], file / "schema", schemas);
  CostConstants out;
  read_all_sourced(json["general"], file / "general", general_cost_fields(), out.general_,
                   out.general_.origins);
  std::size_t number = 0;
  for (const Json& row : json["kinds"]) {
    out.rows_.push_back(read_row(row, file / ("kinds[" + std::to_string(number++) + "]")));
  }
  out.index_rows();
  return out;
}

const CostRow* CostConstants::row(const KernelTraits& traits, DataType math) const {
  const auto& by_kind = traits.engine == Engine::gmma ? by_groups_ : by_kind_;
  const std::int16_t i =
      by_kind[static_cast<std::size_t>(traits.kind)][static_cast<std::size_t>(math)];
  return i < 0 ? nullptr : &rows_[static_cast<std::size_t>(i)];
}

const CostRow* CostConstants::functor(const KernelTraits& traits, DataType data) const {
  const std::int16_t i = by_functor_[traits.functor][static_cast<std::size_t>(data)];
  return i < 0 ? nullptr : &rows_[static_cast<std::size_t>(i)];
}

FusedCost CostConstants::fused(const KernelTraits& traits) const {
  FusedCost sum;
  for (std::uint64_t bits = traits.fused; bits != 0; bits &= bits - 1) {
    const FusedCost& one = by_fused_[static_cast<std::size_t>(std::countr_zero(bits))];
    sum.instructions += one.instructions;
    sum.tensor += one.tensor;
  }
  return sum;
}

std::span<const Field<CostRow>> cost_row_fields() {
  static const std::vector<Field<CostRow>> fields = [] {
    std::vector<Field<CostRow>> all = instruction_fields();
    const std::vector<Field<CostRow>> traffic = traffic_fields();
    all.insert(all.end(), traffic.begin(), traffic.end());
    return all;
  }();
  return fields;
}

std::span<const Field<GeneralCosts>> general_cost_fields() {
  using G = GeneralCosts;
  constexpr Range any = Range::non_negative;
  static const std::vector<Field<G>> fields{
      field("launch_cycles", "cycle", "of a kernel's duration before and after blocks are resident",
            &G::launch_cycles, any),
      field("minimum_active_cycles", "cycle", "a block is resident at least this long",
            &G::minimum_active_cycles, any),
      field("counter_window_cycles", "cycle",
            "Nsight Compute's elapsed cycles beyond the kernel's duration",
            &G::counter_window_cycles, any),
      field("tail_loss", "ratio", "idle share of a kernel of one full wave, while blocks drain",
            &G::tail_loss, any),
      field("block_start_cycles", "cycle",
            "from the start of a block to the next one's on the device", &G::block_start_cycles,
            any),
      field("refill_share", "ratio",
            "warps of a slot of an SM in use, over the block's, where block follows block",
            &G::refill_share),
      field("residency_power", "exponent",
            "block life over blocks on the same SM, for kernels bound by memory",
            &G::residency_power, any),
      field("issue_per_instruction", "ratio", "issue cycles over executed instructions",
            &G::issue_per_instruction),
      field("most_issue", "ratio", "issue slots of the time that a kernel fills at most",
            &G::most_issue),
      field("most_issue_simt", "ratio", "the same, FP32 matrix kernels", &G::most_issue_simt),
      field("occupancy_share", "ratio", "achieved over theoretical occupancy", &G::occupancy_share),
      field("occupancy_share_matrix", "ratio", "the same for matrix kernels",
            &G::occupancy_share_matrix),
      field("hmma_on_gmma", "ratio",
            "tensor cycles of warp-wide instructions over peak, on warp-group hardware",
            &G::hmma_on_gmma),
      field("hmma_short_on_gmma", "ratio", "the same for half instructions with k of 8",
            &G::hmma_short_on_gmma),
      field("tensor_half_us", "us",
            "a product without shapes that lasts so long uses half of its tensor rate at most",
            &G::tensor_half_us),
      field("tensor_lasting", "ratio",
            "tensor rate of products without shapes that last, over the kind's median",
            &G::tensor_lasting),
      field("tensor_tile_exponent", "exponent",
            "their tensor rate over that of tiles of 128 x 128, by the harmonic mean of the sides",
            &G::tensor_tile_exponent),
      field("tensor_clock_from", "ratio",
            "share of a kernel's cycles that tensor cores multiply in, from which on the SM clock "
            "is theirs",
            &G::tensor_clock_from),
      field("tensor_clock_slope", "ratio",
            "growth of what the clock loses with that share, around a half", &G::tensor_clock_slope,
            any),
      field("refetch_from", "ratio",
            "what resident blocks read over what L2 holds, from which on later reads miss it",
            &G::refetch_from, any),
      field("refetch_span", "ratio", "growth of that ratio until all of them do", &G::refetch_span),
      field("unknown_issue", "ratio", "issue slots used while active by an unknown kernel",
            &G::unknown_issue),
      field("unknown_issue_simt", "ratio", "the same, FP32 matrix kernels without shapes",
            &G::unknown_issue_simt),
      field("unknown_tensor_hmma", "ratio",
            "tensor pipe active while a matrix kernel without shapes is: warp-wide instructions",
            &G::unknown_tensor_hmma),
      field("unknown_tensor_gmma", "ratio", "the same, warp-group-wide instructions",
            &G::unknown_tensor_gmma),
      field("unknown_dram", "ratio", "of DRAM bandwidth, used by matrix kernels without shapes",
            &G::unknown_dram),
      field("unknown_functor", "instruction", "instructions an element of unmeasured arithmetic",
            &G::unknown_functor)};
  return fields;
}

}  // namespace tandem
