// An operation that more than one what-if has to tell from others.
#pragma once

#include <string_view>

namespace tandem {

/// Reads all items, leaves a few numbers per channel.
inline constexpr std::string_view channel_statistics_op = "aten::batch_norm_stats";

}  // namespace tandem
