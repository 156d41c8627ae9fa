#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "resilience/breaker.h"
#include "resilience/guard.h"
#include "resilience/guard_body.h"
#include "resilience/log_buckets.h"
#include "resilience/outcome.h"
#include "resilience/proof.h"
#include "resilience/settings.h"
#include "resilience/shard.h"
#include "resilience/state_word.h"
#include "resilience/trip.h"
#include "resilience/window.h"

namespace spillway::resilience {

namespace {

using base::Duration;
using base::Instant;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr double kUsedToBad = 0.1;
constexpr Duration kLatencyFoldEvery = std::chrono::seconds(1);

/// What `now` has beyond `read`, which moves along.
template <typename T>
T news(T& read, T now) {
  return now - std::exchange(read, now);
}

/// The same, but no more than `most`: what is left is news of the next tick.
uint64_t news_up_to(uint64_t most, uint64_t& read, uint64_t now) {
  const uint64_t taken = std::min(most, now - read);
  read += taken;
  return taken;
}

uint64_t outcome_count(const Shard& shard, Outcome outcome) {
  return shard.outcomes[static_cast<size_t>(outcome)].value();
}

}  // namespace

Guard::Body::Body(std::string leaf, const Settings& settings, uint32_t workers, uint64_t seed,
                  Instant now, QpsContract* shared)
    : slots(workers),
      probes(now),
      explored_ns(now.time_since_epoch().count()),
      shards(workers),
      shared_qps(shared),
      leaf_hash(base::hash64(leaf)),
      key(std::move(leaf)),
      breaker(settings, base::combine64(seed, leaf_hash), now),
      limiter_window(now),
      reads(workers),
      last_tick(now),
      next_latency_fold(now) {
  bads.reserve(size_t{workers} * 32);
  published.shards = shards.data();
  publish_settings();
  publish_terms();
  publish_word();
}

Fold Guard::Body::fold_calls() {
  Fold fold;
  const uint32_t epoch = breaker.epoch();
  uint64_t answers = 0;
  uint64_t silent = 0;
  bads.clear();
  for (size_t i = 0; i < shards.size(); ++i) {
    Shard& shard = shards[i];
    Read& read = reads[i];
    const uint64_t good = news(read.good, shard.good.count(epoch));
    fold.over_p99 += news_up_to(good, read.over_p99, shard.over_p99.count(epoch));
    fold.good += good;
    fold.resets += news(read.resets, shard.resets.count(epoch));
    const uint64_t bad = news(read.bad, shard.bad.count(epoch));
    const uint64_t slow = news_up_to(bad, read.slow, shard.slow.count(epoch));
    fold.slow_only += news_up_to(slow, read.slow_only, shard.slow_only.count(epoch));
    fold.slow += slow;
    fold.bad += bad;
    fold.overload += news(read.overload, shard.overload.count(epoch));
    fold.last_good = std::max(fold.last_good, Instant(Duration(shard.last_good_ns.load(kRelaxed))));
    shard.bad_calls.drain([&](const BadCallRing::Entry& call) {
      if (call.epoch == epoch) {
        bads.push_back({.started = call.started, .ended = call.ended, .overload = call.overload});
      }
    });
    answers += news(read.answers, shard.late_answers.value() + outcome_count(shard, Outcome::kOk) +
                                      outcome_count(shard, Outcome::kSlow) +
                                      outcome_count(shard, Outcome::kMalformed));
    silent += news(read.silent,
                   outcome_count(shard, Outcome::kShort) + outcome_count(shard, Outcome::kTimeout));
  }
  fold.resets = std::min(fold.resets, fold.bad);
  fold.bads = bads;
  fold_overdue(fold);
  baseline.note_silence(last_tick, answers, silent);
  return fold;
}

/// Calls of an earlier epoch have passed their slow line, which is never later than the ceiling,
/// before `from`.
void Guard::Body::fold_overdue(Fold& fold) {
  constexpr auto kBuckets = static_cast<size_t>(OverdueRing::kBuckets);
  constexpr uint32_t kShown = 12;
  constexpr size_t kBurstBuckets = 3;
  const Duration ceiling = breaker.settings().slow_ceiling;
  const Instant from = breaker.epoch_start() + ceiling;
  std::array<uint32_t, kBuckets> counts{};
  std::array<Instant, kBuckets> due{};
  for (const Shard& shard : shards) {
    shard.in_flight.overdue(from, last_tick, [&](Instant at, uint32_t calls) {
      const auto index = static_cast<size_t>(
          (at.time_since_epoch().count() >> OverdueRing::kWidthBits) & (OverdueRing::kBuckets - 1));
      counts[index] += calls;
      due[index] = at;
    });
  }
  overdue.clear();
  for (size_t i = 0; i < kBuckets; ++i) {
    uint64_t burst = 0;
    for (size_t k = 0; k < kBurstBuckets; ++k) {
      burst += counts[(i + k) % kBuckets];
    }
    fold.overdue_calls += counts[i];
    fold.overdue_burst = std::max(fold.overdue_burst, burst);
    overdue.insert(overdue.end(), std::min(counts[i], kShown),
                   BadCall{.started = due[i] - ceiling, .ended = due[i]});
  }
  fold.overdue = overdue;
}

void Guard::Body::fold_latencies(Instant now) {
  for (size_t i = 0; i < shards.size(); ++i) {
    fold_latencies_of(shards[i], reads[i]);
  }
  baseline.update(now, breaker.healthy());
}

void Guard::Body::fold_latencies_of(const Shard& shard, Read& read) {
  for (size_t bucket = 0; bucket < LogBuckets::kCount; ++bucket) {
    if (const auto count = news(read.latencies[bucket], shard.latencies.count(bucket))) {
      baseline.add_latency(bucket, count);
      if (limiter != nullptr) {
        limiter_window.add_latencies(bucket, count, false);
      }
    }
    if (const auto count = news(read.offered[bucket], shard.offered.count(bucket))) {
      baseline.add_offered(bucket, count);
    }
  }
}

void Guard::Body::publish_settings() {
  const Settings& settings = breaker.settings();
  const bool classic = settings.rules == Settings::Rules::kClassic;
  const bool p99 = classic && settings.classic.p99_ceiling > Duration::zero();
  const Duration late = p99 ? settings.classic.p99_ceiling : settings.classic.slow;
  const Duration floor = classic ? late : settings.slow_floor;
  const Duration ceiling = classic ? late : settings.slow_ceiling;
  only_over_p99_ns.store(p99 ? settings.classic.slow.count() : -1, kRelaxed);
  published.slow_floor_ns.store(floor.count(), kRelaxed);
  published.slow_ceiling_ns.store(ceiling.count(), kRelaxed);
  make_limiter();
  publish_limit();
  qps.set_qps(settings.qps);
  publish_contracts();
}

void Guard::Body::publish_contracts() {
  const bool shared = shared_qps != nullptr && shared_qps->in_force();
  published.has_qps.store(shared || qps.in_force(), kRelaxed);
}

void Guard::Body::publish_terms() {
  const Duration enough = breaker.settings().enough;
  const auto enough_at_most = [enough](Duration usual) {
    return enough > Duration::zero() ? std::min(usual, enough) : usual;
  };
  const Duration p50 = baseline.p50();
  const Duration fair = enough_at_most(baseline.fair());
  published.fair_ns.store(fair.count(), kRelaxed);
  // While nothing is known only the ceiling says slow: 0.8 B alone would blame a usual latency.
  published.slow_p90_ns.store(baseline.known() ? baseline.p90().count() * 3 / 2 : INT64_MAX,
                              kRelaxed);
  // The remaining-time rule keeps away only what is known to be of no use. A leaf that fails or is
  // silent must be seen to be: explorers are blamed on nobody. A half-open one that no call has the
  // time for is probed all the same, or it would never leave.
  const bool starved = breaker.state() == State::kHalfOpen && breaker.starved();
  const bool rests = breaker.failing() || baseline.hanging() || starved;
  published.skip_below_ns.store(rests ? 0 : enough_at_most(p50).count(), kRelaxed);
  const Duration probe_needs = enough_at_most(std::max(p50, baseline.known() ? fair : Duration{}));
  probe_needs_ns.store(starved ? 0 : probe_needs.count(), kRelaxed);
  p50_ns.store(p50.count(), kRelaxed);
  p90_ns.store(baseline.p90().count(), kRelaxed);
  median_offered_ns.store(baseline.median_offered().count(), kRelaxed);
  usual_bad.store(breaker.usual().ratio(), kRelaxed);
}

void Guard::Body::publish_word() {
  const StateWord word(breaker.state(), breaker.mode(), breaker.epoch(), breaker.admit_ratio());
  if (published.word.load(kRelaxed) != word.bits()) {
    published.word.store(word.bits(), std::memory_order_release);
  }
}

void Guard::Body::arm_probes() {
  const uint32_t wanted = breaker.classic_probes();
  records_probes.store(wanted > 0, kRelaxed);
  if (wanted > 0) {
    probes.arm_count(breaker.epoch(), std::min(wanted, 15U));
    return;
  }
  const Settings& settings = breaker.settings();
  const uint32_t of = std::clamp(settings.probes_of, 1U, 8U);
  const uint32_t good = std::clamp(settings.probes_good, 1U, of);
  const uint32_t bad = std::clamp(settings.probes_bad, 1U, of);
  // One more bad probe is granted to a leaf that is used to them: with a usual bad share of 20 % a
  // third of its sound rounds would fail. The ramp looks closer.
  const uint32_t grant = breaker.usual().ratio() > kUsedToBad && good > 1 && bad < of ? 1 : 0;
  probes.arm(breaker.epoch(), good - grant, of, bad + grant);
}

Transition Guard::Body::transition(const Move& move, Instant now) const {
  return Transition{.key = key,
                    .at = now,
                    .from_state = move.from_state,
                    .to_state = move.to_state,
                    .from_mode = move.from_mode,
                    .to_mode = move.to_mode,
                    .epoch = breaker.epoch(),
                    .rule = move.rule,
                    .reason = move.reason,
                    .calls = static_cast<uint32_t>(move.calls),
                    .bad = static_cast<uint32_t>(move.bad),
                    .open_for = move.open_for};
}

void Guard::Body::moved(const Move& move, Instant now, std::vector<Transition>& out) {
  // The slot first: a call that still sees the old word must not take a probe of the new epoch.
  if (breaker.state() == State::kHalfOpen) {
    arm_probes();
  } else {
    probes.disarm(breaker.epoch());
  }
  for (Read& read : reads) {
    read.good = read.bad = read.overload = read.resets = read.slow = read.slow_only =
        read.over_p99 = 0;
  }
  const bool was_open = move.from_state == State::kOpen || move.from_state == State::kHalfOpen;
  const bool back = breaker.state() == State::kRamping || breaker.state() == State::kClosed;
  if (limiter != nullptr && was_open && back) {
    limiter->restart();
    publish_limit();
  }
  if (!SPILLWAY_PLANTED(13) || breaker.state() != State::kHalfOpen) {
    out.push_back(transition(move, now));
  }
}

Guard::Guard(std::string key, const Settings& settings, uint32_t workers, uint64_t seed,
             Instant now, QpsContract* shared)
    : body_(std::make_unique<Body>(std::move(key), settings, workers, seed, now, shared)) {}

Guard::~Guard() = default;

void Guard::tick(Instant now, std::vector<Transition>& out) {
  Body& body = *body_;
  body.last_tick = SPILLWAY_PLANTED(7) ? now : std::max(body.last_tick, now);
  const Fold fold = body.fold_calls();
  body.watch_in_flight();
  const auto move = body.breaker.tick(body.last_tick, fold, body.probes.round());
  if (body.last_tick >= body.next_latency_fold) {
    body.next_latency_fold = body.last_tick + kLatencyFoldEvery;
    body.fold_latencies(body.last_tick);
    body.fold_limiter(body.last_tick);
  }
  if (move) {
    body.moved(*move, body.last_tick, out);
  } else if (body.breaker.rearmed()) {
    body.probes.rearm();
  }
  body.publish_terms();
  body.publish_word();
}

void Guard::set_settings(const Settings& settings) {
  body_->breaker.set_settings(settings);
  body_->publish_settings();
}

void Guard::contract_changed() { body_->publish_contracts(); }

void Guard::set_mode(Instant now, Mode mode, Instant until, std::string_view why,
                     std::vector<Transition>& out) {
  Body& body = *body_;
  body.last_tick = std::max(body.last_tick, now);
  if (const auto move = body.breaker.override_mode(now, mode, until, why)) {
    body.moved(*move, body.last_tick, out);
    body.publish_terms();
    body.publish_word();
  }
}

void Guard::open_with_parent(Instant now, const Evidence& pooled, std::string_view what,
                             std::vector<Transition>& out) {
  Body& body = *body_;
  body.last_tick = std::max(body.last_tick, now);
  if (const auto move = body.breaker.open_with_parent(body.last_tick, pooled, what)) {
    body.moved(*move, body.last_tick, out);
    body.publish_terms();
    body.publish_word();
  }
}

const Tally& Guard::folded() const { return body_->breaker.folded(); }

Peek Guard::peek() const {
  const Body& body = *body_;
  const StateWord word(body.published.word.load(std::memory_order_acquire));
  Peek seen{.state = word.state(), .mode = word.mode(), .epoch = word.epoch()};
  seen.admit_ratio = 0.0;
  if (seen.mode == Mode::kDisabled || seen.state == State::kClosed) {
    seen.admit_ratio = 1.0;
  } else if (seen.state == State::kRamping) {
    seen.admit_ratio = word.ratio();
  }
  for (const Shard& shard : body.shards) {
    // Released first: a call that ends in between must not make the difference negative.
    seen.in_flight -= static_cast<int64_t>(shard.released.value());
    for (const base::Counter& admitted : shard.admitted) {
      seen.in_flight += static_cast<int64_t>(admitted.value());
    }
  }
  seen.limit = body.published.limit.load(kRelaxed);
  seen.limit_judged = Instant(Duration(body.limit_judged_ns.load(kRelaxed)));
  seen.p50 = Duration(body.p50_ns.load(kRelaxed));
  seen.p90 = Duration(body.p90_ns.load(kRelaxed));
  seen.median_offered = Duration(body.median_offered_ns.load(kRelaxed));
  seen.baseline_bad_ratio = body.usual_bad.load(kRelaxed);
  return seen;
}

Totals Guard::totals() const {
  Totals sum;
  for (const Shard& shard : body_->shards) {
    for (size_t i = 0; i < shard.admitted.size(); ++i) {
      sum.admitted[i] += shard.admitted[i].value();
      sum.refused[i] += shard.refused[i].value();
      sum.would_refuse[i] += shard.would_refuse[i].value();
    }
    for (size_t i = 0; i < shard.outcomes.size(); ++i) {
      sum.outcomes[i] += shard.outcomes[i].value();
    }
    sum.late += shard.late.value();
  }
  return sum;
}

const std::string& Guard::key() const { return body_->key; }

}  // namespace spillway::resilience
