#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/classic_rules.h"
#include "resilience/guard.h"

namespace spillway::resilience {

/// Recorded calls. A call may be failed and slow at once.
struct ClassicTally {
  uint32_t calls = 0;
  uint32_t failed = 0;
  uint32_t slow = 0;
  uint32_t over_p99 = 0;  ///< Took longer than the p99 ceiling.

  void add(const ClassicTally& other);
  void take(const ClassicTally& other);
  bool operator==(const ClassicTally&) const = default;
};

/// The window that decides: the last `size` calls, or the calls of this and the `size - 1` seconds
/// before it. A ring of buckets, one a call or one a second; the total is kept beside it.
///
/// One thread. Time that goes back lands in the newest second. Memory: 16 bytes a bucket. record
/// costs one bucket a call, and at most `size` after a pause.
class ClassicWindow {
 public:
  enum class Says : uint8_t { kTooFew, kFine, kTooBad };

  explicit ClassicWindow(const ClassicRules& rules);
  /// Of a half-open round: always a count window, of `half_open_calls`.
  static ClassicWindow half_open(const ClassicRules& rules);

  /// `times` calls like `call`, whose counts are 1 or 0 and `calls` 1.
  void record(base::Instant now, const ClassicTally& call, uint32_t times = 1);
  void advance(base::Instant now);

  /// At least min(min_calls, size of a count window) calls, then: share failed >= failure_rate, or
  /// share slow >= slow_rate, or more than 1 % over the p99 ceiling.
  [[nodiscard]] Says says(const ClassicRules& rules) const;

  [[nodiscard]] size_t size() const { return buckets_.size(); }

  /// Calls wanted before it says anything.
  [[nodiscard]] uint32_t min_calls() const { return min_calls_; }

  [[nodiscard]] const ClassicTally& total() const { return total_; }

  /// Sum of the buckets: always total().
  [[nodiscard]] ClassicTally sum() const;

 private:
  ClassicWindow(ClassicRules::Window kind, size_t size, uint32_t min_calls);
  void step();

  ClassicRules::Window kind_;
  uint32_t min_calls_;
  std::vector<ClassicTally> buckets_;
  size_t newest_ = 0;
  int64_t second_ = INT64_MIN;
  ClassicTally total_;
};

/// The wait before the probes of the `attempt`-th opening (from 1) since the circuit was closed.
[[nodiscard]] base::Duration classic_wait(const ClassicRules& rules, uint32_t attempt,
                                          base::Rng& rng);

/// A breaker that behaves as resilience4j does, event for event:
///
/// * closed: every recorded call may open it;
/// * open: refuses; the first call strictly after the wait makes it half-open and is its first;
/// * half_open: admits `half_open_calls`, refuses the rest, and decides on each recorded call once
///   min(min_calls, size of a count window, half_open_calls) are known: open again or closed.
///   `attempt` counts openings and starts anew only when it closes.
///
/// Where that behaviour is a known fault, ours differs:
///
/// * Time is monotonic, and time that goes back stands still (W1, W2): the original's time window
///   goes blind when the wall clock is set back.
/// * A call that began in an earlier state records nothing (B8, B9, B15, B17): there it counts in
///   whatever state is current, and may close a circuit whose probe still runs.
/// * A call that ends without a verdict gives its half-open place back, however it ends (B1, B3,
///   B18), and a place held for kLease is taken back (B2): there the circuit may stay half-open for
///   ever.
/// * Transitions never throw (B11); a time window has at least two seconds (W7).
///
/// One thread. The p99 ceiling is our addition. Source: shared notes on resilience 1.1.
class ClassicBreaker {
 public:
  static constexpr base::Duration kLease = std::chrono::minutes(5);

  enum class Result : uint8_t { kOk, kError, kSlow, kCancelled };

  struct Place {
    uint32_t epoch = 0;
    uint32_t number = 0;  ///< Of the half-open round.
  };

  ClassicBreaker(const ClassicRules& rules, uint64_t seed);

  /// A place for a call that begins now, or nothing: refused.
  [[nodiscard]] std::optional<Place> acquire(base::Instant now);

  /// Ends a call. kSlow is a success that is slow whatever it took; kOk and kError are slow when
  /// `took` is longer than `slow`; kCancelled is not recorded.
  void finish(base::Instant now, Place place, Result result, base::Duration took);

  [[nodiscard]] State state() const { return state_; }

  [[nodiscard]] const ClassicWindow& window() const { return window_; }

  [[nodiscard]] uint32_t attempt() const { return attempt_; }

 private:
  struct Held {
    uint32_t number = 0;
    base::Instant since{};
  };

  void open();
  void enter(State state);
  void judge();

  ClassicRules rules_;
  base::Rng rng_;
  base::Instant now_ = base::Instant::min();
  State state_ = State::kClosed;
  uint32_t epoch_ = 1;
  uint32_t attempt_ = 0;
  ClassicWindow window_;
  base::Instant open_until_{};
  std::vector<Held> held_;  ///< Half-open calls under way.
  uint32_t given_ = 0;      ///< Places of the round that are taken or spent.
  uint32_t next_number_ = 0;
};

}  // namespace spillway::resilience
