#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/rng.h"
#include "base/time.h"
#include "resilience/ejection.h"
#include "resilience/host_record.h"
#include "resilience/host_settings.h"
#include "resilience/outcome.h"

namespace spillway::resilience {

/// One host in use: what `report` wants back.
struct PickedHost {
  uint64_t id = 0;
  uint32_t epoch = 0;  ///< Moves when the host returns: results from before then say nothing.
  uint8_t slot = 0;

  /// For `pick`'s set of hosts that were tried already.
  [[nodiscard]] uint64_t bit() const { return uint64_t{1} << slot; }
};

/// One thing that happened to a host, or to the set (panic), with its numbers.
struct HostEvent {
  enum class Kind : uint8_t {
    kEjected,
    kKept,  ///< A rule would have ejected it, but the cap forbids it or no other does better.
            ///< Once while a streak lasts, else once an interval.
    kReturned,
    kPanicBegan,
    kPanicEnded,
  };

  uint64_t host = 0;
  base::Instant at{};
  Kind kind = Kind::kEjected;
  /// "consecutive_local", "consecutive_5xx", "success_rate", "latency"; of a return "elapsed" or
  /// "cap"; "panic". Static text.
  std::string_view rule{};
  std::string reason{};  ///< One sentence for people, the numbers in it.
  uint64_t calls = 0;    ///< That decided.
  uint64_t failures = 0;
  uint32_t ejections = 0;      ///< The n of this ejection.
  base::Duration eject_for{};  ///< Of an ejection.
  uint32_t ejected = 0;        ///< Hosts out after the event.
  uint32_t hosts = 0;
};

[[nodiscard]] std::string_view to_string(HostEvent::Kind kind);

/// Which slots take calls, by bit.
struct UsableSlots {
  uint64_t all = 0;
  uint64_t full = 0;  ///< Of those the ones at their whole weight: not on their way back.
};

/// The set at a glance.
struct HostsPeek {
  uint32_t hosts = 0;
  uint32_t ejected = 0;
  bool panic = false;
};

/// One host, for operators.
struct HostState {
  uint64_t id = 0;
  bool ejected = false;
  base::Instant until{};  ///< When ejected.
  uint32_t ejections = 0;
  double weight = 1;                             ///< In (0, 1].
  std::array<uint64_t, kHostResults> results{};  ///< By HostResult, since the slot was made.
  uint64_t in_flight = 0;
};

/// Counts since the start. For metrics; any thread reads.
struct HostTotals {
  base::Counter ejected_local;
  base::Counter ejected_server_errors;
  base::Counter ejected_success_rate;
  base::Counter ejected_latency;
  base::Counter kept;
  base::Counter returned;
  base::Counter panics;
  base::Counter panic_picks;  ///< Calls placed while in panic.
  base::Counter left_out;     ///< Ids beyond kMaxHosts that set_hosts was given.
};

/// The hosts under a leaf: which one takes the next call, and which are left out for a while
/// because they do worse than their peers. What is wrong with all of them is the guard's business:
/// then nobody is ejected.
///
/// Only real calls count. Ejected hosts come back when their time is over, with a small weight.
///
/// Threads: pick, draw, begin and report from the worker whose index is given, one thread a worker;
/// set_hosts, set_settings, tick, states from one thread; the rest from any. A worker sees only its
/// own calls in flight. Memory: 6 kB, and for each host ever held at once 0.8 kB and 0.8 kB a
/// worker, kept until destruction. Cost: pick one shared load (the set) and two hosts' lines;
/// report writes the worker's own shard and shares a word only while a host fails. Source: DESIGN
/// 3; shared notes on resilience 1.3, 2.5, 3.8.
class Hosts {
 public:
  static constexpr size_t kMaxHosts = 64;

  Hosts(const HostSettings& settings, uint32_t workers, uint64_t seed, base::Instant now);

  /// Replaces the set. Hosts that stay keep their history; one that was dropped finds it again as
  /// long as no new host has needed its place. Duplicates count once. If more are out than the cap
  /// of the new set allows, the next due return at once. Returns how many ids had no place:
  /// those after the first kMaxHosts.
  size_t set_hosts(base::Instant now, std::span<const uint64_t> ids, std::vector<HostEvent>& out);

  void set_settings(const HostSettings& settings) { settings_ = settings; }

  /// The host for one call, of two drawn by `random` (64 even bits) the one with fewer of this
  /// worker's calls in flight for its weight. `tried`: or of bit() of hosts to avoid; when no other
  /// usable one is left an ejected one is taken, and when all were tried any usable one. None only
  /// when there are no hosts. Every pick must be reported exactly once.
  [[nodiscard]] std::optional<PickedHost> pick(uint32_t worker, uint64_t random,
                                               uint64_t tried = 0);

  /// For callers that reach only some of the hosts: the parts of `pick`. None has a side effect but
  /// `begin`, which takes what `report` gives back.
  ///
  /// Moves when hosts get or lose their slots: what slot_of said before is void. A slot that went
  /// to another host meanwhile costs a call a worse choice, nothing else.
  [[nodiscard]] uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  [[nodiscard]] std::optional<uint8_t> slot_of(uint64_t id) const;
  [[nodiscard]] UsableSlots usable() const;
  /// One of the slots `among`, which slot_of gave; not 0.
  [[nodiscard]] size_t draw(uint32_t worker, uint64_t random, uint64_t among) const;
  [[nodiscard]] PickedHost begin(uint32_t worker, size_t slot);

  /// Settles a pick: what came of it and how long it took.
  void report(uint32_t worker, PickedHost picked, Outcome outcome, base::Duration latency);

  /// Applies the rules and deadlines. Call every 100 ms or so; late calls and time going back are
  /// safe. Appends what happened.
  void tick(base::Instant now, std::vector<HostEvent>& out);

  [[nodiscard]] HostsPeek peek() const;
  [[nodiscard]] std::vector<HostState> states() const;

  [[nodiscard]] const HostTotals& totals() const { return totals_; }

 private:
  using Events = std::vector<HostEvent>;

  // hosts.cc
  size_t place_for_new() const;
  void install(size_t slot, uint64_t id);
  void publish(base::Instant now, Events& out);
  [[nodiscard]] uint64_t placed_calls() const;

  // hosts_tick.cc
  void return_due(base::Instant now, Events& out);
  void keep_cap(base::Instant now, Events& out);
  void bring_back(size_t slot, base::Instant now, std::string_view rule, Events& out);
  void weigh(base::Instant now);
  void judge_streaks(base::Instant now, Events& out);
  void judge_interval(base::Instant now, Events& out);
  HostSample fold(size_t slot, base::Instant now);
  void note_evidence(HostRecord& record, uint64_t good, uint64_t failures, base::Instant now) const;
  void skip_to_now(size_t slot);
  void eject_worst_first(base::Instant now, Events& out);
  void eject(const Suspect& suspect, base::Instant now, Events& out);
  void keep(const Suspect& suspect, std::string_view why, base::Instant now, Events& out);
  [[nodiscard]] bool room_without(size_t slot) const;
  [[nodiscard]] HostEvent event(size_t slot, HostEvent::Kind kind, base::Instant now) const;

  alignas(64) std::atomic<uint64_t> usable_{0};  ///< Slots that pick draws from.
  std::atomic<uint64_t> known_{0};               ///< Slots of all hosts of the set.
  std::atomic<uint64_t> ejected_{0};             ///< Of those.
  std::atomic<uint64_t> warming_{0};             ///< Under full weight.
  std::atomic<uint64_t> generation_{0};
  std::atomic<bool> panic_{false};
  std::array<HotHost, kMaxHosts> hot_;

  // The ticking thread's own.
  HostSettings settings_;
  const uint32_t workers_;
  base::Rng rng_;
  base::Instant last_now_;
  base::Instant interval_start_;
  std::array<std::unique_ptr<HostRecord>, kMaxHosts> records_;  ///< Where hot_ has shards.
  double usual_failing_ = 0;  ///< Of the median host in the last interval.
  uint64_t retirements_ = 0;
  uint64_t placed_read_ = 0;
  std::vector<HostSample> samples_;
  std::vector<Suspect> suspects_;
  HostTotals totals_;
};

}  // namespace spillway::resilience
