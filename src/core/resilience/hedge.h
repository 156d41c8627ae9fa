#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "resilience/log_buckets.h"
#include "resilience/outcome.h"
#include "resilience/problem.h"
#include "resilience/retry_budget.h"

namespace spillway::resilience {

/// Why a call goes without a second leg: the first of these that holds.
enum class HedgeBlock : uint8_t {
  kOff,             ///< Kill switch.
  kProbe,           ///< A probe is asked once.
  kUnknownLatency,  ///< Fewer than 50 latencies seen.
  kTooLate,         ///< Less time left than the key's p50.
  kAnswered,        ///< The call is over, or its second leg was begun before.
  kCircuit,         ///< A breaker of the two is not closed.
  kShed,            ///< This worker sheds load.
  kPushback,        ///< The dependency asked for less, not long ago.
  kNoOtherHost,     ///< Only the same host could be asked again.
  kBudget,          ///< RetryBudget says no.
};

inline constexpr size_t kHedgeBlocks = 10;

/// snake_case name, as in metrics.
[[nodiscard]] std::string_view to_string(HedgeBlock block);

/// What an operator may tune of the hedges of one key. Hedge only calls that may be made twice.
struct HedgeSettings {
  bool enabled = true;  ///< The kill switch.
  /// Share 0.05 of starts. Larger: more load, above all on a dependency that slows down.
  RetryBudget::Settings budget{.share = 0.05, .reserve_per_s = 1};
  /// No hedge sooner than this. Larger: later help, fewer hedges. [100 us, 10 s].
  base::Duration floor = std::chrono::milliseconds(1);
  /// Of the latency: the first leg is given this long. Smaller: hedges want more than the budget
  /// has, and it decides by chance who gets one. [0.5, 0.999].
  double quantile = 0.95;
  /// No hedges for this long after an overload or a pushback. Larger: longer tails after it. [0,
  /// 60 s].
  base::Duration pushback = std::chrono::seconds(1);
};

[[nodiscard]] std::vector<Problem> validate(const HedgeSettings& settings);

/// Each call is counted in `starts`, each second leg in `fired` when it is sent or `unsent` when it
/// never was; `blocked` at most once a call.
struct HedgeCounters {
  uint64_t starts = 0;
  uint64_t fired = 0;
  uint64_t unsent = 0;
  uint64_t won = 0;  ///< The second leg answered first.
  std::array<uint64_t, kHedgeBlocks> blocked{};
};

/// When the calls of one key (a dependency, a command) are hedged, and how many may be:
///
///     delay = max(floor, p95 of the first legs, learnt anew each 10 s from at least 50)
///     in any 10 s that end with a hedge: hedges <= 0.05 · starts + 10   (RetryBudget, see there)
///
/// p95 is the upper edge of its bucket (at most 1/8 late), so a key whose latency is constant is
/// never hedged. A first leg that did not answer counts with the time it was given: a lower bound
/// at or above the delay, so that hedges do not pull p95 down. Fast failures count for nothing.
///
/// One thread: one a worker and key. 1.2 KiB. Must outlive its calls.
/// Source: Dean and Barroso, "The Tail at Scale", 2013; gRFC A6 (pushback, throttling).
class Hedger {
 public:
  /// `settings` are sound (validate).
  Hedger(const HedgeSettings& settings, base::Instant now)
      : settings_(settings), budget_(settings.budget), learnt_at_(now) {}

  /// Replaces the settings; what is learnt and what was spent stays.
  void set(const HedgeSettings& settings);

  /// The dependency asks for less (a pushback header). An `overload` outcome does this by itself.
  void push_back(base::Instant now) { pushed_back_until_ = now + settings_.pushback; }

  /// Empty until 50 latencies are known.
  [[nodiscard]] std::optional<base::Duration> delay() const;

  [[nodiscard]] const HedgeCounters& counters() const { return counters_; }

 private:
  friend class HedgedCall;

  void learn(base::Instant now, base::Duration latency);
  [[nodiscard]] base::Duration upper_quantile(double ratio) const;
  std::unexpected<HedgeBlock> block(HedgeBlock why);

  HedgeSettings settings_;
  RetryBudget budget_;
  HedgeCounters counters_;
  std::array<uint32_t, LogBuckets::kCount> counts_{};
  uint32_t total_ = 0;
  base::Instant learnt_at_;
  base::Instant pushed_back_until_{};
  base::Duration usual_{};  ///< p50.
  base::Duration late_{};   ///< p95; zero: unknown.
};

enum class Leg : uint8_t { kFirst, kSecond };

/// How a hedged call ended: what each of the three that are told has to hear, once.
struct HedgeEnd {
  Outcome outcome = Outcome::kAbandoned;  ///< For the breaker.
  std::optional<Leg> winner{};            ///< Whose answer is used; none: the call failed.
  /// For the host of each leg: its own result, else `cancelled` when it lost (it was sent: drain
  /// it), else `not_sent`.
  std::array<Outcome, 2> legs{Outcome::kNotSent, Outcome::kNotSent};
};

/// One call of at most two legs. The driver sends the first, keeps one timer and reports:
///
///     timer at start(…); on_timer() allows -> send to another host, then on_sent();
///     on_result() for each leg, end() at the call's deadline or when its caller has gone
///
/// The first answer (`ok` or `slow`) wins. A failing leg waits for the other only when that one is
/// under way; a block suppresses the second leg and never touches the first. Without an answer the
/// outcome is the worse of the two for the breaker (bad, overload, neutral), the first leg's of
/// two equals. A second leg that never left gives its token back, a sent one never does. Results
/// after the end and second results of a leg change nothing. Ends once; a destroyed call has ended.
///
/// One thread. 72 bytes, no allocation.
class HedgedCall {
 public:
  explicit HedgedCall(Hedger& hedger) : hedger_(hedger) {}

  ~HedgedCall();
  HedgedCall(const HedgedCall&) = delete;
  HedgedCall& operator=(const HedgedCall&) = delete;

  /// The first leg is sent, to be answered by `deadline`. Returns when to call on_timer, kNever
  /// when no hedge can come in time.
  [[nodiscard]] base::Instant start(base::Instant now, base::Instant deadline, bool probe);

  /// What only the driver knows, at the time of the hedge.
  struct Gates {
    bool circuits_closed = false;  ///< Those of both legs.
    uint8_t shed_level = 0;
    bool other_host = false;
  };

  /// A value: send the second leg. An error: keep waiting for the first; do not ask again.
  [[nodiscard]] base::Result<void, HedgeBlock> on_timer(base::Instant now, const Gates& gates);

  /// The first byte of the second leg may have left.
  void on_sent();

  /// A leg settled. `not_sent` for a second leg that found no connection.
  [[nodiscard]] std::optional<HedgeEnd> on_result(base::Instant now, Leg leg, Outcome outcome);

  /// Ends the call whatever is under way, each such leg with `outcome`; empty when it had ended.
  [[nodiscard]] std::optional<HedgeEnd> end(base::Instant now, Outcome outcome);

 private:
  enum class State : uint8_t { kNone, kDecided, kSent, kSettled };

  [[nodiscard]] State& state(Leg leg) { return states_[static_cast<size_t>(leg)]; }

  [[nodiscard]] bool under_way(Leg leg) const;
  void settle(base::Instant now, Leg leg, Outcome outcome);
  HedgeEnd finish(base::Instant now, std::optional<Leg> winner, Outcome rest);
  void return_token();

  Hedger& hedger_;
  base::Instant started_{};
  base::Instant deadline_{};
  base::Instant taken_{};
  std::array<State, 2> states_{};
  std::array<Outcome, 2> outcomes_{Outcome::kNotSent, Outcome::kNotSent};
  bool ended_ = true;
};

}  // namespace spillway::resilience
