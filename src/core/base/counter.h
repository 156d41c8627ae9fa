#pragma once

#include <atomic>
#include <cstdint>

namespace spillway::base {

/// A count with one writer and any number of readers. An increment is a plain load, add and store:
/// no locked instruction. Readers see some recent value. Sums over workers are made at scrape.
class Counter {
 public:
  void add(uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  void subtract(uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) - amount, std::memory_order_relaxed);
  }

  void set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }

  [[nodiscard]] uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace spillway::base
