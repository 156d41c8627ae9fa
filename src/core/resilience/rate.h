#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace spillway::resilience {

/// A contract of calls per second as one word (GCRA: the theoretical arrival time of the next
/// call). In any stretch of T seconds at most qps·(T + 0.1) + 1 calls pass; asked without pause,
/// it passes qps·T within that. Intervals are whole nanoseconds, rounded up: never over contract.
///
/// Any thread; set_qps from one. One load and one compare-and-swap a call.
/// Source: ITU-T I.371, generic cell rate algorithm.
class QpsContract {
 public:
  /// 0: no contract, everything passes. A change keeps what was taken so far.
  void set_qps(uint32_t qps);

  [[nodiscard]] bool in_force() const { return interval_ns_.load(std::memory_order_relaxed) != 0; }

  [[nodiscard]] bool take(base::Instant now);
  /// Returns what take() took: the call was refused after it.
  void give_back();

 private:
  std::atomic<int64_t> next_ns_{0};
  std::atomic<int64_t> interval_ns_{0};
};

}  // namespace spillway::resilience
