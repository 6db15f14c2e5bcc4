#include "models/collective/collective_law.h"

#include "sim/core/fields/constants.h"

namespace tandem {

namespace {

using L = CollectiveLaw;
using Fields = std::vector<Field<L>>;

void add_protocol(Fields& out, const std::string& name, const std::string& doc,
                  LinkProtocol L::*protocol) {
  using P = LinkProtocol;
  const std::vector<Field<P>> fields = {
      field<P>(name + "_base_us", "us", doc + ": a collective of next to nothing, one hop",
               &P::base_us),
      field<P>(name + "_hop_us", "us", doc + ": each further hop of the ring", &P::hop_us),
      field<P>(name + "_link_share", "ratio",
               doc + ": rate of rings over that of one direction of a GPU's links", &P::link_share),
      field<P>(name + "_most_gbps", "GB/s", doc + ": a limit of its own; 0: none", &P::most_gbps,
               Range::non_negative),
  };
  add_fields(out, protocol, fields);
}

void add_shard_host(Fields& out) {
  using H = ShardHost;
  const std::string over = " over a launch call, both profiled and without launch calls";
  const std::vector<Field<H>> fields = {
      field<H>("shard_step_host_ratio", "ratio",
               "host time of PyTorch's fully_shard once a step" + over, &H::step),
      field<H>("shard_gather_host_ratio", "ratio", "of issuing the gather of a unit of parameters",
               &H::gather),
      field<H>("shard_gather_parameter_host_ratio", "ratio", "more of it for each parameter",
               &H::gather_parameter),
      field<H>("shard_use_host_ratio", "ratio",
               "of making a gathered unit usable in the forward pass and giving it back", &H::use),
      field<H>("shard_use_again_host_ratio", "ratio", "the same in the backward pass",
               &H::use_again),
      field<H>("shard_use_parameter_host_ratio", "ratio", "more of both for each parameter",
               &H::use_parameter),
      field<H>("shard_scatter_host_ratio", "ratio",
               "of copying and scattering the gradients of a unit", &H::scatter),
      field<H>("shard_scatter_parameter_host_ratio", "ratio", "more of it for each parameter",
               &H::scatter_parameter),
      field<H>("shard_scatter_gb_host_ratio", "ratio", "more of it for each GB", &H::scatter_gb),
      field<H>("shard_update_host_ratio", "ratio",
               "more for an operation of the optimizer on a list of parts", &H::update),
      field<H>("shard_bare_share", "share", "of a unit's host time in Python alone", &H::bare),
  };
  add_fields(out, &L::shard_host, fields);
}

Fields law_fields() {
  Fields out;
  add_protocol(out, "ll", "protocol LL", &L::low_latency);
  add_protocol(out, "simple", "protocol Simple", &L::simple);
  const auto plain = [&](std::string_view name, std::string_view unit, std::string_view doc,
                         double L::*member) { out.push_back(field<L>(name, unit, doc, member)); };
  plain("gather_factor", "ratio", "rate of all-gathers and reduce-scatters over all-reduces",
        &L::gather_factor);
  plain("broadcast_factor", "ratio", "the same of broadcasts", &L::broadcast_factor);
  plain("more_reduce_factor", "ratio",
        "rate of all-reduces among more than two ranks over that between two",
        &L::more_reduce_factor);
  plain("more_gather_factor", "ratio", "the same of all-gathers and reduce-scatters",
        &L::more_gather_factor);
  plain("more_direct_factor", "ratio", "the same of all-to-alls", &L::more_direct_factor);
  plain("direct_base_us", "us", "an all-to-all of next to nothing", &L::direct_base_us);
  plain("direct_link_share", "ratio",
        "rate of an all-to-all over that of one direction of a GPU's links", &L::direct_link_share);
  plain("pcie_share", "ratio", "link rate of GPUs without NVLink over their copy rate",
        &L::pcie_share);
  plain("host_gpus", "count", "ranks that one host holds; more were never modelled", &L::host_gpus);
  plain("first_bucket_bytes", "B", "first bucket of PyTorch's data parallelism",
        &L::first_bucket_bytes);
  plain("bucket_bytes", "B", "further buckets", &L::bucket_bytes);
  plain("hook_host_ratio", "ratio",
        "host time of a gradient's hook without its launch call over a launch call, profiled",
        &L::hook_host_ratio);
  plain("bucket_host_ratio", "ratio", "the same of issuing the collective of a bucket",
        &L::bucket_host_ratio);
  plain("finish_host_ratio", "ratio", "the same of copying a gradient back from its bucket",
        &L::finish_host_ratio);
  plain("flatten_host_ratio", "ratio", "the same of packing a buffer that rank 0 sends",
        &L::flatten_host_ratio);
  plain("buffer_host_ratio", "ratio", "the same of copying such a buffer to its place",
        &L::buffer_host_ratio);
  add_shard_host(out);
  plain(
      "list_copy_factor", "ratio",
      "time of a copy of a list of tensors, out of a gathered unit or before a scatter, over that "
      "of its bytes",
      &L::list_copy_factor);
  plain("list_chunk_us", "us", "a block copies a chunk of a list of tensors", &L::list_chunk_us);
  plain("ranks_exponent", "exponent",
        "host time of one of n ranks on a host over that of one alone, as a power of n",
        &L::ranks_exponent);
  plain("ring_blocks", "count", "blocks of a collective's kernel, one a channel", &L::ring_blocks);
  plain("expected_error", "ratio", "mean error of the time that data moves", &L::expected_error);
  plain("beside_error", "ratio",
        "error of the time of kernels beside a collective, of which only the SMs that it holds are "
        "modelled",
        &L::beside_error);
  plain("shared_host_error", "ratio",
        "mean error of steps among another number of ranks, whose hosts share their cores more and "
        "less well",
        &L::shared_host_error);
  plain("more_ranks_error", "ratio", "more of it beyond twice the traced ranks",
        &L::more_ranks_error);
  return out;
}

}  // namespace

CollectiveLaw load_collective_law(const std::string& path) {
  static const Fields fields = law_fields();
  return load_constants<CollectiveLaw>(path, fields);
}

}  // namespace tandem
