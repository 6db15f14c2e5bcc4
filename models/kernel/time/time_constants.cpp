#include "models/kernel/time/time_constants.h"

#include <algorithm>
#include <initializer_list>

#include "sim/core/fields/constants.h"

namespace tandem {
namespace {

constexpr std::string_view schema_name = "tandem.kernel_time/1";
constexpr Range or_zero = Range::non_negative;

template <class T>
void read_all(const Json& json, const Place& place, std::span<const Field<T>> fields, T& out) {
  read_all_sourced(json, place, fields, out, out.origins);
}

const Json& part(const Json& json, const Place& place, const std::string& key) {
  if (!json.contains(key)) {
    place.fail("no key \"" + key + "\"", "schema, shared, generations, attention, batched");
  }
  return json[key];
}

void require_keys(const Json& json, const Place& place,
                  std::initializer_list<std::string_view> keys) {
  require_object(json, place);
  std::string all;
  for (const std::string_view key : keys) all += (all.empty() ? "" : ", ") + std::string(key);
  for (const std::string_view key : keys) {
    if (!json.contains(key)) place.fail("no key \"" + std::string(key) + "\"", all);
  }
}

/// The rows of a list, each by `read`.
template <class Row>
std::vector<Row> read_rows(const Json& json, const Place& place,
                           Row (*read)(const Json&, const Place&)) {
  if (!json.is_array()) place.fail(describe_json(json), "a list");
  std::vector<Row> out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    out.push_back(read(json[i], Place{place.file, place.key + "[" + std::to_string(i) + "]"}));
  }
  return out;
}

TimeGeneration read_generation(const Json& json, const Place& place) {
  require_keys(json, place, {"compute_major", "compute_minor", "values"});
  TimeGeneration out;
  read_json(json["compute_major"], place / "compute_major", Range::positive, out.compute_major);
  read_json(json["compute_minor"], place / "compute_minor", or_zero, out.compute_minor);
  read_all(json["values"], place / "values", time_generation_fields(), out);
  return out;
}

AttentionPace read_attention(const Json& json, const Place& place) {
  require_keys(json, place, {"type", "pass", "values"});
  constexpr std::string_view types[] = {"fp16", "fp32"};
  constexpr std::string_view passes[] = {"forward", "backward"};
  constexpr std::string_view masks[] = {"given", "learned"};
  AttentionPace out;
  out.type =
      read_choice(json["type"], place / "type", types) == 0 ? DataType::fp16 : DataType::fp32;
  out.backward = read_choice(json["pass"], place / "pass", passes) == 1;
  out.learned_mask = json.contains("mask") && read_choice(json["mask"], place / "mask", masks) == 1;
  read_all(json["values"], place / "values", attention_pace_fields(), out);
  return out;
}

std::vector<AttentionPace> read_attentions(const Json& json, const Place& place) {
  std::vector<AttentionPace> out = read_rows(json, place, read_attention);
  struct Row {
    DataType type;
    bool learned_mask;
  };
  for (const Row row :
       {Row{DataType::fp16, false}, {DataType::fp16, true}, {DataType::fp32, false}}) {
    for (const bool backward : {false, true}) {
      const auto same = [&](const AttentionPace& p) {
        return p.type == row.type && p.backward == backward && p.learned_mask == row.learned_mask;
      };
      if (std::count_if(out.begin(), out.end(), same) != 1) {
        place.fail("not one row for " + std::string(to_string(row.type)) +
                       (backward ? " backward" : " forward") +
                       (row.learned_mask ? ", learned masks" : ""),
                   "one for each type (fp16, fp32) and pass (forward, backward), and fp16 with "
                   "mask \"learned\"");
      }
    }
  }
  return out;
}

BatchedPace read_batched(const Json& json, const Place& place) {
  require_keys(json, place, {"type", "compute_major", "values"});
  constexpr std::string_view types[] = {"fp32", "tf32"};
  BatchedPace out;
  out.type =
      read_choice(json["type"], place / "type", types) == 0 ? DataType::fp32 : DataType::tf32;
  read_json(json["compute_major"], place / "compute_major", Range::positive, out.compute_major);
  read_all(json["values"], place / "values", batched_pace_fields(), out);
  return out;
}

std::vector<BatchedPace> read_batched_paces(const Json& json, const Place& place) {
  std::vector<BatchedPace> out = read_rows(json, place, read_batched);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool again = std::any_of(out.begin(), out.begin() + i, [&](const BatchedPace& p) {
      return p.type == out[i].type && p.compute_major == out[i].compute_major;
    });
    if (!again) continue;
    Place{place.file, place.key + "[" + std::to_string(i) + "]"}.fail(
        "a second row of its type", "one for each type and generation");
  }
  return out;
}

bool older(const TimeGeneration& a, const TimeGeneration& b) {
  return std::pair(a.compute_major, a.compute_minor) < std::pair(b.compute_major, b.compute_minor);
}

}  // namespace

TimeConstants TimeConstants::load(const std::string& path) {
  const Place file{path, ""};
  const Json json = read_json_file(path);
  require_object(json, file);
  const std::string_view schemas[] = {schema_name};
  read_choice(part(json, file, "schema"), file / "schema", schemas);
  TimeConstants out;
  read_all(part(json, file, "shared"), file / "shared", time_shared_fields(), out.shared_);
  const Json& rows = part(json, file, "generations");
  if (!rows.is_array() || rows.empty()) {
    (file / "generations").fail(describe_json(rows), "a list of at least one generation");
  }
  out.generations_ = read_rows(rows, file / "generations", read_generation);
  std::sort(out.generations_.begin(), out.generations_.end(), older);
  out.attention_ = read_attentions(part(json, file, "attention"), file / "attention");
  out.batched_ = read_batched_paces(part(json, file, "batched"), file / "batched");
  return out;
}

const TimeGeneration& TimeConstants::generation(const GpuArch& gpu) const {
  TimeGeneration wanted;
  wanted.compute_major = gpu.compute_major;
  wanted.compute_minor = gpu.compute_minor;
  const TimeGeneration* best = generations_.data();
  for (const TimeGeneration& generation : generations_) {
    if (!older(wanted, generation)) best = &generation;
  }
  return *best;
}

bool TimeConstants::measured(const GpuArch& gpu) const {
  const TimeGeneration& g = generation(gpu);
  if (g.compute_major != gpu.compute_major || g.compute_minor != gpu.compute_minor) return false;
  const auto fields = time_generation_fields();
  const auto error = std::find_if(fields.begin(), fields.end(),
                                  [](const auto& f) { return f.name == "error_simt_gemm"; });
  return g.origins.at(static_cast<std::size_t>(error - fields.begin())).kind != ValueKind::spec;
}

const AttentionPace& TimeConstants::attention(DataType type, bool backward,
                                              bool learned_mask) const {
  const DataType kept = is_half(type) ? DataType::fp16 : DataType::fp32;
  const bool learned = learned_mask && is_half(type);
  return *std::find_if(attention_.begin(), attention_.end(), [&](const AttentionPace& p) {
    return p.type == kept && p.backward == backward && p.learned_mask == learned;
  });
}

const BatchedPace* TimeConstants::batched(const GpuArch& gpu, DataType type) const {
  const auto found = std::find_if(batched_.begin(), batched_.end(), [&](const BatchedPace& p) {
    return p.type == type && p.compute_major == gpu.compute_major;
  });
  return found == batched_.end() ? nullptr : &*found;
}

std::span<const Field<TimeGeneration>> time_generation_fields() {
  using G = TimeGeneration;
  constexpr std::string_view tile = "FMA issued over the FP32 peak, tile ";
  const auto eta = [&](std::string_view name, double G::*member) {
    return field("simt_" + std::string(name), "ratio", std::string(tile) + std::string(name),
                 member);
  };
  static const std::vector<Field<G>> fields{
      eta("128x128", &G::simt_128x128),
      eta("128x64", &G::simt_128x64),
      eta("128x32", &G::simt_128x32),
      eta("64x64", &G::simt_64x64),
      eta("64x32", &G::simt_64x32),
      eta("32x32", &G::simt_32x32),
      field("simt_lone_cycles", "cycle", "latency that a block alone on its SM exposes for each k",
            &G::simt_lone_cycles, or_zero),
      field("simt_lone_cycles_2_warps", "cycle", "the same for blocks of two warps",
            &G::simt_lone_cycles_2_warps, or_zero),
      field("simt_wave_packing", "ratio",
            "1: after the first wave SMs take as many blocks as they hold, so that the last wave "
            "is as long as a full one; 0: blocks spread evenly",
            &G::simt_wave_packing, or_zero),
      field("simt_packed_blocks", "count",
            "most blocks an SM holds of tiles that do so; smaller ones spread evenly",
            &G::simt_packed_blocks, or_zero),
      field("fp32_fma_pj", "pJ", "board energy above idle for each FMA of an FP32 product",
            &G::fp32_fma_pj),
      field("winograd_fused", "ratio", "FMA issued over the FP32 peak, fused winograd",
            &G::winograd_fused),
      field("winograd_fused_images", "count",
            "images that a block of the fused winograd kernel may be spread over",
            &G::winograd_fused_images),
      field("implicit_gemm", "ratio", "FMA issued over the FP32 peak, implicit GEMM",
            &G::implicit_gemm),
      field("fetch_waste", "ratio",
            "DRAM bytes fetched for each byte used, where every k step reads a 32-byte piece of a "
            "long row",
            &G::fetch_waste),
      field("fetch_half_bytes", "B", "length of a row at which half of that waste occurs",
            &G::fetch_half_bytes),
      field("partial_write", "ratio",
            "DRAM bytes for each byte of a result whose rows end within a 32-byte sector",
            &G::partial_write),
      field("tensor_rate", "ratio", "tensor FMA over the peak", &G::tensor_rate),
      field("tensor_operand_bytes_per_clk", "B/clk/SM",
            "rate at which an SM gets the operands of a tensor-core product",
            &G::tensor_operand_bytes_per_clk),
      field("tensor_misaligned", "ratio",
            "rate of tensor-core kernels on rows that are no multiple of 16 bytes",
            &G::tensor_misaligned),
      field("tma_start_us", "us",
            "start of a kernel whose clusters of blocks load by tensor maps, above that of others",
            &G::tma_start_us, or_zero),
      field("error_simt_gemm", "ratio", "mean relative error, FP32 products", &G::error_simt_gemm),
      field("error_tensor_gemm", "ratio", "mean relative error, tensor-core products",
            &G::error_tensor_gemm),
      field("error_pointwise", "ratio", "mean relative error, pointwise", &G::error_pointwise),
      field("error_rows", "ratio", "mean relative error, layer norm and softmax", &G::error_rows),
      field("error_conv", "ratio", "mean relative error, convolution", &G::error_conv)};
  return fields;
}

std::span<const Field<TimeShared>> time_shared_fields() {
  using S = TimeShared;
  static const std::vector<Field<S>> fields{
      field("dram_efficiency", "ratio", "bandwidth of streaming kernels over the DRAM peak",
            &S::dram_efficiency),
      field("power_response_us", "us", "load after which half of the clock's fall has happened",
            &S::power_response_us),
      field("simt_prologue_k", "k", "start and end of an FP32 block, in steps of k",
            &S::simt_prologue_k, or_zero),
      field("tensor_prologue_k", "k", "the same for tensor-core blocks", &S::tensor_prologue_k,
            or_zero),
      field("panel_l2_share", "ratio", "share of L2 that keeps operands between waves of blocks",
            &S::panel_l2_share),
      field("raster_rows", "count", "rows of blocks that share what they read", &S::raster_rows),
      field("simt_split_us", "us", "cost of splitting k, FP32", &S::simt_split_us, or_zero),
      field("tensor_split_us", "us", "cost of splitting k, tensor cores", &S::tensor_split_us,
            or_zero),
      field("split_traffic", "ratio", "time of writing and reading parts over that of L2",
            &S::split_traffic, or_zero),
      field("l2_reuse_share", "ratio",
            "bytes that pass through L2 between two reads of a row over those of resident rows",
            &S::l2_reuse_share),
      field("row_load_latencies", "ratio",
            "time of a load of a row whose use must wait over the DRAM latency under load",
            &S::row_load_latencies, or_zero),
      field("block_bytes_in_flight", "B",
            "bytes a block that walks over one channel keeps under way, and so its rate",
            &S::block_bytes_in_flight),
      field("thread_bytes_in_flight", "B",
            "bytes that a thread of a streaming kernel keeps under way: few warps cannot use the "
            "DRAM",
            &S::thread_bytes_in_flight),
      field("warp_cycles_per_instruction", "cycle",
            "cycles a warp needs for an instruction, for they depend on each other",
            &S::warp_cycles_per_instruction, or_zero),
      field("norm_warp_instructions", "instruction", "layer norm, of a warp",
            &S::norm_warp_instructions),
      field("norm_step_instructions", "instruction", "layer norm, of a warp for each load",
            &S::norm_step_instructions),
      field("softmax_warp_instructions", "instruction", "softmax, of a warp",
            &S::softmax_warp_instructions),
      field("softmax_element_instructions", "instruction",
            "softmax, of a warp for each element of a thread", &S::softmax_element_instructions),
      field("transform_filter", "ratio", "winograd filter transform, time over that of its bytes",
            &S::transform_filter),
      field("transform_input", "ratio", "winograd input transform", &S::transform_input),
      field("transform_output", "ratio", "winograd output transform", &S::transform_output),
      field("computed_place_lane_cycles", "cycles",
            "lane cycles an element of the framework's kernels that compute its place or its type, "
            "in attention that is not fused",
            &S::computed_place_lane_cycles)};
  return fields;
}

}  // namespace tandem
