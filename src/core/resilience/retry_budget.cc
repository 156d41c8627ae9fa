#include "resilience/retry_budget.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace spillway::resilience {

namespace {

int64_t second_of(base::Instant instant) {
  const int64_t second =
      std::chrono::duration_cast<std::chrono::seconds>(instant.time_since_epoch()).count();
  return std::max<int64_t>(0, second);
}

}  // namespace

RetryBudget::Slot& RetryBudget::slot_at(base::Instant now) {
  newest_ = std::max(newest_, second_of(now));
  Slot& slot = slots_[static_cast<size_t>(newest_) % slots_.size()];
  if (slot.second != newest_) {
    slot = {.second = newest_};
  }
  return slot;
}

void RetryBudget::start(base::Instant now) { ++slot_at(now).starts; }

bool RetryBudget::take(base::Instant now) {
  Slot& current = slot_at(now);
  const auto length = static_cast<int64_t>(slots_.size());
  uint64_t starts = 0;
  uint64_t extra = 0;
  for (const Slot& slot : slots_) {
    if (slot.second > newest_ - length) {
      starts += slot.starts;
      extra += slot.extra;
    }
  }
  const double allowed = settings_.share * static_cast<double>(starts) +
                         static_cast<double>(settings_.reserve_per_s * slots_.size());
  if (static_cast<double>(extra + 1) > allowed) {
    return false;
  }
  ++current.extra;
  return true;
}

void RetryBudget::give_back(base::Instant taken) {
  const int64_t second = second_of(taken);
  Slot& slot = slots_[static_cast<size_t>(second) % slots_.size()];
  if (slot.second == second && slot.extra > 0) {
    --slot.extra;
  }
}

}  // namespace spillway::resilience
