#include "models/kernel/classify/stated_types.h"

#include "models/kernel/classify/search_text.h"

namespace tandem {
namespace {

enum class Tells : std::uint8_t {
  both,     // what the row says
  written,  // types of operands are arguments of the launch; the name has that of the arithmetic
  nothing,  // the kernel moves bytes, whatever they are
};
/// Kernels that read other types than their names state, by a part of these; the first decides.
struct NameRow {
  std::string_view pattern;
  Tells tells;
  DataType read = DataType::unknown, written = DataType::unknown;
};
constexpr NameRow name_rows[] = {
    {"bfloat16_copy_kernel", Tells::both, DataType::fp32, DataType::bf16},
    {"float16_copy_kernel", Tells::both, DataType::fp32, DataType::fp16},
    {"LoadWithCast", Tells::written},
    {"gpu_kernel_impl<", Tells::written},
    {"OpaqueType<", Tells::nothing},
    {"(char*", Tells::nothing},
    {"(char *", Tells::nothing},
    {"ncclDev", Tells::nothing},
    {"FillFunctor<unsigned char>", Tells::both, DataType::int8, DataType::int8},
    {"c10::BFloat16", Tells::both, DataType::bf16, DataType::bf16},
    {"c10::Half", Tells::both, DataType::fp16, DataType::fp16},
};

}  // namespace

StatedTypes stated_types(std::string_view name, const KernelClass& kernel) {
  const DataType stated = kernel.traits.data;
  const SearchText text(name);
  for (const NameRow& row : name_rows) {
    if (!text.has(row.pattern)) continue;
    switch (row.tells) {
      case Tells::both: return {row.read, row.written, row.read != row.written};
      case Tells::written: return {DataType::unknown, stated, true};
      case Tells::nothing: return {};
    }
  }
  return {stated, stated, false};
}

}  // namespace tandem
