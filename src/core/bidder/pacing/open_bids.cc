#include "bidder/pacing/open_bids.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "base/result.h"
#include "base/spin_lock.h"
#include "base/time.h"
#include "bidder/pacing/grant.h"

namespace spillway::bidder {

/// A ring of bids in order of arrival, and an index into it: open addressing over half-empty places
/// that hold ring position + 1, emptied by shifting back.
struct alignas(64) OpenBids::Stripe {
  base::SpinLock lock;
  size_t most = 0;
  size_t first = 0;
  size_t count = 0;
  size_t mask = 0;
  std::unique_ptr<Entry[]> ring;
  std::unique_ptr<uint32_t[]> index;

  void make(size_t most_bids) {
    most = most_bids;
    mask = std::bit_ceil(most * 2) - 1;
    ring = std::make_unique<Entry[]>(most);
    index = std::make_unique<uint32_t[]>(mask + 1);
  }

  [[nodiscard]] size_t home(uint64_t key) const { return (base::mix64(key) >> 8) & mask; }

  // Where the key is in the index, or the free place where it would go.
  [[nodiscard]] size_t place_of(uint64_t key) const {
    size_t at = home(key);
    while (index[at] != 0 && ring[index[at] - 1].bid.key != key) {
      at = (at + 1) & mask;
    }
    return at;
  }

  [[nodiscard]] Entry& oldest() { return ring[first]; }

  void drop_oldest() {
    size_t hole = place_of(oldest().bid.key);
    for (size_t at = (hole + 1) & mask; index[at] != 0; at = (at + 1) & mask) {
      const size_t from = home(ring[index[at] - 1].bid.key);
      // It may move back unless it would come before its home.
      if (((at - from) & mask) >= ((at - hole) & mask)) {
        index[hole] = index[at];
        hole = at;
      }
    }
    index[hole] = 0;
    first = first + 1 == most ? 0 : first + 1;
    --count;
  }
};

OpenBids::OpenBids(size_t most) : stripes_(new Stripe[kStripes]) {
  for (size_t i = 0; i < kStripes; ++i) {
    stripes_[i].make(std::max<size_t>(most / kStripes, 1));
  }
}

OpenBids::~OpenBids() = default;

OpenBids::Stripe& OpenBids::stripe_of(uint64_t key) const {
  return stripes_[base::mix64(key) % kStripes];
}

base::Result<void, ReserveErrc> OpenBids::add(const OpenBid& bid, State state, base::Instant now,
                                              Left& left) {
  Stripe& stripe = stripe_of(bid.key);
  const base::SpinSection section(stripe.lock);
  if (stripe.index[stripe.place_of(bid.key)] != 0) {
    return std::unexpected(ReserveErrc::kDuplicateBid);
  }
  if (stripe.count == stripe.most) {
    const Entry& oldest = stripe.oldest();
    if (oldest.state == State::kOpen) {
      if (oldest.bid.until > now) {
        return std::unexpected(ReserveErrc::kTooManyOpen);
      }
      left = oldest.bid;
      open_.fetch_sub(1, std::memory_order_relaxed);
    }
    stripe.drop_oldest();
  }
  const size_t at = (stripe.first + stripe.count) % stripe.most;
  stripe.ring[at] = {bid, state};
  stripe.index[stripe.place_of(bid.key)] = static_cast<uint32_t>(at + 1);
  ++stripe.count;
  if (state == State::kOpen) {
    open_.fetch_add(1, std::memory_order_relaxed);
  }
  return {};
}

std::optional<OpenBids::Found> OpenBids::mark(uint64_t key, State state) {
  Stripe& stripe = stripe_of(key);
  const base::SpinSection section(stripe.lock);
  const uint32_t at = stripe.index[stripe.place_of(key)];
  if (at == 0) {
    return std::nullopt;
  }
  Entry& entry = stripe.ring[at - 1];
  const Found found{entry.state, entry.bid};
  if (entry.state == State::kOpen) {
    open_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (entry.state != State::kWon) {
    entry.state = state;
  }
  return found;
}

std::optional<OpenBids::Found> OpenBids::pop_expired(base::Instant now) {
  const size_t start = next_.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < kStripes; ++i) {
    Stripe& stripe = stripes_[(start + i) % kStripes];
    const base::SpinSection section(stripe.lock);
    if (stripe.count == 0 || stripe.oldest().bid.until > now) {
      continue;
    }
    const Found found{stripe.oldest().state, stripe.oldest().bid};
    stripe.drop_oldest();
    if (found.was == State::kOpen) {
      open_.fetch_sub(1, std::memory_order_relaxed);
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace spillway::bidder
