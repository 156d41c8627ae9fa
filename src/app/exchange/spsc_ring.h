#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace spillway::app {

/// A bounded queue from one thread to one other. Neither waits: push says no when it is full, pop
/// when it is empty. Memory: the capacity (rounded up to a power of two) times sizeof(T).
template <typename T>
class SpscRing {
 public:
  explicit SpscRing(size_t capacity) : slots_(std::bit_ceil(capacity)) {}

  /// The producer's thread. On false `value` is untouched.
  bool push(T&& value) {
    const size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == slots_.size()) {
      return false;
    }
    slots_[tail & (slots_.size() - 1)] = std::move(value);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// The consumer's thread.
  std::optional<T> pop() {
    const size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) {
      return std::nullopt;
    }
    std::optional<T> value(std::move(slots_[head & (slots_.size() - 1)]));
    head_.store(head + 1, std::memory_order_release);
    return value;
  }

 private:
  std::vector<T> slots_;
  alignas(64) std::atomic<size_t> head_{0};
  alignas(64) std::atomic<size_t> tail_{0};
};

}  // namespace spillway::app
