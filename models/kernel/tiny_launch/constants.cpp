#include "sim/core/fields/constants.h"

#include "models/kernel/tiny_launch/tiny_launch.h"

namespace tandem {
namespace {

using C = TinyConstants;

std::vector<Field<C>> period_fields() {
  const auto us = [](std::string_view name, std::string_view doc, double C::*member) {
    return field<C>(name, "us", doc, member, Range::non_negative);
  };
  return {
      us("host_period_us", "launch call of the host: no launch comes sooner", &C::host_period_us),
      us("gap_us", "engine busy with a launch of one block, less the life of the block",
         &C::gap_us),
      us("spread_us", "the same with a block on every SM, less the above", &C::spread_us),
  };
}

std::vector<Field<C>> block_fields() {
  const auto cycles = [](std::string_view name, std::string_view doc, double C::*member) {
    return field<C>(name, "cycle", doc, member, Range::non_negative);
  };
  return {
      cycles("device_block_cycles", "between block starts of the device, at most",
             &C::device_block_cycles),
      cycles("sm_block_cycles", "between block starts of an SM while it fills",
             &C::sm_block_cycles),
      cycles("sm_block_warp_cycles", "the same, more for each warp of a block",
             &C::sm_block_warp_cycles),
      cycles("sm_warp_cycles", "between warp starts of an SM in the long run", &C::sm_warp_cycles),
      field<C>("overlap", "ratio", "later blocks that come in bursts: 1 all, 0 none", &C::overlap,
               Range::non_negative),
      cycles("cold_life_cycles", "life of a block in the first wave", &C::cold_life_cycles),
      cycles("cold_life_warp_cycles", "the same, more for each warp", &C::cold_life_warp_cycles),
      cycles("warm_life_cycles", "life of a later block", &C::warm_life_cycles),
      cycles("warm_life_warp_cycles", "the same, more for each warp", &C::warm_life_warp_cycles),
  };
}

std::vector<Field<C>> store_fields() {
  return {
      field<C>("request_rate", "store/cycle", "stores served a cycle, part without lines",
               &C::request_rate),
      field<C>("request_rate_line", "store/cycle", "the same, more for each line of a block",
               &C::request_rate_line, Range::non_negative),
      field<C>("queue_stores", "store/SM", "stores on their way before new ones merge or wait",
               &C::queue_stores),
      field<C>("merge_lines", "line", "lines of a block up to which waiting stores merge",
               &C::merge_lines),
      field<C>("first_merge_lines", "line", "lines up to which the first wave of an SM merges",
               &C::first_merge_lines, Range::non_negative),
      field<C>("stall_fill", "ratio", "share of the resident limit full while blocks wait",
               &C::stall_fill, Range::non_negative),
  };
}

std::vector<Field<C>> tiny_fields() {
  std::vector<Field<C>> fields = period_fields();
  for (const auto& part : {block_fields(), store_fields()}) {
    fields.insert(fields.end(), part.begin(), part.end());
  }
  return fields;
}

// The object of GPU `gpu` in {"gpus": {name: constants}}.
const Json& constants_of(const Json& json, const Place& place, std::string_view gpu) {
  require_object(json, place);
  const auto gpus = json.find("gpus");
  if (gpus == json.end()) place.fail("no key \"gpus\"", "gpus");
  require_object(*gpus, place / "gpus");
  const auto found = gpus->find(std::string(gpu));
  if (found != gpus->end()) return *found;
  std::vector<std::string> names;
  for (const auto& [name, constants] : gpus->items()) names.push_back(name);
  (place / "gpus").fail("no GPU \"" + std::string(gpu) + "\"", "one of: " + join(names));
}

}  // namespace

TinyConstants load_tiny_constants(const std::string& path, std::string_view gpu) {
  const Json json = read_json_file(path);
  const Place place = Place{path, ""} / "gpus" / gpu;
  const auto fields = tiny_fields();
  TinyConstants constants;
  read_all_sourced(constants_of(json, {path, ""}, gpu), place, fields, constants,
                   constants.origins);
  return constants;
}

}  // namespace tandem
