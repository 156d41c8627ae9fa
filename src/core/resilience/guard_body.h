#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resilience/breaker.h"
#include "resilience/guard.h"
#include "resilience/latency.h"
#include "resilience/limiter.h"
#include "resilience/limiter_window.h"
#include "resilience/log_buckets.h"
#include "resilience/probe_slot.h"
#include "resilience/proof.h"
#include "resilience/rate.h"
#include "resilience/shard.h"
#include "resilience/slots.h"
#include "resilience/state_word.h"

namespace spillway::resilience {

/// What the ticking thread publishes to the call path: one line, read by every call, written at
/// ticks.
struct alignas(64) Published {
  Atomic<uint64_t> word{0};               ///< StateWord.
  std::atomic<int64_t> skip_below_ns{0};  ///< Remaining-time rule; 0: off.
  std::atomic<int64_t> fair_ns{0};
  std::atomic<int64_t> slow_p90_ns{0};  ///< 1.5 × baseline p90.
  std::atomic<int64_t> slow_floor_ns{0};
  std::atomic<int64_t> slow_ceiling_ns{0};
  std::atomic<uint32_t> limit{0};    ///< Of calls in flight; 0: none.
  std::atomic<bool> has_qps{false};  ///< Some contract is in force: the leaf's or the shared one.
  /// A call that begins with at most limit / 2^this in flight is uncongested.
  std::atomic<uint8_t> uncongested_shift{1};
  Shard* shards = nullptr;  ///< By worker; set once.
};

static_assert(sizeof(Published) == 64);

/// Whether and how a call goes.
struct Decision {
  bool refused = false;
  Refusal refusal = Refusal::kCircuitOpen;
  Admitted how = Admitted::kNormal;
  bool slot = false;
  bool uncongested = false;
  bool token = false;
  uint32_t lease = 0;
};

/// What the ticking thread has read of a shard so far.
struct Read {
  uint64_t good = 0;
  uint64_t bad = 0;
  uint64_t overload = 0;
  uint64_t resets = 0;
  uint64_t slow = 0;
  uint64_t slow_only = 0;
  uint64_t over_p99 = 0;
  uint64_t answers = 0;
  uint64_t silent = 0;
  uint64_t timeouts = 0;
  uint64_t overloads = 0;
  uint64_t concurrency_refused = 0;
  std::array<uint32_t, LogBuckets::kCount> uncongested{};
  std::array<uint32_t, LogBuckets::kCount> latencies{};
  std::array<uint32_t, LogBuckets::kCount> offered{};
};

struct Guard::Body {
  Body(std::string leaf, const Settings& settings, uint32_t workers, uint64_t seed,
       base::Instant now, QpsContract* shared);

  // Call path: guard.cc.
  [[gnu::noinline]] Decision decide(StateWord word, uint32_t worker, const Attempt& attempt);
  Decision pass_gates(uint32_t worker, const Attempt& attempt, bool may_explore);
  [[gnu::noinline]] bool explore(const Attempt& attempt);
  bool take_slot(Decision& made, uint32_t worker, uint32_t limit);
  bool take_tokens(base::Instant now);
  void give_back_tokens();
  void record(Shard& shard, const Terms& terms, base::Instant started, base::Instant now,
              Outcome outcome);
  [[gnu::noinline]] void record_trouble(Shard& shard, const Terms& terms, base::Instant started,
                                        base::Instant now, Outcome outcome);

  // Tick: guard_tick.cc.
  Fold fold_calls();
  void fold_overdue(Fold& fold);
  void fold_latencies(base::Instant now);
  void fold_latencies_of(const Shard& shard, Read& read);
  void watch_in_flight();
  void fold_limiter(base::Instant now);
  void make_limiter();
  void publish_limit();
  void publish_settings();
  void publish_contracts();
  void publish_terms();
  void publish_word();
  void arm_probes();
  [[nodiscard]] Transition transition(const Move& move, base::Instant now) const;
  void moved(const Move& move, base::Instant now, std::vector<Transition>& out);

  Published published;
  alignas(64) Slots slots;  ///< Of the limit.
  alignas(64) QpsContract qps;
  alignas(64) ProbeSlot probes;
  std::atomic<int64_t> probe_needs_ns{0};  ///< A probe is offered at least this.
  /// Slow answers that took no longer are good ones over the p99 ceiling; negative: none are.
  std::atomic<int64_t> only_over_p99_ns{-1};
  std::atomic<int64_t> limit_judged_ns{0};  ///< When the limiter was last shown a window.
  std::atomic<bool> records_probes{false};  ///< A probe counts in the window too: classic rounds.
  std::atomic<int64_t> explored_ns;         ///< When the time-driven exploration last went.
  std::vector<Shard> shards;
  QpsContract* const shared_qps;  ///< Of the dependency; may be null.
  const uint64_t leaf_hash;
  const std::string key;

  // For peek, from any thread.
  std::atomic<int64_t> p50_ns{0};
  std::atomic<int64_t> p90_ns{0};
  std::atomic<int64_t> median_offered_ns{0};
  std::atomic<double> usual_bad{0};

  // The ticking thread's own.
  Breaker breaker;
  LatencyBaseline baseline;
  std::unique_ptr<Limiter> limiter;  ///< Null: the cap alone.
  LimiterSettings::Algorithm limiter_kind = LimiterSettings::Algorithm::kNone;
  LimiterWindowBuilder limiter_window;
  std::vector<Read> reads;
  std::vector<BadCall> bads;
  std::vector<BadCall> overdue;
  base::Instant last_tick;
  base::Instant next_latency_fold;
};

}  // namespace spillway::resilience
