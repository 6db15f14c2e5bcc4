// The values that were asked for last, each computed by whichever thread asks first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

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
    const std::shared_ptr<Entry> entry = entry_of(key);
    std::call_once(entry->once, [&] { entry->value = make(); });
    return {entry, &entry->value};
  }

 private:
  struct Entry {
    std::once_flag once;
    Value value{};
  };
  std::shared_ptr<Entry> entry_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto kept = std::find_if(entries_.begin(), entries_.end(),
                                   [&](const auto& entry) { return entry.first == key; });
    if (kept != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, kept);
    } else {
      entries_.emplace_front(key, std::make_shared<Entry>());
      if (entries_.size() > most_) entries_.pop_back();
    }
    return entries_.front().second;
  }

  std::size_t most_;
  std::mutex mutex_;
  std::list<std::pair<Key, std::shared_ptr<Entry>>> entries_;  // the last one asked for first
};

}  // namespace tandem
