// What a kernel is, read off its name: family, arithmetic, tile. Every rule is a row of a table.
#pragma once

#include <span>
#include <string_view>

#include "models/kernel/kernel.h"

namespace tandem {

/// One rule: the first row whose pattern occurs in the kernel name decides. A leading '^' ties the
/// pattern to the start of the name (after `void `).
struct KindRow {
  std::string_view pattern;
  std::string_view kind;  // key of the cost constants; several rows may share one
  KernelFamily family;
  std::string_view op = {};  // if given: must occur in the operation's name
};
/// All rules, in order. Row 0 is the rule for names that no other row knows.
std::span<const KindRow> kind_rows();

/// An elementwise functor: `pattern` occurs in the kernel's template arguments.
struct FunctorRow {
  std::string_view pattern;
  std::string_view name;  // key of the cost constants
  KernelFamily family;
};
std::span<const FunctorRow> functor_rows();
/// Functors of multi-tensor kernels start at this row; the ones before are elementwise.
std::size_t first_multi_functor();

/// Kernel name without return type; what the patterns are matched against.
std::string_view bare_name(std::string_view name);

struct KernelClass {
  KernelFamily family = KernelFamily::generic;
  DataType math = DataType::unknown;
  KernelTraits traits;
};
/// Slow (a table search): once per distinct name. `op` only decides what the name leaves open.
KernelClass classify(std::string_view name, std::string_view op = {});

/// Key of the cost constants for a kernel; "unknown" if no row matched.
std::string_view kind_name(const KernelTraits& traits);
std::string_view functor_name(const KernelTraits& traits);
/// Kernels of matrix families that multiply nothing: sums of parts, transforms, set-up.
bool is_helper(const KernelTraits& traits);
/// Those of them that are a few steps of one block, whatever the size of the product.
bool is_set_up(const KernelTraits& traits);
std::string_view to_string(KernelFamily family);

/// Fills the traits of a matrix kernel (GEMM or convolution): engine, tile, operand order, pass.
void classify_matrix(std::string_view name, std::string_view op, KernelClass& out);

}  // namespace tandem
