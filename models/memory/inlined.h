// Which results of generated code TorchInductor gives no buffer of their own.
#pragma once

#include <cstddef>

#include "models/memory/compiled_values.h"

namespace tandem {

/// Buffers that a result may take if it is to be computed again for each of several readers
/// (realize_reads_threshold of torch/_inductor/config.py, TorchInductor 2.11).
constexpr std::size_t most_reads_again = 4;
/// Buffers that any result may take (realize_acc_reads_threshold).
constexpr std::size_t most_reads_at_all = 8;

/// Sets `inlined` and `wide` of the forward pass's values; what is saved for the backward pass is
/// known already. What is computed element by element is computed again for each reader, unless a
/// library kernel, another pass or nobody reads it, several read it and it takes more than four
/// buffers, or it takes more than eight (TorchInductor 2.11, torch/_inductor/ir.py:
/// StorageBox.should_realize_on_reuse, has_exceeded_max_reads). The backward pass is left alone:
/// how long it carries the parts of sums of gradients, no rule here tells.
void find_inlined(GraphValues& graph);

}  // namespace tandem
