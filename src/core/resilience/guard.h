#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {

/// Why a guard did not admit a call. The numbers are the exchange's own range of OpenRTB codes, the
/// same in seatnonbid, loss log and metric label.
enum class Refusal : uint16_t {
  kCircuitOpen = 520,
  kConcurrency = 521,
  kQps = 522,
  kHostEjected = 523,
  kDeadlineTooShort = 524,
};

[[nodiscard]] std::string_view to_string(Refusal refusal);

enum class State : uint8_t { kClosed, kOpen, kHalfOpen, kRamping };
enum class Mode : uint8_t { kEnforce, kShadow, kDisabled, kForcedOpen };

[[nodiscard]] std::string_view to_string(State state);
[[nodiscard]] std::string_view to_string(Mode mode);

/// How an admitted call went through.
enum class Admitted : uint8_t { kNormal, kProbe, kRamp, kExplore, kShadow };

/// The terms a call was admitted on: what classification needs, frozen at admission so that a
/// recorded auction replays.
struct Terms {
  base::Duration offered{};  ///< B: the time the dependency was given.
  base::Duration fair{};     ///< A timeout with B below this is `short`, not `timeout`.
  base::Duration
      slow_after{};  ///< An answer in time but later than this is `slow`, when B >= fair.
  Admitted how = Admitted::kNormal;
  uint32_t epoch = 0;
};

/// One attempt to call.
struct Attempt {
  base::Instant now{};
  base::Duration offered{};   ///< Time the dependency would be given.
  uint64_t request_hash = 0;  ///< Of the request id: ramp admission is a pure function of it.
};

class Guard;
class QpsContract;
class Region;
struct Evidence;
struct Tally;
struct Decision;

/// What is left of a call after its outcome is settled: its limiter slot, until the late answer is
/// drained or given up. Move-only; destruction releases the slot.
class Tail {
 public:
  Tail() = default;

  Tail(Tail&& other) noexcept
      : guard_(std::exchange(other.guard_, nullptr)),
        worker_(other.worker_),
        slot_(other.slot_),
        uncongested_(other.uncongested_) {}

  Tail& operator=(Tail&& other) noexcept;
  Tail(const Tail&) = delete;
  Tail& operator=(const Tail&) = delete;

  ~Tail() {
    if (guard_ != nullptr) {
      release();
    }
  }

  /// The late answer came `latency` after the call began: a true sample for the baselines.
  void settle(base::Duration latency);

 private:
  friend class Permit;

  Tail(Guard* guard, uint32_t worker, bool slot, bool uncongested)
      : guard_(guard), worker_(worker), slot_(slot), uncongested_(uncongested) {}

  void release();

  Guard* guard_ = nullptr;
  uint32_t worker_ = 0;
  bool slot_ = false;         ///< Holds one of the limit.
  bool uncongested_ = false;  ///< Begun while few calls were in flight.
};

/// The right to make one call. Move-only, settled exactly once; destruction without `finish` is the
/// outcome `abandoned`. Belongs to the worker that was given it.
class Permit {
 public:
  Permit() = default;

  Permit(Permit&& other) noexcept
      : guard_(std::exchange(other.guard_, nullptr)),
        worker_(other.worker_),
        lease_(other.lease_),
        slot_(other.slot_),
        uncongested_(other.uncongested_),
        due_(other.due_),
        watched_(other.watched_),
        started_(other.started_),
        terms_(other.terms_) {}

  Permit& operator=(Permit&& other) noexcept;
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;

  ~Permit() {
    if (guard_ != nullptr) {
      abandon();
    }
  }

  [[nodiscard]] const Terms& terms() const { return terms_; }

  [[nodiscard]] explicit operator bool() const { return guard_ != nullptr; }

  /// Settles the call. A late result (the epoch has moved on) never moves state.
  Tail finish(base::Instant now, Outcome outcome);

 private:
  friend class Guard;
  void abandon();

  Guard* guard_ = nullptr;
  uint32_t worker_ = 0;
  uint32_t lease_ = 0;  ///< Of a probe.
  bool slot_ = false;
  bool uncongested_ = false;
  uint8_t due_ = 0;  ///< Bucket of the overdue ring, when watched_.
  bool watched_ = false;
  base::Instant started_{};
  Terms terms_;
};

/// One change of state or mode, with the numbers that made it.
struct Transition {
  std::string key;  ///< dsp/region/path
  base::Instant at{};
  State from_state = State::kClosed;
  State to_state = State::kClosed;
  Mode from_mode = Mode::kEnforce;
  Mode to_mode = Mode::kEnforce;
  uint32_t epoch = 0;
  std::string_view
      rule;            ///< "r1_fast", "r2_slow", "r3_run", "probe_bad", "operator", …; static text.
  std::string reason;  ///< One sentence for people, the numbers in it.
  uint32_t calls = 0;  ///< In the window that decided.
  uint32_t bad = 0;
  base::Duration open_for{};  ///< Until the first probe, when to_state is open.
};

/// What peek() shows: no side effects, any thread.
struct Peek {
  State state = State::kClosed;
  Mode mode = Mode::kEnforce;
  uint32_t epoch = 0;
  double admit_ratio = 1.0;  ///< Share of calls the state admits now: ramp step, 0 when open.
  int64_t in_flight = 0;     ///< Permits and Tails alive.
  uint32_t limit = 0;        ///< Of calls in flight, as it is now; 0: none.
  /// When the limiter was last shown a window, which it is once a second while there are calls;
  /// time zero: never, or there is none.
  base::Instant limit_judged{};
  base::Duration p50{};  ///< Frozen baselines; zero until enough latencies are known.
  base::Duration p90{};
  base::Duration median_offered{};
  double baseline_bad_ratio = 0;
};

/// Sums over workers since the start, by meaning. For metrics.
struct Totals {
  uint64_t admitted[5] = {};  ///< By Admitted.
  uint64_t refused[5] = {};   ///< By Refusal, 520 first.
  uint64_t outcomes[kOutcomes] = {};
  uint64_t would_refuse[5] = {};  ///< Sent all the same in shadow mode, by the Refusal they had.
  uint64_t late = 0;              ///< Settled after their epoch: moved nothing.
};

/// The guard of one leaf (dependency/region/path): breaker, in-flight cap, QPS contracts and the
/// learned latencies that make blame fair.
///
/// Order of admission: state word; remaining time; limiter slot; QPS token of the leaf, then of the
/// dependency; probe or ramp slot last. A later refusal gives back what earlier steps took.
///
/// Threads: admit and finish from the worker whose index is given, one thread a worker; tick,
/// set_settings and set_mode from one thread (the registry's); peek and totals from any. Permits
/// and Tails must not outlive their guard (see Registry::forget). Memory:
/// fixed at creation, about 6 kB and 2.5 kB a worker. Cost: refused while open one load; admit and
/// finish under 20 ns together without a limiter. Source: DESIGN 2 and 3; shared notes on
/// resilience 3.0, 3.3 to 3.6.
class Guard {
 public:
  /// `shared` is the contract of the whole dependency, over all its leaves; it outlives the guard.
  Guard(std::string key, const Settings& settings, uint32_t workers, uint64_t seed,
        base::Instant now, QpsContract* shared = nullptr);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  /// A permit, or the reason there is none. Counts either.
  [[nodiscard]] std::expected<Permit, Refusal> admit(uint32_t worker, const Attempt& attempt);

  /// Folds the workers' shards, applies the trip rules and deadlines. Call every 100 ms or so;
  /// late calls are safe, also across a suspended process. Appends what changed.
  void tick(base::Instant now, std::vector<Transition>& out);

  /// Replaces the settings, keeping windows, state and baselines. A change of enforcement shows as
  /// a transition of the next tick. Unsound probe counts are clamped; see validate().
  void set_settings(const Settings& settings);

  /// The shared contract has come into force, or out of it.
  void contract_changed();

  /// Operator override until `until` (kNever: for good); mode kEnforce clears it. Leaving
  /// kForcedOpen goes through ramping.
  void set_mode(base::Instant now, Mode mode, base::Instant until, std::string_view why,
                std::vector<Transition>& out);

  /// The parent tripped on `pooled`: a leaf that is closed or ramping opens with it, by its own
  /// wait, and comes back through its own probes.
  void open_with_parent(base::Instant now, const Evidence& pooled, std::string_view what,
                        std::vector<Transition>& out);
  /// What the last tick folded, for the parent. The ticking thread.
  [[nodiscard]] const Tally& folded() const;

  [[nodiscard]] Peek peek() const;
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] const std::string& key() const;

 private:
  friend class Permit;
  friend class Tail;
  struct Body;
  std::expected<Permit, Refusal> give(uint32_t worker, const Attempt& attempt, const Decision& made,
                                      uint32_t epoch);

  std::unique_ptr<Body> body_;
};

/// All guards of a process in stable slots: a Guard& stays valid across reloads, until it is
/// forgotten. At most 4 096 leaves; `at` beyond that gives the shared overflow leaf of the
/// dependency.
///
/// Above the leaves stand `dependency/region`, which trips on its leaves' pooled counts (class
/// Region), and `dependency`, which has its contract and overrides only. What they decide is
/// written into each leaf's own word: the call path reads one.
///
/// Threads: at, forget, tick, set_mode, set_contract from one thread (the control thread).
class Registry {
 public:
  Registry(uint32_t workers, uint64_t seed);
  ~Registry();

  static constexpr size_t kMaxLeaves = 4096;

  /// The guard of `key` (dependency/region/path), made on first use; an existing one keeps its
  /// settings. Beyond kMaxLeaves: the dependency's overflow leaf, key `dependency/*/*`; beyond 256
  /// of those, the one leaf `*/*/*`.
  Guard& at(std::string_view key, const Settings& settings, base::Instant now);

  /// Destroys the guard of `key`, with its region and its contract when it was their last. No
  /// permit and no tail of it may be alive, and nobody may ask it again. Overrides are the
  /// operator's and stay for their time. Nothing for a key without a leaf of its own, and for
  /// overflow leaves.
  void forget(std::string_view key);

  /// The guard of `key`, or null.
  [[nodiscard]] Guard* find(std::string_view key) const;

  /// The contract of a dependency over all its leaves, in calls per second of the process; 0: none.
  /// A change keeps what was taken so far. No effect for a dependency that has no leaf of its own.
  void set_contract(std::string_view dependency, uint32_t qps);

  /// Operator override of a leaf, a `dependency/region` or a `dependency`, until `until` (kNever:
  /// for good); kEnforce clears the one of this very node. A leaf follows the most restrictive in
  /// force on it and above it: forced_open, then shadow, then disabled; so do leaves made later.
  /// False when there is no such node.
  bool set_mode(std::string_view key, base::Instant now, Mode mode, base::Instant until,
                std::string_view why, std::vector<Transition>& out);

  /// A parent as an operator sees it.
  struct Node {
    std::string key;
    State state = State::kClosed;    ///< Of a region; a dependency never trips by itself.
    Mode override = Mode::kEnforce;  ///< kEnforce: none in force here.
    size_t leaves = 0;
    size_t closed_leaves = 0;
  };

  /// Every dependency and region, in order of key.
  [[nodiscard]] std::vector<Node> nodes() const;

  /// In order of creation.
  [[nodiscard]] const std::vector<std::unique_ptr<Guard>>& guards() const { return guards_; }

  void tick(base::Instant now, std::vector<Transition>& out);

 private:
  struct Contract;

  struct Override {
    Mode mode = Mode::kEnforce;
    base::Instant until{};
    std::string why;
  };

  Guard& make(std::string_view key, const Settings& settings, base::Instant now);
  [[nodiscard]] const Override* strictest(std::string_view key) const;
  void follow_overrides(Guard& leaf, base::Instant now, std::string_view why,
                        std::vector<Transition>& out);
  void expire_overrides(base::Instant now, std::vector<Transition>& out);

  uint32_t workers_;
  uint64_t seed_;
  std::map<std::string, Override, std::less<>> overrides_;               ///< By node or leaf.
  std::map<std::string, std::unique_ptr<Region>, std::less<>> regions_;  ///< By key.
  std::vector<Transition> unsaid_;  ///< Of leaves made under an override or an open parent.

  std::map<std::string, std::unique_ptr<Contract>, std::less<>> contracts_;  ///< By dependency.
  std::vector<std::unique_ptr<Guard>> guards_;
  std::map<std::string, Guard*, std::less<>> by_key_;
  size_t overflow_leaves_ = 0;
};

}  // namespace spillway::resilience
