#include "models/whatif/gpu/retarget_law.h"

#include <string_view>

#include "sim/core/field.h"

namespace tandem {
namespace {

constexpr std::string_view engine_names[] = {"none", "simt", "hmma", "gmma"};

std::vector<Field<LibraryKernel>> kernel_fields() {
  using K = LibraryKernel;
  return {field<K>("compute_major", "count", "first generation", &K::compute_major),
          choice_field<K>("engine", "what multiplies", &K::engine, engine_names),
          field<K>("family", "name", "gemm or convolution", &K::family),
          field<K>("type", "name", "type of the operands", &K::type),
          field<K>("name", "name", "kernel name with {m}, {n}, {pass}", &K::name),
          field<K>("source", "name", "where such a name was seen", &K::source),
          field<K>("threads", "count", "threads of a block", &K::threads),
          field<K>("registers_per_thread", "count", "registers", &K::registers_per_thread),
          field<K>("shared_bytes", "B", "shared memory of a block", &K::shared_bytes)};
}

std::vector<Field<RetargetErrors>> error_fields() {
  using E = RetargetErrors;
  return {field<E>("with_shapes", "ratio", "kernels of validated kinds", &E::with_shapes),
          field<E>("without_shapes", "ratio", "the same, no operands recorded", &E::without_shapes),
          field<E>("other_work", "ratio", "kinds that no validation case has", &E::other_work),
          field<E>("unknown_kernel", "ratio", "names that no rule knows", &E::unknown_kernel),
          field<E>("same_generation", "ratio", "share of the above within a generation",
                   &E::same_generation),
          field<E>("energy_constants", "ratio", "least, of a chip with another one's constants",
                   &E::energy_constants)};
}

RetargetErrors read_errors(const Json& json, const Place& place) {
  const auto fields = error_fields();
  RetargetErrors errors;
  const auto seen = read_sourced_fields(json, place, std::span<const Field<RetargetErrors>>(fields),
                                        errors, errors.origins);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!seen[i]) place.fail("no key \"" + fields[i].name + "\"", "a value of it");
  }
  return errors;
}

std::string_view type_name(DataType type) {
  switch (type) {
    case DataType::tf32: return "tf32";
    case DataType::fp16: return "fp16";
    case DataType::bf16: return "bf16";
    default: return "fp32";
  }
}

void replace(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what)) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

const LibraryKernel* RetargetLaw::find(int compute_major, Engine engine, KernelFamily family,
                                       DataType type) const {
  const std::string_view wanted = family == KernelFamily::convolution ? "convolution" : "gemm";
  const LibraryKernel* best = nullptr;
  for (const LibraryKernel& k : kernels) {
    if (k.engine != engine || k.family != wanted || k.type != type_name(type)) continue;
    if (k.compute_major > compute_major) continue;
    if (best == nullptr || k.compute_major > best->compute_major) best = &k;
  }
  return best;
}

RetargetLaw load_retarget_law(const std::string& path) {
  const Json json = read_json_file(path);
  const Place place{path, ""};
  require_object(json, place);
  if (json.size() != 2 || !json.contains("errors") || !json.contains("kernels") ||
      !json["kernels"].is_array()) {
    place.fail("other keys", "two keys: errors, and kernels, a list");
  }
  const auto fields = kernel_fields();
  RetargetLaw law;
  law.errors = read_errors(json["errors"], place / "errors");
  std::size_t number = 0;
  for (const Json& row : json["kernels"]) {
    LibraryKernel kernel;
    const Place at = place / ("kernels[" + std::to_string(number++) + "]");
    read_fields(row, at, std::span<const Field<LibraryKernel>>(fields), kernel);
    law.kernels.push_back(kernel);
  }
  return law;
}

std::string kernel_name(const LibraryKernel& kernel, int tile_m, int tile_n, Pass pass) {
  std::string name = kernel.name;
  replace(name, "{m}", std::to_string(tile_m));
  replace(name, "{n}", std::to_string(tile_n));
  replace(name, "{pass}",
          pass == Pass::forward          ? "fprop"
          : pass == Pass::input_gradient ? "dgrad"
                                         : "wgrad");
  return name;
}

}  // namespace tandem
