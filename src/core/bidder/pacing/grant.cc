#include "bidder/pacing/grant.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/result.h"
#include "base/time.h"

namespace spillway::bidder {

std::string_view to_string(ReserveErrc error) {
  constexpr std::array<std::string_view, kReserveErrcs> kNames{
      "unknown_campaign", "exhausted", "too_many_open", "duplicate_bid", "old_day", "bad_amount"};
  return kNames[static_cast<size_t>(error)];
}

std::string_view to_string(SettleOutcome outcome) {
  constexpr std::array<std::string_view, kSettleOutcomes> kNames{"settled", "overcharged",
                                                                 "duplicate", "late", "unknown"};
  return kNames[static_cast<size_t>(outcome)];
}

base::Result<void, ReserveErrc> Reservation::submit(uint64_t key, base::Instant now) {
  SPILLWAY_ASSERT(held());
  auto submitted = grant_->submit(account_, day_, amount_, key, now);
  if (submitted) {
    grant_ = nullptr;
  } else {
    cancel();
  }
  return submitted;
}

}  // namespace spillway::bidder
