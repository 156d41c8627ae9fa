#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resilience/problem.h"

namespace spillway::resilience {

/// How much a request matters; the last is shed first. Source: the classes of Beyer et al., "Site
/// Reliability Engineering", 2016, chapter 21.
enum class Criticality : uint8_t { kCriticalPlus, kCritical, kSheddablePlus, kSheddable };

inline constexpr size_t kCriticalities = 4;

/// What becomes of a request. Level 1: a cheap answer after it was read (fallback). Level 2: a
/// canned answer at once.
enum class Shed : uint8_t { kAdmit, kLevel1, kLevel2 };

enum class ShedReason : uint8_t {
  kNone,           ///< Admitted.
  kInFlight,       ///< The level's limit of requests in flight.
  kQueueAge,       ///< The level's limit of the time a request has waited.
  kStandingQueue,  ///< The queue has not been short for an interval.
};

inline constexpr size_t kShedReasons = 4;

/// snake_case name, as in metrics.
[[nodiscard]] std::string_view to_string(Criticality criticality);
[[nodiscard]] std::string_view to_string(ShedReason reason);

struct ShedSettings {
  /// Queue age that is no concern: nothing younger is shed for a standing queue. Larger: longer
  /// queues under overload. [100 us, 1 s].
  base::Duration target = std::chrono::milliseconds(5);
  /// A queue that was older than `target` throughout it is a standing one. Larger: longer bursts
  /// pass, overload is seen later. [2 · target, 10 s].
  base::Duration interval = std::chrono::milliseconds(100);

  /// Hard limits of a level for the first class; the others have 90, 80 and 70 % of them.
  struct Limits {
    uint32_t in_flight = 0;      ///< Larger: more memory, later answers. [1, 1 000 000].
    base::Duration queue_age{};  ///< Larger: work that comes too late. [target, 60 s].
  };

  Limits level1{.in_flight = 2000, .queue_age = std::chrono::milliseconds(30)};
  Limits level2{.in_flight = 4000, .queue_age = std::chrono::milliseconds(80)};  ///< >= level 1's.
};

[[nodiscard]] std::vector<Problem> validate(const ShedSettings& settings);

/// Whether a worker takes a request on: hard limits, and a standing queue found as CoDel finds it.
///
/// The least queue age of a window of interval / sqrt(n) is above `target`: n rises by 1 (up to
/// 16). It is not: n falls by a quarter; at 0 shedding has ended. While n > 0 a request of class c
/// (0 … 3) is shed
///
///     when its queue age > target + (4 − c) · interval / (16 · sqrt(n))
///     at level 1 while n < 8, at level 2 from then on (half a second into a standing queue)
///
/// so the age of the queue itself says how much must go: the last class first, the next one only
/// when the queue grows although all of the last are shed. The queue stays near target + 4/16 ·
/// interval / sqrt(n) at most (with the defaults 6.6 … 11.3 ms once n is 16), bursts shorter than
/// `interval` pass whole, and a request younger than `target` is never shed but by a hard limit.
/// Level 1 costs work, so it cannot be the answer to an overload that lasts.
///
/// CoDel's own spacing of single drops, made for senders that slow down, would take 20 s to find
/// the share of an open load of 2000 a second; here n only says how firm the answer is. A queue
/// found empty has the age 0.
///
/// One thread: one a worker. 200 bytes, no allocation, no division or root but once a window. Time
/// going back changes nothing. Source: Nichols and Jacobson, RFC 8289.
class Shedder {
 public:
  /// `settings` are sound (validate).
  explicit Shedder(const ShedSettings& settings) { set(settings); }

  /// Replaces the settings; what was seen stays.
  void set(const ShedSettings& settings);

  struct Decision {
    Shed shed = Shed::kAdmit;
    ShedReason reason = ShedReason::kNone;
  };

  /// The next request of the queue, in its order. `queue_age`: how long it has waited until `now`;
  /// `in_flight`: requests this worker has admitted and not answered.
  Decision decide(base::Instant now, base::Duration queue_age, uint32_t in_flight,
                  Criticality criticality);

  using Decisions = std::array<Decision, kCriticalities>;

  /// The same for a request whose class is not known yet: what becomes of it, by class. note() must
  /// follow.
  Decisions decide_for_all(base::Instant now, base::Duration queue_age, uint32_t in_flight);

  /// The decision that was followed, for counters() and level().
  void note(Criticality criticality, const Decision& decision);

  /// The highest level given in this window or the one before it: for those who add load (hedges).
  [[nodiscard]] Shed level() const { return std::max(level_, level_before_); }

  /// n of the law; 0: no standing queue.
  [[nodiscard]] uint32_t firmness() const { return n_; }

  struct Counters {
    std::array<uint64_t, kCriticalities> admitted{};
    /// By class, level (1, 2) and reason.
    std::array<std::array<std::array<uint64_t, kShedReasons>, 2>, kCriticalities> shed{};
  };

  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  void observe(base::Instant now, base::Duration queue_age);
  void close_windows(base::Instant now);
  void set_law();
  [[nodiscard]] Decision judge(base::Duration queue_age, uint32_t in_flight, size_t rank) const;

  ShedSettings settings_;
  Counters counters_;
  base::Instant window_start_{};
  base::Instant last_{};
  base::Duration window_{};
  base::Duration slack_{};
  base::Duration least_ = base::Duration::max();
  uint32_t n_ = 0;
  Shed level_ = Shed::kAdmit;
  Shed level_before_ = Shed::kAdmit;
};

}  // namespace spillway::resilience
