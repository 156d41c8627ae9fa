#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/spin_lock.h"
#include "base/time.h"
#include "bidder/pacing/grant.h"

namespace spillway::bidder {

/// A bid that went out, and the money that is open for it.
struct OpenBid {
  uint64_t key = 0;
  int64_t campaign = 0;
  uint32_t account = 0;  ///< Its place in Accounts, while the money is open.
  int64_t day = 0;
  int64_t amount = 0;
  base::Instant until = {};
};

/// Bids that wait for a notice, and those that had one lately, by key: a striped table of fixed
/// size. Bids leave in the order in which they came, when their time is over. Any thread.
class OpenBids {
 public:
  enum class State : uint8_t { kOpen, kWon, kLost };

  explicit OpenBids(size_t most);
  OpenBids(const OpenBids&) = delete;
  OpenBids& operator=(const OpenBids&) = delete;
  ~OpenBids();

  /// A bid that had to leave for a new one: what it had open is to be given back.
  using Left = std::optional<OpenBid>;

  /// Takes a bid. kDuplicateBid or kTooManyOpen when not. When its stripe is full, the oldest bid
  /// makes room if its time is over or it had its notice; `left` is that bid if it was still open.
  [[nodiscard]] base::Result<void, ReserveErrc> add(const OpenBid& bid, State state,
                                                    base::Instant now, Left& left);

  struct Found {
    State was = State::kOpen;
    OpenBid bid;
  };

  /// Marks the bid of that key won or lost, and says what it was. An open bid becomes either; a
  /// lost one may be won; a won one stays so. nullopt: no such bid.
  [[nodiscard]] std::optional<Found> mark(uint64_t key, State state);

  /// Takes out the oldest bid of some stripe whose time is over. nullopt: none, for now.
  [[nodiscard]] std::optional<Found> pop_expired(base::Instant now);

  /// Bids that wait for a notice.
  [[nodiscard]] size_t open() const { return open_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    OpenBid bid;
    State state = State::kOpen;
  };

  struct Stripe;

  [[nodiscard]] Stripe& stripe_of(uint64_t key) const;

  static constexpr size_t kStripes = 64;

  std::unique_ptr<Stripe[]> stripes_;
  std::atomic<size_t> open_{0};
  std::atomic<size_t> next_{0};  ///< Where pop_expired() looks first.
};

}  // namespace spillway::bidder
