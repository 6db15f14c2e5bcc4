// The values that were asked for last, each computed by whichever thread asks first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "validation/compare/once_map.h"

namespace tandem {

/// Like OnceMap, for values too large to keep all: the `most` keys asked for last are kept, and
/// what a caller holds lives on. May be asked from several threads.
template <class Key, class Value>
class RecentMap {
 public:
  explicit RecentMap(std::size_t most) : most_(most) {}

  /// The value of `key`; `make()` is called if it is not kept. What it throws is thrown, and the
  /// next one who asks tries again.
  template <class Make>
  std::shared_ptr<const Value> of(const Key& key, Make&& make) {
    const std::shared_ptr<Once<Value>> entry = entry_of(key);
    return {entry, &entry->of(make)};
  }

 private:
  std::shared_ptr<Once<Value>> entry_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto kept = std::find_if(entries_.begin(), entries_.end(),
                                   [&](const auto& entry) { return entry.first == key; });
    if (kept != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, kept);
    } else {
      entries_.emplace_front(key, std::make_shared<Once<Value>>());
      if (entries_.size() > most_) entries_.pop_back();
    }
    return entries_.front().second;
  }

  std::size_t most_;
  std::mutex mutex_;
  std::list<std::pair<Key, std::shared_ptr<Once<Value>>>> entries_;  // the last one asked for first
};

}  // namespace tandem
