// Which annotations say that the program waits for its input.
#pragma once

#include <string_view>

namespace tandem {

/// `torch.utils.data.DataLoader`: "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__".
inline bool is_input_mark(std::string_view annotation) {
  return annotation.starts_with("enumerate(DataLoader)#") ||
         annotation.starts_with("enumerate(IterableDataset)#");
}

}  // namespace tandem
