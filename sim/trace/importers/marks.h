// What annotations of libraries say that a thread does.
#pragma once

#include <string_view>

#include "sim/trace/trace.h"

namespace tandem {

/// `torch.utils.data.DataLoader`: "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__".
inline bool is_input_mark(std::string_view annotation) {
  return annotation.starts_with("enumerate(DataLoader)#") ||
         annotation.starts_with("enumerate(IterableDataset)#");
}

/// PyTorch's fully sharded data parallelism: "FSDP::all_gather (layers.3)" of fully_shard, and
/// "FullyShardedDataParallel._pre_forward" of the module before it, whose ".forward" is all of the
/// model.
inline bool is_sharding_mark(std::string_view annotation) {
  return annotation.starts_with("FSDP::") || annotation.starts_with("FullyShardedDataParallel._");
}

inline AnnotationMark mark_of(std::string_view annotation) {
  if (is_input_mark(annotation)) return AnnotationMark::input;
  return is_sharding_mark(annotation) ? AnnotationMark::sharding : AnnotationMark::none;
}

}  // namespace tandem
