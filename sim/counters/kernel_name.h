// Kernel names in a form in which those of two profilers can be compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// Profilers print one kernel differently: Nsight Compute leaves out most namespaces and the types
/// of constants and prints T1 for deduced arguments; CUPTI leaves a name mangled that it cannot
/// read. What they agree on is the function's own name and the names and constants among its
/// template arguments.
struct KernelName {
  std::string base;                 // without namespaces, template and call arguments
  std::vector<std::string> tokens;  // distinct, sorted; no namespaces
  bool mangled = false;             // some tokens cannot be told from such a name
};

KernelName parse_kernel_name(std::string_view text);

/// Tokens in common / tokens of either (Jaccard), 0..1.
double similarity(const KernelName& a, const KernelName& b);

/// Same base name, and template arguments as equal as the printing lets them be, if both have any.
bool same_kernel(const KernelName& a, const KernelName& b);

}  // namespace tandem
