#include "models/whatif/batch/law.h"

#include <string_view>

#include "sim/core/constants.h"

namespace tandem {
namespace {

using L = BatchLaw;
using Fields = std::vector<Field<BatchLaw>>;

constexpr std::string_view memory_names[memory_classes] = {
    "vectorized", "pointwise", "layout", "pooling",  "layer_norm",
    "reduction",  "embedding", "sort",   "transfer", "other"};

void add_shape_fields(Fields& out) {
  const auto us = [&](std::string_view name, std::string_view doc, double L::*member) {
    out.push_back(field<L>(name, "us", doc, member, Range::non_negative));
  };
  us("trace_floor_us", "shortest kernels (5th percentile) of the traces the floors come from",
     &L::trace_floor_us);
  out.push_back(field<L>("floor_share_memory", "ratio",
                         "most of a memory-bound kernel's time that counts as floor",
                         &L::floor_share_memory));
  out.push_back(field<L>("floor_share_matrix", "ratio",
                         "most of another kernel's time that counts as floor",
                         &L::floor_share_matrix));
  us("damping_us", "body at which half of the residual is believed", &L::damping_us);
}

void add_memory_fields(Fields& out) {
  for (std::size_t i = 0; i < memory_classes; ++i) {
    Field<L> f{"floor_" + std::string(memory_names[i]) + "_us", "us",
               "launch floor of " + std::string(memory_names[i]) + " kernels",
               [i](L& law, const Json& json, const Place& place) {
                 read_json(json, place, Range::non_negative, law.floor_us[i]);
               },
               [i](const L& law) { return Json(law.floor_us[i]); }};
    out.push_back(f);
  }
  out.push_back(field<L>("dram_share", "ratio", "sustained / peak DRAM rate", &L::dram_share));
  out.push_back(field<L>("l2_gain", "ratio", "rate from the L2 / from DRAM", &L::l2_gain));
  out.push_back(
      field<L>("l2_full_share", "ratio", "bytes / L2 size up to which all hit", &L::l2_full_share));
  out.push_back(
      field<L>("l2_none_share", "ratio", "bytes / L2 size from which none hit", &L::l2_none_share));
}

void add_rates(Fields& out, const std::string& name, TensorRates L::*rates) {
  const auto add = [&](std::string_view suffix, std::string_view unit, std::string_view doc,
                       double TensorRates::*member) {
    out.push_back({name + std::string(suffix), std::string(unit), std::string(doc),
                   [=](L& law, const Json& json, const Place& place) {
                     read_json(json, place, Range::positive, law.*rates.*member);
                   },
                   [=](const L& law) { return Json(law.*rates.*member); }});
  };
  add("_efficiency", "ratio", "multiply rate of a full tile / peak", &TensorRates::efficiency);
  add("_l2_bytes_per_clk", "B/clk/SM", "operand bytes that reach an SM",
      &TensorRates::l2_bytes_per_clk);
}

void add_matrix_fields(Fields& out) {
  add_rates(out, "gemm_half", &L::gemm_half);
  add_rates(out, "conv_half", &L::conv_half);
  add_rates(out, "tf32", &L::tf32);
  const auto us = [&](std::string_view name, std::string_view doc, double L::*member) {
    out.push_back(field<L>(name, "us", doc, member));
  };
  us("tensor_floor_us", "launch floor, tensor cores", &L::tensor_floor_us);
  us("tile_latency_us", "start and end of a wave of tiles", &L::tile_latency_us);
  us("split_us", "one more kernel or a wait for partial results", &L::split_us);
  us("simt_floor_us", "launch floor, FP32 pipes; also of matrix kernels without a model",
     &L::simt_floor_us);
  out.push_back(field<L>("simt_share", "ratio", "sustained / peak FP32 rate", &L::simt_share));
  out.push_back(field<L>("simt_operand_slots", "count",
                         "multiply slots that loading one operand element costs",
                         &L::simt_operand_slots));
  out.push_back(field<L>("simt_step_cycles", "cycle", "latency of one k step of a lone tile",
                         &L::simt_step_cycles));
  us("simt_split_us", "cost of splitting k, FP32 pipes", &L::simt_split_us);
}

void add_norm_fields(Fields& out) {
  const auto add = [&](std::string_view name, std::string_view unit, std::string_view doc,
                       double L::*member) { out.push_back(field<L>(name, unit, doc, member)); };
  add("bn_floor_us", "us", "launch floor, batch normalisation", &L::bn_floor_us);
  add("bn_shared_share", "ratio", "shared memory of an SM that one channel may take",
      &L::bn_shared_share);
  add("bn_forward_ns", "ns", "per element of a channel and channel on the SM, two passes",
      &L::bn_forward_ns);
  add("bn_backward_ns", "ns", "the same, backward", &L::bn_backward_ns);
  add("bn_backward_crowded_ns", "ns", "the same with four and more channels per SM",
      &L::bn_backward_crowded_ns);
  add("lone_dram", "ratio", "time from DRAM / from L2 of kernels with at most one block per SM",
      &L::lone_dram);
  add("bn_dram", "ratio", "the same, several channels per SM", &L::bn_dram);
  add("bn_block_us", "us", "start and end of a channel kept on chip", &L::bn_block_us);
  add("bn_block_gbps", "GB/s", "rate of one block, channel kept on chip", &L::bn_block_gbps);
  add("bn_chip_share", "ratio", "DRAM rate of all blocks / peak, channel kept on chip",
      &L::bn_chip_share);
}

void add_other_fields(Fields& out) {
  const auto us = [&](std::string_view name, std::string_view doc, double L::*member) {
    out.push_back(field<L>(name, "us", doc, member));
  };
  us("attention_floor_us", "launch floor, fused attention", &L::attention_floor_us);
  out.push_back(field<L>("attention_lone_waves", "waves",
                         "waves below which attention does not get faster",
                         &L::attention_lone_waves));
  us("column_step_us", "four loads of a thread that adds up", &L::column_step_us);
  us("column_split_us", "adding up the partial sums of several blocks", &L::column_split_us);
  us("embedding_token_us", "gradient of an embedding, per token, direct", &L::embedding_token_us);
  us("embedding_sort_us", "the same with sorted indices, constant", &L::embedding_sort_us);
  us("embedding_sort_token_us", "the same with sorted indices, per token",
     &L::embedding_sort_token_us);
  out.push_back(field<L>("memory_workspace_bytes", "B", "workspaces of the libraries",
                         &L::memory_workspace_bytes));
  out.push_back(field<L>("memory_context_bytes", "B", "context and code of the process",
                         &L::memory_context_bytes));
  out.push_back(field<L>("memory_usable_share", "ratio", "memory that allocations may take",
                         &L::memory_usable_share));
}

Fields law_fields() {
  Fields out;
  add_shape_fields(out);
  add_memory_fields(out);
  add_matrix_fields(out);
  add_norm_fields(out);
  add_other_fields(out);
  return out;
}

}  // namespace

BatchLaw load_batch_law(const std::string& path) {
  return load_constants<BatchLaw>(path, law_fields());
}

}  // namespace tandem
