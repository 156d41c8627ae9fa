#include "bidder/pacing/accounts.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/hash.h"

namespace spillway::bidder {

Accounts::Accounts(size_t most)
    : most_(most), mask_(std::bit_ceil(most + most / 2 + 1) - 1), slots_(new Slot[mask_ + 1]) {}

std::optional<uint32_t> Accounts::find(int64_t campaign) const {
  if (campaign <= 0) {
    return std::nullopt;
  }
  size_t at = base::mix64(static_cast<uint64_t>(campaign)) & mask_;
  for (size_t step = 0; step <= mask_; ++step) {
    const int64_t here = slots_[at].campaign.load(std::memory_order_acquire);
    if (here == campaign) {
      return static_cast<uint32_t>(at);
    }
    if (here == kNever) {
      return std::nullopt;
    }
    at = (at + 1) & mask_;
  }
  return std::nullopt;
}

std::optional<uint32_t> Accounts::add(int64_t campaign) {
  if (const auto found = find(campaign)) {
    return found;
  }
  if (campaign <= 0 || size() >= most_) {
    return std::nullopt;
  }
  size_t at = base::mix64(static_cast<uint64_t>(campaign)) & mask_;
  while (slots_[at].campaign.load(std::memory_order_relaxed) > 0) {
    at = (at + 1) & mask_;
  }
  slots_[at].campaign.store(campaign, std::memory_order_release);
  ++size_;
  return static_cast<uint32_t>(at);
}

}  // namespace spillway::bidder
