// Names of kernels as Nsight Systems demangles them.
#pragma once

#include <string>
#include <string_view>

namespace tandem::nsys {

/// The name as the Itanium ABI's demangler, and so PyTorch's profiler, writes template arguments
/// and unnamed namespaces: "kernel<(int)4, (bool)1, (unsigned long)3>" is "kernel<4, true, 3ul>".
/// Parameters stay as Nsight Systems writes them.
std::string kernel_name(std::string_view demangled);

}  // namespace tandem::nsys
