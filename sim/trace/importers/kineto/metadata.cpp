#include "sim/trace/importers/kineto/metadata.h"

#include <simdjson.h>

#include <map>
#include <string>
#include <utility>

#include "sim/core/bounds/limits.h"

namespace tandem {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr int most_sms = 1 << 20;
constexpr int most_ranks = 1 << 24;

// A key that is absent leaves `to` as it is; a value of another type is an error.
template <class Source, class Target>
bool read_field(ondemand::object& object, const char* key, Target& to) {
  Source value{};
  const simdjson::error_code error = object[key].get(value);
  if (error == simdjson::NO_SUCH_FIELD) return true;
  if (error) return false;
  if constexpr (std::is_same_v<Source, std::int64_t>) {
    if (!std::in_range<Target>(value)) return false;
  }
  to = static_cast<Target>(value);
  return true;
}

bool read_device(ondemand::object& object, DeviceProperties& device) {
  const bool read = read_field<std::int64_t>(object, "id", device.id) &&
                    read_field<std::string_view>(object, "name", device.name) &&
                    read_field<std::int64_t>(object, "totalGlobalMem", device.memory_bytes) &&
                    read_field<std::int64_t>(object, "computeMajor", device.compute_major) &&
                    read_field<std::int64_t>(object, "computeMinor", device.compute_minor) &&
                    read_field<std::int64_t>(object, "numSms", device.sm_count);
  return read && device.memory_bytes >= 0 && device.memory_bytes <= limits::bytes &&
         device.sm_count >= 0 && device.sm_count <= most_sms;
}

/// The first that a device is said to be holds; `others` counts what contradicts it.
bool read_devices(ondemand::document& document, std::vector<DeviceProperties>& devices,
                  std::int64_t& others) {
  ondemand::array array;
  if (document.get_array().get(array)) return false;
  std::map<std::int64_t, std::size_t> known;
  for (const DeviceProperties& device : devices) known.emplace(device.id, known.size());
  for (auto item : array) {
    ondemand::object object;
    DeviceProperties device;
    if (item.get_object().get(object) || !read_device(object, device)) return false;
    const auto [at, first] = known.emplace(device.id, devices.size());
    if (first) {
      devices.push_back(std::move(device));
    } else {
      others += devices[at->second] != device;
    }
  }
  return true;
}

bool read_distributed(ondemand::document& document, DistributedInfo& info) {
  ondemand::object object;
  DistributedInfo said;
  const bool good =
      !document.get_object().get(object) && read_field<std::int64_t>(object, "rank", said.rank) &&
      read_field<std::int64_t>(object, "world_size", said.world_size) && said.world_size >= 1 &&
      said.world_size <= most_ranks && said.rank >= 0 && said.rank < most_ranks;
  if (good) info = said;
  return good;
}

}  // namespace

void read_kineto_metadata(std::string_view key, std::string_view json, Trace& trace) {
  const simdjson::padded_string text(json);
  ondemand::parser parser;
  ondemand::document document;
  bool good = !parser.iterate(text).get(document);
  std::int64_t others = 0;
  if (good && key == "deviceProperties") good = read_devices(document, trace.devices, others);
  if (good && key == "distributedInfo") good = read_distributed(document, trace.distributed);
  trace.losses.add("contradicting_devices", Severity::data_loss,
                   "entries of deviceProperties that say something else of a device than an "
                   "earlier one; the first one holds",
                   others);
  if (good) return;
  trace.losses.add("bad_metadata", Severity::data_loss,
                   "values beside the events that could not be read, such as " + std::string(key));
}

}  // namespace tandem
