#include "resilience/rate.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace spillway::resilience {

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kBurstNs = kSecondNs / 10;

}  // namespace

void QpsContract::set_qps(uint32_t qps) {
  interval_ns_.store(qps == 0 ? 0 : (kSecondNs + qps - 1) / qps, std::memory_order_relaxed);
}

bool QpsContract::take(base::Instant now) {
  const int64_t interval = interval_ns_.load(std::memory_order_relaxed);
  if (interval == 0) {
    return true;
  }
  const int64_t now_ns = now.time_since_epoch().count();
  int64_t next = next_ns_.load(std::memory_order_relaxed);
  while (true) {
    const int64_t from = std::max(next, now_ns);
    if (from - now_ns > std::max<int64_t>(0, kBurstNs - interval)) {
      return false;
    }
    if (next_ns_.compare_exchange_weak(next, from + interval, std::memory_order_relaxed)) {
      return true;
    }
  }
}

void QpsContract::give_back() {
  next_ns_.fetch_sub(interval_ns_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace spillway::resilience
