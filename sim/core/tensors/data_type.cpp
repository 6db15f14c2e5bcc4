#include "sim/core/tensors/data_type.h"

#include <utility>

namespace tandem {
namespace {

struct TypeNames {
  DataType type;
  std::string_view name;
  std::string_view framework;
};

constexpr TypeNames type_names[] = {{DataType::unknown, "unknown", ""},
                                    {DataType::fp32, "fp32", "float"},
                                    {DataType::tf32, "tf32", ""},
                                    {DataType::fp16, "fp16", "c10::Half"},
                                    {DataType::bf16, "bf16", "c10::BFloat16"},
                                    {DataType::fp64, "fp64", "double"},
                                    {DataType::int64, "int64", "long int"},
                                    {DataType::int32, "int32", "int"},
                                    {DataType::int8, "int8", "unsigned char"},
                                    {DataType::boolean, "bool", "bool"},
                                    {DataType::complex64, "complex64", "c10::complex<float>"}};

// Other spellings in traces.
constexpr std::pair<std::string_view, DataType> further_names[] = {{"long", DataType::int64},
                                                                   {"signed char", DataType::int8}};

constexpr const TypeNames& row_of(DataType type) {
  return type_names[static_cast<std::size_t>(type)];
}
static_assert(row_of(DataType::complex64).type == DataType::complex64);

}  // namespace

std::string_view to_string(DataType type) { return row_of(type).name; }

DataType parse_framework_type(std::string_view name) {
  if (name.empty()) return DataType::unknown;
  for (const TypeNames& row : type_names) {
    if (row.framework == name) return row.type;
  }
  for (const auto& [text, type] : further_names) {
    if (text == name) return type;
  }
  return DataType::unknown;
}

}  // namespace tandem
