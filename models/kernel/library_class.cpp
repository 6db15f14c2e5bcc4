#include "models/kernel/library_class.h"

#include <limits>
#include <string>
#include <type_traits>

#include "models/kernel/classify/classify.h"
#include "models/kernel/kinds.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

using Column = Field<LibraryClass>;

template <class T>
T read_value(const Json& json, const Place& place) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) place.fail(describe_json(json), "true or false");
    return json.get<bool>();
  } else {
    constexpr int largest = std::numeric_limits<T>::max();
    int value = 0;
    read_json(json, place, Range::non_negative, value);
    if (value > largest) place.fail(describe_json(json), "at most " + std::to_string(largest));
    return static_cast<T>(value);
  }
}

/// The enumerator of which `name_of` gives the text; `count` of them.
template <class E, class NameOf>
E read_name(const Json& json, const Place& place, std::size_t count, NameOf name_of) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(name_of(static_cast<E>(i)));
  return static_cast<E>(read_choice(json, place, names));
}

DataType read_type(const Json& json, const Place& place) {
  return read_name<DataType>(json, place, static_cast<std::size_t>(DataType::boolean) + 1,
                             [](DataType type) { return to_string(type); });
}

template <class M>
Column trait(std::string_view name, std::string_view doc, M KernelTraits::*member) {
  return {std::string(name),
          std::is_same_v<M, bool> ? "bool" : "count",
          std::string(doc),
          [=](LibraryClass& out, const Json& json, const Place& place) {
            out.kernel.traits.*member = read_value<M>(json, place);
          },
          {}};
}

Column flag(std::string_view name, std::string_view doc, bool LibraryClass::*member) {
  return {std::string(name),
          "bool",
          std::string(doc),
          [=](LibraryClass& out, const Json& json, const Place& place) {
            out.*member = read_value<bool>(json, place);
          },
          {}};
}

void read_kind(LibraryClass& out, const Json& json, const Place& place) {
  const auto kind =
      read_name<Kind>(json, place, kind_rows().size(), [](Kind k) { return row_of(k).name; });
  out.kernel.traits.kind = kind;
  out.kernel.family = row_of(kind).family;
  out.kernel.traits.library_gemm = out.kernel.family == KernelFamily::gemm;
}

// The functor decides the family of an elementwise kernel. Names repeat; the family does not differ
// between rows of one name.
void read_functor(LibraryClass& out, const Json& json, const Place& place) {
  std::vector<std::string_view> names;
  for (const FunctorRow& row : functor_rows()) names.push_back(row.name);
  const std::size_t row = read_choice(json, place, names);
  out.kernel.traits.functor = static_cast<std::uint16_t>(row);
  if (row_of(out.kernel.traits).loop != Loop::chunks) {
    out.kernel.family = functor_rows()[row].family;
  }
}

void read_data(LibraryClass& out, const Json& json, const Place& place) {
  out.kernel.traits.data = out.kernel.math = read_type(json, place);
}

std::vector<Column> make_columns() {
  constexpr static std::string_view engines[] = {"none", "simt", "hmma", "gmma"};
  constexpr static std::string_view passes[] = {"forward", "input_gradient", "weight_gradient"};
  using T = KernelTraits;
  // In the order of reading: the kind and the type in memory set what others may change.
  return {{"kind", "name", "row of kinds.def", read_kind, {}},
          {"data", "name", "type of the elements in memory", read_data, {}},
          {"math",
           "name",
           "type of the arithmetic, where it is another",
           [](LibraryClass& out, const Json& json, const Place& place) {
             out.kernel.math = read_type(json, place);
           },
           {}},
          {"engine",
           "name",
           "what multiplies",
           [](LibraryClass& out, const Json& json, const Place& place) {
             out.kernel.traits.engine = static_cast<Engine>(read_choice(json, place, engines));
             out.kernel.traits.persistent = out.kernel.traits.engine == Engine::gmma;
           },
           {}},
          {"pass",
           "name",
           "product of a layer that it computes",
           [](LibraryClass& out, const Json& json, const Place& place) {
             set_pass(out.kernel, static_cast<Pass>(read_choice(json, place, passes)));
           },
           {}},
          {"functor", "name", "what an elementwise kernel computes", read_functor, {}},
          flag("any_type", "the type is the one asked for", &LibraryClass::any_type),
          flag("any_tile", "the tile is the one asked for", &LibraryClass::any_tile),
          trait("tile_m", "rows of a tile", &T::tile_m),
          trait("tile_n", "columns of a tile", &T::tile_n),
          trait("tile_k", "k of a step", &T::tile_k),
          trait("stages", "steps loaded ahead", &T::stages),
          trait("cluster_m", "blocks of a cluster along m", &T::cluster_m),
          trait("cluster_n", "blocks of a cluster along n", &T::cluster_n),
          trait("mma_k", "k of the tensor instruction", &T::mma_k),
          trait("load_bytes", "of one operand load of a thread", &T::load_bytes),
          trait("states_cluster", "whether the name states the cluster", &T::states_cluster),
          trait("a_k_major", "first operand contiguous along k", &T::a_k_major),
          trait("b_k_major", "second operand contiguous along k", &T::b_k_major),
          trait("vector_width", "elements a thread loads at once", &T::vector_width),
          trait("operands", "pointers of an elementwise kernel", &T::operands)};
}

}  // namespace

LibraryClass read_library_class(const Json& json, const Place& place) {
  static const std::vector<Column> columns = make_columns();
  require_object(json, place);
  for (const auto& [key, value] : json.items()) {
    find_field(std::span<const Column>(columns), key, place);
  }
  if (!json.contains("kind")) place.fail("no key \"kind\"", "a row of the kinds of kernels");
  LibraryClass out;
  for (const Column& column : columns) {
    if (json.contains(column.name)) column.read(out, json[column.name], place / column.name);
  }
  return out;
}

KernelClass filled_in(const LibraryClass& row, int tile_m, int tile_n, DataType type) {
  KernelClass out = row.kernel;
  if (row.any_tile) {
    out.traits.tile_m = static_cast<std::uint16_t>(tile_m);
    out.traits.tile_n = static_cast<std::uint16_t>(tile_n);
  }
  if (row.any_type) out.traits.data = out.math = type;
  return out;
}

}  // namespace tandem
