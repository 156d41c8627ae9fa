#pragma once

#include <cstdint>

#include "base/time.h"
#include "resilience/outcome.h"
#include "resilience/proof.h"

namespace spillway::resilience {

/// How a round of probes stands.
struct ProbeRound {
  enum class Says : uint8_t { kUndecided, kGood, kBad };
  Says says = Says::kUndecided;
  bool sent = false;     ///< A probe went out since the round was armed.
  bool settled = false;  ///< One came back, with whatever outcome.
  uint32_t good = 0;     ///< Among the last settled ones.
  uint32_t bad = 0;
};

/// The right to send one probe at a time, and what the probes said, in one atomic word: epoch,
/// lease of the probe in flight, last results, verdict. A probe is admitted by one
/// compare-and-swap from "free, this epoch", so at every interleaving at most one is in flight, and
/// none of an epoch that has passed. A lease runs out by itself: a lost probe holds nothing.
///
/// take, settle from any thread; arm from the ticking thread.
class ProbeSlot {
 public:
  explicit ProbeSlot(base::Instant born) : born_(born) {}

  /// Opens the slot for `epoch` and forgets all results. Good when `good` of the last `of` settled
  /// were good, bad when `bad` of them were bad. Requires 1 <= good, bad <= of <= 8.
  void arm(uint32_t epoch, uint32_t good, uint32_t of, uint32_t bad);
  /// The same, and who arms judges: good, meaning decided, once `count` that were not neutral are
  /// settled. Requires 1 <= count <= 15.
  void arm_count(uint32_t epoch, uint32_t count);
  /// No probe is given for the epoch and those in flight are fenced.
  void disarm(uint32_t epoch);
  /// A new round in the same epoch, results kept.
  void rearm();

  /// The lease (never 0) of a probe that may take `lease`, or 0: busy, decided, another epoch.
  [[nodiscard]] uint32_t take(uint32_t epoch, base::Instant now, base::Duration lease);

  /// Ends the probe of this lease. Neutral returns the slot and says nothing. Ignored when the
  /// lease or the epoch has passed.
  void settle(uint32_t epoch, uint32_t lease, Verdict verdict);

  [[nodiscard]] ProbeRound round() const;

 private:
  [[nodiscard]] uint32_t ms_of(base::Instant at) const;

  base::Instant born_;
  Atomic<uint64_t> word_{0};
  Atomic<uint32_t> rule_{0};
};

}  // namespace spillway::resilience
