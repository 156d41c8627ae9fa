#include "resilience/guard.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/counter.h"
#include "base/hash.h"
#include "base/time.h"
#include "resilience/guard_body.h"
#include "resilience/outcome.h"
#include "resilience/proof.h"
#include "resilience/shard.h"
#include "resilience/state_word.h"

namespace spillway::resilience {

namespace {

using base::Duration;
using base::Instant;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr double kExploreShare = 0.01;
constexpr int64_t kExploreEveryNs = 10'000'000'000;

/// Every fourth budget, in no fixed step, is enough for a median over minutes.
constexpr bool sampled(uint64_t count) { return (count * 0x9e3779b97f4a7c15ULL) >> 62 == 0; }

constexpr Duration kProbeGrace = std::chrono::milliseconds(250);
constexpr Duration kMinLease = std::chrono::milliseconds(500);
constexpr Duration kMaxLease = std::chrono::minutes(5);

size_t index_of(Refusal refusal) {
  return static_cast<size_t>(refusal) - static_cast<size_t>(Refusal::kCircuitOpen);
}

Decision refuse(Refusal refusal) { return Decision{.refused = true, .refusal = refusal}; }

/// Outcomes whose time is a latency of the dependency's real work. Fast failures are none.
constexpr bool is_latency(Outcome outcome) {
  return outcome == Outcome::kOk || outcome == Outcome::kSlow || outcome == Outcome::kMalformed;
}

}  // namespace

std::string_view to_string(Refusal refusal) {
  constexpr std::array<std::string_view, 5> kNames{"circuit_open", "concurrency", "qps",
                                                   "host_ejected", "deadline_too_short"};
  return kNames[index_of(refusal)];
}

std::string_view to_string(State state) {
  constexpr std::array<std::string_view, 4> kNames{"closed", "open", "half_open", "ramping"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view to_string(Mode mode) {
  constexpr std::array<std::string_view, 4> kNames{"enforce", "shadow", "disabled", "forced_open"};
  return kNames[static_cast<size_t>(mode)];
}

[[gnu::always_inline]] inline bool Guard::Body::take_slot(Decision& made, uint32_t worker,
                                                          uint32_t limit) {
  if (!slots.take(worker)) {
    return false;
  }
  made.slot = true;
  made.uncongested = slots.held_seen_by(worker) <=
                     std::max<int64_t>(limit >> published.uncongested_shift.load(kRelaxed), 2);
  return true;
}

bool Guard::Body::take_tokens(Instant now) {
  if (!qps.take(now)) {
    return false;
  }
  if (shared_qps == nullptr || shared_qps->take(now)) {
    return true;
  }
  qps.give_back();
  return false;
}

void Guard::Body::give_back_tokens() {
  qps.give_back();
  if (shared_qps != nullptr) {
    shared_qps->give_back();
  }
}

bool Guard::Body::explore(const Attempt& attempt) {
  const uint64_t hash = base::combine64(leaf_hash ^ 0x65787072ULL, attempt.request_hash);
  if (base::unit(hash) < kExploreShare) {
    return true;
  }
  const int64_t now_ns = attempt.now.time_since_epoch().count();
  int64_t last = explored_ns.load(kRelaxed);
  return now_ns - last >= kExploreEveryNs &&
         explored_ns.compare_exchange_strong(last, now_ns, kRelaxed);
}

/// The gates that stand in every state: remaining time, slot, contracts. Inlined, or the decision
/// would be built in memory by bytes and read by words, which costs a quarter of the whole call.
[[gnu::always_inline]] inline Decision Guard::Body::pass_gates(uint32_t worker,
                                                               const Attempt& attempt,
                                                               bool may_explore) {
  Decision made;
  if (attempt.offered.count() < published.skip_below_ns.load(kRelaxed)) [[unlikely]] {
    if (!may_explore || !explore(attempt)) {
      return refuse(Refusal::kDeadlineTooShort);
    }
    made.how = Admitted::kExplore;
  }
  const uint32_t limit = published.limit.load(kRelaxed);
  if (limit != 0 && !take_slot(made, worker, limit)) {
    return refuse(Refusal::kConcurrency);
  }
  if (published.has_qps.load(kRelaxed)) {
    if (!take_tokens(attempt.now)) {
      if (made.slot) {
        slots.give_back(worker);
      }
      return refuse(Refusal::kQps);
    }
    made.token = true;
  }
  return made;
}

Decision Guard::Body::decide(StateWord word, uint32_t worker, const Attempt& attempt) {
  const State state = word.state();
  if (state == State::kOpen) {
    return refuse(Refusal::kCircuitOpen);
  }
  Decision made = pass_gates(worker, attempt, state != State::kHalfOpen);
  if (made.refused || state == State::kClosed) {
    return made;
  }
  if (state == State::kHalfOpen) {
    const Duration lease = std::clamp(attempt.offered + kProbeGrace, kMinLease, kMaxLease);
    made.how = Admitted::kProbe;
    made.lease = attempt.offered.count() < probe_needs_ns.load(kRelaxed)
                     ? 0
                     : probes.take(word.epoch(), attempt.now, lease);
    made.refused = made.lease == 0;
  } else {
    const uint64_t leaf = base::combine64(leaf_hash, word.epoch());
    made.how = made.how == Admitted::kExplore ? made.how : Admitted::kRamp;
    made.refused = !word.passes(base::combine64(leaf, attempt.request_hash));
  }
  if (made.refused) {
    if (made.slot) {
      slots.give_back(worker);
    }
    if (made.token) {
      give_back_tokens();
    }
    return refuse(Refusal::kCircuitOpen);
  }
  return made;
}

/// The permit of a call that goes. Apart from admit, with one return, so that it is built in place.
inline std::expected<Permit, Refusal> Guard::give(uint32_t worker, const Attempt& attempt,
                                                  const Decision& made, uint32_t epoch) {
  Body& body = *body_;
  Shard& shard = body.published.shards[worker];
  const int64_t offered = attempt.offered.count();
  const int64_t usual = std::max(offered - offered / 5, body.published.slow_p90_ns.load(kRelaxed));
  const int64_t capped = std::min(usual, body.published.slow_ceiling_ns.load(kRelaxed));
  const int64_t slow = std::max(capped, body.published.slow_floor_ns.load(kRelaxed));

  std::expected<Permit, Refusal> given(std::in_place);
  Permit& permit = *given;
  permit.guard_ = this;
  permit.worker_ = worker;
  permit.lease_ = made.lease;
  permit.slot_ = made.slot;
  permit.uncongested_ = made.uncongested;
  permit.started_ = attempt.now;
  permit.terms_.offered = attempt.offered;
  permit.terms_.fair = Duration(body.published.fair_ns.load(kRelaxed));
  permit.terms_.slow_after = Duration(slow);
  permit.terms_.how = made.how;
  permit.terms_.epoch = epoch;
  const bool blamed = made.how == Admitted::kNormal || made.how == Admitted::kRamp;
  if (blamed && attempt.offered >= permit.terms_.fair && slow < OverdueRing::kHorizonNs) {
    permit.watched_ = true;
    permit.due_ = OverdueRing::bucket_of(attempt.now.time_since_epoch().count() + slow);
    shard.in_flight.add(permit.due_);
  }
  base::Counter& admitted = shard.admitted[static_cast<size_t>(made.how)];
  admitted.add();
  if (made.how <= Admitted::kRamp && sampled(admitted.value())) {
    shard.offered.record(attempt.offered);
  }
  return given;
}

std::expected<Permit, Refusal> Guard::admit(uint32_t worker, const Attempt& attempt) {
  Body& body = *body_;
  Shard& shard = body.published.shards[worker];
  const StateWord word(body.published.word.load(std::memory_order_acquire));
  if (word.refuses_all()) {
    shard.refused[index_of(Refusal::kCircuitOpen)].add();
    return std::unexpected(Refusal::kCircuitOpen);
  }
  Decision made;
  if (word.plain()) [[likely]] {
    made = body.pass_gates(worker, attempt, true);
  } else if (word.mode() != Mode::kDisabled) {
    made = body.decide(word, worker, attempt);
  }
  if (made.refused) [[unlikely]] {
    if (word.mode() != Mode::kShadow) {
      shard.refused[index_of(made.refusal)].add();
      return std::unexpected(made.refusal);
    }
    shard.would_refuse[index_of(made.refusal)].add();
    made.how = Admitted::kShadow;
  }
  return give(worker, attempt, made, word.epoch());
}

[[gnu::always_inline]] inline void Guard::Body::record(Shard& shard, const Terms& terms,
                                                       Instant started, Instant now,
                                                       Outcome outcome) {
  const StateWord word(published.word.load(std::memory_order_acquire));
  if (word.epoch() != terms.epoch && !SPILLWAY_PLANTED(3)) [[unlikely]] {
    shard.late.add();
    return;
  }
  if (outcome == Outcome::kOk && !SPILLWAY_PLANTED(14)) [[likely]] {
    shard.last_good_ns.store(now.time_since_epoch().count(), kRelaxed);
    shard.good.add(terms.epoch);
    return;
  }
  record_trouble(shard, terms, started, now, outcome);
}

void Guard::Body::record_trouble(Shard& shard, const Terms& terms, Instant started, Instant now,
                                 Outcome outcome) {
  const Verdict verdict = verdict_of(outcome);
  const bool slow = outcome == Outcome::kSlow || outcome == Outcome::kCancelledSlow;
  if (slow && (now - started).count() <= only_over_p99_ns.load(kRelaxed)) {
    shard.last_good_ns.store(now.time_since_epoch().count(), kRelaxed);
    shard.good.add(terms.epoch);
    shard.over_p99.add(terms.epoch);
    return;
  }
  if ((SPILLWAY_PLANTED(3) && verdict == Verdict::kBad) ||
      (SPILLWAY_PLANTED(6) && verdict == Verdict::kNeutral) ||
      (SPILLWAY_PLANTED(14) && verdict == Verdict::kGood)) {
    const uint32_t epoch = StateWord(published.word.load(kRelaxed)).epoch();
    shard.bad_calls.push({.started = started, .ended = now, .epoch = epoch});
    shard.bad.add(epoch);
    return;
  }
  switch (verdict) {
    case Verdict::kGood:
    case Verdict::kBad:
      shard.bad_calls.push({.started = started, .ended = now, .epoch = terms.epoch});
      if (outcome == Outcome::kReset) {
        shard.resets.add(terms.epoch);
      }
      if (slow) {
        shard.slow_only.add(terms.epoch);
      }
      if (slow || outcome == Outcome::kTimeout) {
        shard.slow.add(terms.epoch);
      }
      if (outcome == Outcome::kTimeout) {
        shard.timeouts.add();
      }
      shard.bad.add(terms.epoch);
      return;
    case Verdict::kOverload:
      shard.bad_calls.push(
          {.started = started, .ended = now, .epoch = terms.epoch, .overload = true});
      shard.overload.add(terms.epoch);
      shard.overloads.add();
      return;
    case Verdict::kNeutral:
      return;
  }
}

Tail Permit::finish(Instant now, Outcome outcome) {
  SPILLWAY_ASSERT(guard_ != nullptr);
  Guard* guard = std::exchange(guard_, nullptr);
  Guard::Body& body = *guard->body_;
  Shard& shard = body.published.shards[worker_];
  if (!SPILLWAY_PLANTED(2) || outcome != Outcome::kAbandoned) {
    shard.outcomes[static_cast<size_t>(outcome)].add();
  }
  if (watched_) {
    shard.in_flight.remove(due_);
  }
  if (terms_.how == Admitted::kProbe) {
    const Verdict verdict = verdict_of(outcome);
    const bool bad = verdict == Verdict::kOverload;
    body.probes.settle(terms_.epoch, lease_, bad ? Verdict::kBad : verdict);
    if (body.records_probes.load(kRelaxed)) {
      body.record(shard, terms_, started_, now, outcome);
    }
  } else if (terms_.how == Admitted::kNormal || terms_.how == Admitted::kRamp) {
    body.record(shard, terms_, started_, now, outcome);
  }
  if (is_latency(outcome)) {
    shard.latencies.record(now - started_);
    if (uncongested_) {
      shard.uncongested.record(now - started_);
    }
  }
  return Tail(guard, worker_, slot_, uncongested_);
}

void Permit::abandon() { finish(started_, Outcome::kAbandoned); }

Permit& Permit::operator=(Permit&& other) noexcept {
  if (this != &other) {
    if (guard_ != nullptr) {
      abandon();
    }
    guard_ = std::exchange(other.guard_, nullptr);
    worker_ = other.worker_;
    lease_ = other.lease_;
    slot_ = other.slot_;
    uncongested_ = other.uncongested_;
    due_ = other.due_;
    watched_ = other.watched_;
    started_ = other.started_;
    terms_ = other.terms_;
  }
  return *this;
}

Tail& Tail::operator=(Tail&& other) noexcept {
  if (this != &other) {
    release();
    guard_ = std::exchange(other.guard_, nullptr);
    worker_ = other.worker_;
    slot_ = other.slot_;
    uncongested_ = other.uncongested_;
  }
  return *this;
}

void Tail::release() {
  if (guard_ != nullptr) {
    Guard::Body& body = *std::exchange(guard_, nullptr)->body_;
    body.published.shards[worker_].released.add();
    if (slot_ && !SPILLWAY_PLANTED(11)) {
      body.slots.give_back(worker_);
    }
  }
}

void Tail::settle(Duration latency) {
  if (guard_ != nullptr) {
    Shard& shard = guard_->body_->published.shards[worker_];
    shard.latencies.record(latency);
    if (uncongested_) {
      shard.uncongested.record(latency);
    }
    shard.late_answers.add();
    release();
  }
}

}  // namespace spillway::resilience
