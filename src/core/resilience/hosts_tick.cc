#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "resilience/ejection.h"
#include "resilience/host_record.h"
#include "resilience/hosts.h"
#include "resilience/latency.h"
#include "resilience/log_buckets.h"
#include "resilience/pick.h"
#include "resilience/sentence.h"

namespace spillway::resilience {

namespace {

using base::Duration;
using base::Instant;

constexpr auto kRelaxed = std::memory_order_relaxed;
/// Good calls that take one off the count of ejections.
constexpr uint64_t kDecayGood = 20;

constexpr uint64_t bit_of(size_t slot) { return uint64_t{1} << slot; }

/// Calls `sink(slot)` for each member.
template <typename Sink>
void each(uint64_t set, Sink sink) {
  for (; set != 0; set &= set - 1) {
    sink(static_cast<size_t>(std::countr_zero(set)));
  }
}

}  // namespace

void Hosts::tick(Instant now, Events& out) {
  last_now_ = now = std::max(now, last_now_);
  return_due(now, out);
  weigh(now);
  judge_streaks(now, out);
  if (now - interval_start_ >= settings_.interval) {
    judge_interval(now, out);
    interval_start_ = now;
  }
  keep_cap(now, out);
  weigh(now);
  publish(now, out);
}

void Hosts::return_due(Instant now, Events& out) {
  each(known_.load(kRelaxed) & ejected_.load(kRelaxed), [&](size_t slot) {
    if (now >= records_[slot]->until) {
      bring_back(slot, now, "elapsed", out);
    }
  });
}

/// A smaller set, or new settings, may allow fewer out: the next due return.
void Hosts::keep_cap(Instant now, Events& out) {
  const uint64_t known = known_.load(kRelaxed);
  const size_t most =
      most_ejected(static_cast<size_t>(std::popcount(known)), settings_.max_ejected);
  uint64_t ejected = known & ejected_.load(kRelaxed);
  while (static_cast<size_t>(std::popcount(ejected)) > most) {
    auto next = static_cast<size_t>(std::countr_zero(ejected));
    each(ejected,
         [&](size_t slot) { next = records_[slot]->until < records_[next]->until ? slot : next; });
    bring_back(next, now, "cap", out);
    ejected = known & ejected_.load(kRelaxed);
  }
}

void Hosts::bring_back(size_t slot, Instant now, std::string_view rule, Events& out) {
  HostRecord& record = *records_[slot];
  ejected_.store(ejected_.load(kRelaxed) & ~bit_of(slot), kRelaxed);
  record.warming = true;
  record.kept = false;
  record.returned = now;
  record.good = 0;
  record.failures = 0;
  // What began before says nothing about it from now on.
  hot_[slot].epoch.store(hot_[slot].epoch.load(kRelaxed) + 1, std::memory_order_release);
  hot_[slot].streak.end();
  skip_to_now(slot);
  totals_.returned.add();
  HostEvent back = event(slot, HostEvent::Kind::kReturned, now);
  back.rule = rule;
  back.reason = rule == "cap" ? "fewer may be out now" : "its time is over";
  out.push_back(std::move(back));
}

void Hosts::weigh(Instant now) {
  const uint64_t ejected = ejected_.load(kRelaxed);
  uint64_t warming = 0;
  each(known_.load(kRelaxed), [&](size_t slot) {
    HostRecord& record = *records_[slot];
    uint32_t weight = kFullWeight;  // Of an ejected one too: in panic it is as good as any.
    if (record.warming && (ejected & bit_of(slot)) == 0) {
      const double part =
          std::clamp(static_cast<double>((now - record.returned).count()) /
                         static_cast<double>(std::max<int64_t>(settings_.warm.count(), 1)),
                     0.0, 1.0);
      const double share = settings_.warm_from + (1 - settings_.warm_from) * part;
      weight = std::clamp(static_cast<uint32_t>(share * kFullWeight), 1U, kFullWeight);
      record.warming = part < 1;
      warming |= record.warming ? bit_of(slot) : 0;
    }
    hot_[slot].weight.store(weight, kRelaxed);
  });
  warming_.store(warming, kRelaxed);
}

void Hosts::judge_streaks(Instant now, Events& out) {
  suspects_.clear();
  const uint32_t locals = row_that_ejects(settings_.consecutive_local, usual_failing_);
  const uint32_t errors = row_that_ejects(settings_.consecutive_server_errors, usual_failing_);
  bool company = false;  // Some usable host whose last call did not fail.
  each(known_.load(kRelaxed) & ~ejected_.load(kRelaxed), [&](size_t slot) {
    const auto [local, server_errors] = hot_[slot].streak.counts();
    const bool is_local = local >= locals;
    if (!is_local && server_errors < errors) {
      records_[slot]->kept = false;
      company = company || local + server_errors == 0;
      return;
    }
    const uint64_t failures = is_local ? local : server_errors;
    suspects_.push_back(
        {.slot = slot,
         .rule = is_local ? "consecutive_local" : "consecutive_5xx",
         .severity = static_cast<double>(failures),
         .calls = failures,
         .failures = failures,
         .reason = Sentence()
                       .number(failures)
                       .text(is_local ? " calls in a row got no answer" : " 5xx answers in a row")
                       .str()});
  });
  if (company) {
    eject_worst_first(now, out);
    return;
  }
  for (const Suspect& suspect : suspects_) {
    keep(suspect, "no other host does better", now, out);
  }
}

void Hosts::judge_interval(Instant now, Events& out) {
  samples_.clear();
  each(known_.load(kRelaxed) & ~ejected_.load(kRelaxed),
       [&](size_t slot) { samples_.push_back(fold(slot, now)); });
  usual_failing_ = usual_share(samples_, usual_failing_);
  suspects_.clear();
  suspect_rates(samples_, settings_, suspects_);
  eject_worst_first(now, out);
  suspects_.clear();
  suspect_latencies(samples_, settings_, suspects_);
  std::erase_if(suspects_, [&](const Suspect& suspect) {
    return (ejected_.load(kRelaxed) & bit_of(suspect.slot)) != 0;
  });
  eject_worst_first(now, out);
}

HostSample Hosts::fold(size_t slot, Instant now) {
  HostRecord& record = *records_[slot];
  const uint64_t good_before = record.good_read;
  const uint64_t failures_before = record.failures_read;
  const auto latencies_before = record.latencies_read;
  skip_to_now(slot);
  const uint64_t good = record.good_read - good_before;
  const uint64_t failures = record.failures_read - failures_before;
  note_evidence(record, good, failures, now);
  HostSample sample{.slot = slot, .calls = good + failures, .failures = failures};
  FadingHistogram latencies;
  for (size_t i = 0; i < LogBuckets::kCount; ++i) {
    const uint32_t count = record.latencies_read[i] - latencies_before[i];
    sample.latencies += count;
    latencies.add(i, count);
  }
  sample.p90 = latencies.quantile(0.9);
  return sample;
}

/// Ejections are forgotten on evidence: each takes kDecayGood good calls, with success not under
/// the floor, and at least an interval.
void Hosts::note_evidence(HostRecord& record, uint64_t good, uint64_t failures, Instant now) const {
  record.good += good;
  record.failures += failures;
  const auto calls = static_cast<double>(record.good + record.failures);
  if (static_cast<double>(record.good) < settings_.success_floor * calls) {
    record.good = 0;
    record.failures = 0;
  } else if (record.ejections > 0 && record.good >= kDecayGood &&
             now - std::max(record.returned, record.decayed) >= settings_.interval) {
    --record.ejections;
    record.decayed = now;
    record.good = 0;
    record.failures = 0;
  }
}

/// Reads the shards of a host up to now.
void Hosts::skip_to_now(size_t slot) {
  HostRecord& record = *records_[slot];
  record.good_read = 0;
  record.failures_read = 0;
  record.latencies_read.fill(0);
  for (uint32_t worker = 0; worker < workers_; ++worker) {
    const HostShard& shard = hot_[slot].shards[worker];
    const auto count = [&](HostResult result) {
      return shard.results[static_cast<size_t>(result)].value();
    };
    record.good_read += count(HostResult::kGood);
    record.failures_read += count(HostResult::kLocalFailure) + count(HostResult::kServerError);
    for (size_t i = 0; i < LogBuckets::kCount; ++i) {
      record.latencies_read[i] += shard.latencies.count(i);
    }
  }
}

void Hosts::eject_worst_first(Instant now, Events& out) {
  std::ranges::sort(suspects_, std::ranges::greater{}, &Suspect::severity);
  for (const Suspect& suspect : suspects_) {
    if (room_without(suspect.slot)) {
      eject(suspect, now, out);
    } else {
      keep(suspect, "no more may be out", now, out);
    }
  }
}

/// Whether cap and capacity allow one more out. Hosts that just came back weigh little: together
/// the rest must weigh at least half of what the cap always leaves, or they would be drowned.
bool Hosts::room_without(size_t slot) const {
  const uint64_t known = known_.load(kRelaxed);
  const uint64_t ejected = known & ejected_.load(kRelaxed);
  const auto hosts = static_cast<size_t>(std::popcount(known));
  const size_t most = most_ejected(hosts, settings_.max_ejected);
  uint64_t weight = 0;
  each(known & ~ejected & ~bit_of(slot),
       [&](size_t other) { weight += hot_[other].weight.load(kRelaxed); });
  return static_cast<size_t>(std::popcount(ejected)) < most &&
         2 * weight >= (hosts - most) * kFullWeight;
}

void Hosts::eject(const Suspect& suspect, Instant now, Events& out) {
  HostRecord& record = *records_[suspect.slot];
  ejected_.store(ejected_.load(kRelaxed) | bit_of(suspect.slot), kRelaxed);
  // Not past what makes a difference: the way back is by evidence, one at a time.
  if (settings_.eject_min * static_cast<int64_t>(record.ejections) < settings_.eject_max) {
    ++record.ejections;
  }
  const Duration lasts = ejection_time(record.ejections, settings_, rng_.uniform());
  record.until = now + lasts;
  record.warming = false;
  base::Counter& count = suspect.rule == "consecutive_local" ? totals_.ejected_local
                         : suspect.rule == "consecutive_5xx" ? totals_.ejected_server_errors
                         : suspect.rule == "success_rate"    ? totals_.ejected_success_rate
                                                             : totals_.ejected_latency;
  count.add();
  HostEvent gone = event(suspect.slot, HostEvent::Kind::kEjected, now);
  gone.rule = suspect.rule;
  gone.reason = suspect.reason;
  gone.calls = suspect.calls;
  gone.failures = suspect.failures;
  gone.eject_for = lasts;
  out.push_back(std::move(gone));
}

void Hosts::keep(const Suspect& suspect, std::string_view why, Instant now, Events& out) {
  HostRecord& record = *records_[suspect.slot];
  if (std::exchange(record.kept, true)) {
    return;
  }
  totals_.kept.add();
  HostEvent kept = event(suspect.slot, HostEvent::Kind::kKept, now);
  kept.rule = suspect.rule;
  kept.reason = suspect.reason + "; " + std::string(why);
  kept.calls = suspect.calls;
  kept.failures = suspect.failures;
  out.push_back(std::move(kept));
}

HostEvent Hosts::event(size_t slot, HostEvent::Kind kind, Instant now) const {
  const uint64_t known = known_.load(kRelaxed);
  HostEvent event{.at = now, .kind = kind};
  if (slot < kMaxHosts) {
    event.host = hot_[slot].id.load(kRelaxed);
    event.ejections = records_[slot]->ejections;
  }
  event.ejected = static_cast<uint32_t>(std::popcount(known & ejected_.load(kRelaxed)));
  event.hosts = static_cast<uint32_t>(std::popcount(known));
  return event;
}

}  // namespace spillway::resilience
