// What a kernel is, read off its name: family, arithmetic, tile. Every rule is a row of a table.
#pragma once

#include <span>
#include <string_view>

#include "models/kernel/kinds.h"
#include "sim/core/named.h"

namespace tandem {

/// One rule: the first row whose pattern occurs in the kernel name decides. A leading '^' ties the
/// pattern to the start of the name (after `void `).
struct PatternRow {
  std::string_view pattern;
  Kind kind;
  std::string_view op = {};  // if given: must occur in the operation's name
};
/// All rules, in order. Names that none of them knows are of kind `unknown`.
std::span<const PatternRow> pattern_rows();

/// What an elementwise functor makes of its operands.
enum class FunctorResult : std::uint8_t {
  alike,       // of their type
  other_type,  // the same numbers of another type
  truth,       // truth values, a byte each
};

/// An elementwise functor: `pattern` occurs in the kernel's template arguments.
struct FunctorRow {
  std::string_view pattern;
  std::string_view name;  // key of the cost constants
  KernelFamily family;
  FunctorResult result = FunctorResult::alike;
};
std::span<const FunctorRow> functor_rows();
/// Functors of multi-tensor kernels start at this row; the ones before are elementwise.
std::size_t first_multi_functor();

/// What operations of one generated kernel compute in common.
enum class FusedGroup : std::uint8_t {
  error_function,
  random,
  logistic,
  tangent,
  exponent,
  statistics,
  root,
  hard,
  join,
  pool,
  angle,
  fill
};
constexpr std::size_t fused_groups = values_up_to(FusedGroup::fill);

/// Generated kernels in which an operation costs what its row says.
enum class FusedIn : std::uint8_t { all, pointwise, loops };

/// An operation in a generated kernel's name that costs more than a few instructions an element.
struct FusedRow {
  std::string_view pattern;  // as the name lists it
  std::string_view name;     // key of the cost constants
  FusedGroup group;
  FusedIn in = FusedIn::all;
  int row_results = 1;  // of a persistent reduction: largest and sum of a softmax, two sums
};
std::span<const FusedRow> fused_rows();
/// A bit for each row of fused_rows() that the name of a generated kernel lists, at most one a
/// group: what the group's operations have in common is computed once.
std::uint64_t fused_operations(std::string_view name, Kind kind);
/// Whether one of them makes a tensor out of nothing.
bool fills(std::uint64_t fused);
/// The most results of each row that one of them needs in a persistent reduction.
int row_results(std::uint64_t fused);

/// Kernel name without return type; what the patterns are matched against.
std::string_view bare_name(std::string_view name);

/// Slow (a table search): once per distinct name. `op` only decides what the name leaves open.
KernelClass classify(std::string_view name, std::string_view op = {});

/// The same class, of the type of the operation's tensors where the name states none (cuDNN's
/// depthwise kernels).
KernelClass with_operand_type(KernelClass kernel, std::span<const TensorShape> tensors);

/// The functor of a kernel; the first row of the table for those without.
const FunctorRow& functor_of(const KernelTraits& traits);

/// Fills the traits of a matrix kernel (GEMM or convolution): engine, tile, operand order, pass.
void classify_matrix(std::string_view name, std::string_view op, KernelClass& out);

}  // namespace tandem
