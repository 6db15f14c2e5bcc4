// Values that are computed once for each key, by whichever thread asks first.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace tandem {

/// May be asked from several threads; those that ask for a value in the making wait for it.
template <class Key, class Value>
class OnceMap {
 public:
  /// The value of `key`; `make()` is called if nobody has asked before. What it throws is thrown,
  /// and the next one who asks tries again.
  template <class Make>
  const Value& of(const Key& key, Make&& make) {
    Entry& entry = entry_of(key);
    // In a loop of make() this thread takes up nothing that waits for what it computes:
    // for_each_index() sees to that.
    std::call_once(entry.once, [&] { entry.value = make(); });
    return entry.value;
  }

 private:
  struct Entry {
    std::once_flag once;
    Value value{};
  };
  Entry& entry_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Entry>& slot = entries_[key];
    if (!slot) slot = std::make_unique<Entry>();
    return *slot;
  }

  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Entry>> entries_;
};

}  // namespace tandem
