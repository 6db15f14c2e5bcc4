#include "models/kernel/classify/classify.h"

#include <algorithm>

#include "models/kernel/classify/search_text.h"

namespace tandem {
namespace {

bool matches(const SearchText& name, std::string_view pattern) {
  if (pattern.starts_with('^')) return name.text().starts_with(pattern.substr(1));
  return name.has(pattern);
}

// First row in [begin, end) whose pattern occurs; 0: none.
template <class Row>
std::uint16_t first_row(std::span<const Row> rows, const SearchText& text, std::size_t begin = 1,
                        std::size_t end = ~std::size_t{0}) {
  for (std::size_t i = begin; i < std::min(rows.size(), end); ++i) {
    if (matches(text, rows[i].pattern)) return static_cast<std::uint16_t>(i);
  }
  return 0;
}

Kind kind_of(const SearchText& name, std::string_view op) {
  for (const PatternRow& row : pattern_rows()) {
    if (matches(name, row.pattern) && op.find(row.op) != std::string_view::npos) return row.kind;
  }
  return Kind::unknown;
}

// Element type as C++ type names state it; the narrowest floating type wins, for kernels on half
// data mention float as their arithmetic.
DataType type_in(const SearchText& name) {
  if (name.has("complex<float>")) return DataType::complex64;
  if (name.has("BFloat16") || name.has("bfloat16")) return DataType::bf16;
  if (name.has("Half") || name.has("__half")) return DataType::fp16;
  if (name.has("float")) return DataType::fp32;
  if (name.has("double")) return DataType::fp64;
  if (name.has("bool")) return DataType::boolean;
  if (name.has("long")) return DataType::int64;
  if (name.has("int")) return DataType::int32;
  return DataType::unknown;
}

// Pointers of an elementwise kernel: the profiler and Nsight Compute print the array differently.
int operand_count(std::string_view name) {
  for (const std::string_view key :
       {"array<char*, ", "array<char *, ", "Array<char*, ", "Array<char *, "}) {
    if (const int n = number_after(name, key)) return n;
  }
  return 0;
}

// Lists of tensors that a multi-tensor kernel reads. Its functor states `<type, lists, lists read,
// result>`; fused optimizers state the lists alone and read them all. No number: one list.
int lists_read(std::string_view name) {
  const std::size_t functor = name.find("Functor<");
  if (functor == std::string_view::npos) return 1;
  int numbers[2] = {1, 0};
  std::size_t found = 0;
  std::size_t at = functor + std::string_view("Functor<").size();
  while (found < 2 && at < name.size()) {
    const std::size_t end = std::min(name.find_first_of(",>", at), name.size());
    const std::string_view argument = name.substr(at, end - at);
    const std::size_t digits = argument.find_first_not_of(' ');
    if (digits != std::string_view::npos && argument[digits] >= '1' && argument[digits] <= '9') {
      numbers[found++] = number_after(argument, argument.substr(0, digits));
    } else if (found > 0) {
      break;
    }
    if (end == name.size() || name[end] == '>') break;
    at = end + 1;
  }
  return found == 2 ? numbers[1] : numbers[0];
}

void classify_elementwise(const SearchText& name, KernelClass& out) {
  KernelTraits& t = out.traits;
  const std::size_t multi = first_multi_functor();
  const Loop loop = row_of(t).loop;
  if (loop == Loop::chunks) {
    t.functor = first_row(functor_rows(), name, multi);
    t.operands = static_cast<std::uint8_t>(lists_read(name.text()) + 1);
    return;
  }
  t.functor = first_row(functor_rows(), name, 1, multi);
  t.operands = static_cast<std::uint8_t>(operand_count(name.text()));
  if (loop == Loop::vectorized) {
    t.vector_width = static_cast<std::uint8_t>(number_after(name.text(), "elementwise_kernel<"));
  } else {
    t.vector_width = 1;
  }
  out.family = functor_rows()[t.functor].family;
}

// A channel by itself is no tensor product, whatever tile the name states. PyTorch's own kernels
// convert what they load to FP32. cuDNN's names may state no type: the operands do then.
void by_itself(const SearchText& name, DataType stated, KernelClass& out) {
  KernelTraits& t = out.traits;
  t.engine = Engine::simt;
  t.tile_m = t.tile_n = t.tile_k = 0;
  if (name.has("conv_depthwise")) t.data = out.math = DataType::fp32;
  if (stated == DataType::unknown && out.math == DataType::fp32) {
    t.data = out.math = DataType::unknown;
  }
}

// Sums of gradients, as for a bias, read what a kernel before them stored: their names list where
// it came from.
bool sums_gradients(const SearchText& name, const KernelClass& kernel) {
  return kernel.traits.kind == Kind::triton_reduction && name.has("_backward") && name.has("_sum");
}

}  // namespace

std::string_view bare_name(std::string_view name) {
  constexpr std::string_view prefix = "void ";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name;
}

const FunctorRow& functor_of(const KernelTraits& traits) { return functor_rows()[traits.functor]; }

KernelClass with_operand_type(KernelClass kernel, std::span<const TensorShape> tensors) {
  if (!row_of(kernel.traits).depthwise || kernel.math != DataType::unknown) return kernel;
  for (const TensorShape& t : tensors) {
    if (t.rank > 0 && element_bytes(t.type) > 0) kernel.traits.data = kernel.math = t.type;
    if (kernel.math != DataType::unknown) break;
  }
  return kernel;
}

KernelClass classify(std::string_view name, std::string_view op) {
  const SearchText text(bare_name(name));
  KernelClass out;
  out.traits.kind = kind_of(text, op);
  out.family = row_of(out.traits).family;
  out.traits.data = type_in(text);
  out.math = out.traits.data;
  const Loop loop = row_of(out.traits).loop;
  if (loop != Loop::none && loop != Loop::indexed) {  // carries a functor
    classify_elementwise(text, out);
  } else if (out.family == KernelFamily::gemm || out.family == KernelFamily::convolution ||
             out.family == KernelFamily::attention) {
    const DataType stated = out.traits.data;
    classify_matrix(text.text(), op, out);
    if (row_of(out.traits).depthwise) by_itself(text, stated, out);
  } else if (out.family == KernelFamily::triton && !sums_gradients(text, out)) {
    out.traits.fused = fused_operations(text.text(), out.traits.kind);
  }
  return out;
}

}  // namespace tandem
