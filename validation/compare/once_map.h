// Values that are computed once for each key, by whichever thread asks first.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace tandem {

/// A value that the first thread to ask makes.
template <class Value>
class Once {
 public:
  /// What `make()` throws is thrown, and the next one who asks tries again.
  template <class Make>
  const Value& of(Make&& make) {
    // In a loop of make() this thread takes up nothing that waits for what it computes:
    // for_each_index() sees to that.
    std::call_once(flag_, [&] { value_ = make(); });
    return value_;
  }

 private:
  std::once_flag flag_;
  Value value_{};
};

/// May be asked from several threads; those that ask for a value in the making wait for it.
template <class Key, class Value>
class OnceMap {
 public:
  /// The value of `key`; `make()` is called if nobody has asked before. What it throws is thrown,
  /// and the next one who asks tries again.
  template <class Make>
  const Value& of(const Key& key, Make&& make) {
    return entry_of(key).of(make);
  }

 private:
  Once<Value>& entry_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Once<Value>>& slot = entries_[key];
    if (!slot) slot = std::make_unique<Once<Value>>();
    return *slot;
  }

  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Once<Value>>> entries_;
};

}  // namespace tandem
