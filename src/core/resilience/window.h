#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "resilience/proof.h"

namespace spillway::resilience {

/// Settled calls of some stretch of time. Neutral outcomes are not in it.
struct Tally {
  uint64_t good = 0;
  uint64_t bad = 0;
  uint64_t overload = 0;
  /// Most bad and overload calls settled at one time (within 200 ms), and most resets.
  uint64_t burst = 0;
  uint64_t reset_burst = 0;

  void add(const Tally& other) {
    good += other.good;
    bad += other.bad;
    overload += other.overload;
    burst = std::max(burst, other.burst);
    reset_burst = std::max(reset_burst, other.reset_burst);
  }

  [[nodiscard]] bool empty() const { return good + bad + overload == 0; }
};

/// What a tally says about health.
struct Evidence {
  uint64_t calls = 0;   ///< Blamed calls: good ones and bad ones.
  uint64_t bad = 0;     ///< Bad ones; overload beyond half of the calls is in here.
  bool spread = false;  ///< At least two bad calls lie outside the largest burst.

  [[nodiscard]] double bad_ratio() const {
    return calls == 0 ? 0.0 : static_cast<double>(bad) / static_cast<double>(calls);
  }
};

/// One burst of resets counts once; overload counts only beyond half of all calls.
[[nodiscard]] constexpr Evidence evidence_of(const Tally& tally) {
  const uint64_t repeats = tally.reset_burst > 1 ? tally.reset_burst - 1 : 0;
  const uint64_t bad = tally.bad - std::min(tally.bad, repeats);
  const uint64_t half = (tally.good + bad + tally.overload) / 2;
  const uint64_t excess = tally.overload > half ? tally.overload - half : 0;
  return Evidence{.calls = tally.good + bad + excess,
                  .bad = bad + excess,
                  .spread = tally.bad + tally.overload >= tally.burst + 2};
}

/// A sliding sum over the last `Buckets` buckets of `width`, keyed on monotonic time. Time that
/// goes back lands in the newest bucket; a jump forward empties what it skipped.
///
/// One thread. Fixed memory. advance() costs at most `Buckets` steps whatever the jump.
template <size_t Buckets>
class Ring {
  static_assert(Buckets >= 2);

 public:
  explicit Ring(base::Duration width) : width_(width) {}

  /// Moves to `now`; returns the sum of what slid out.
  Tally advance(base::Instant now) {
    Tally gone;
    const int64_t index = now.time_since_epoch() / width_;
    if (!started_) {
      started_ = true;
      head_ = index;
    }
    const int64_t first = std::max(head_ + 1, index - static_cast<int64_t>(Buckets) + 1);
    for (int64_t i = first; i <= index; ++i) {
      gone.add(slot(i));
      slot(i) = SPILLWAY_PLANTED(5) ? slot(i) : Tally{};
    }
    head_ = std::max(head_, index);
    return gone;
  }

  /// Adds to the newest bucket: call advance first.
  void add(const Tally& tally) { slot(head_).add(tally); }

  [[nodiscard]] Tally sum() const {
    Tally total;
    for (const Tally& bucket : buckets_) {
      total.add(bucket);
    }
    return total;
  }

  void clear() { buckets_ = {}; }

 private:
  Tally& slot(int64_t index) {
    const auto n = static_cast<int64_t>(Buckets);
    return buckets_[static_cast<size_t>((index % n + n) % n)];
  }

  base::Duration width_;
  int64_t head_ = 0;
  bool started_ = false;
  std::array<Tally, Buckets> buckets_{};
};

}  // namespace spillway::resilience
