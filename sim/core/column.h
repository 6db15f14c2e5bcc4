// A growable array of plain values that stays contiguous and does not double its memory to grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace tandem {

/// Like std::vector<T> for trivially copyable T. Growth goes through realloc, which moves pages
/// instead of copying large blocks, so the peak resident set stays near the size of the data; that
/// is what keeps ingest within its memory bound.
template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  Column() = default;
  Column(const Column& other) { append(other.span()); }
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column other) noexcept {
    swap(other);
    return *this;
  }
  ~Column() { std::free(static_cast<void*>(data_)); }

  void swap(Column& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  void push_back(T value) {
    if (size_ == capacity_) reserve(std::max<std::size_t>(64, size_ + size_ / 2));
    data_[size_++] = value;
  }
  void append(std::span<const T> values) {
    const std::size_t size = size_ + values.size();
    if (size > capacity_) reserve(std::max(size, size_ + size_ / 2));
    std::copy(values.begin(), values.end(), data_ + size_);
    size_ += values.size();
  }
  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    T* grown = static_cast<T*>(std::realloc(static_cast<void*>(data_), n * sizeof(T)));
    if (grown == nullptr) throw std::bad_alloc();
    data_ = grown;
    capacity_ = n;
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<const T> span() const { return {data_, size_}; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace tandem
