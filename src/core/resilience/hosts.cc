#include "resilience/hosts.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "resilience/ejection.h"
#include "resilience/host_record.h"
#include "resilience/host_settings.h"
#include "resilience/outcome.h"
#include "resilience/pick.h"
#include "resilience/sentence.h"

namespace spillway::resilience {

namespace {

using base::Duration;
using base::Instant;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr size_t kNoSlot = Hosts::kMaxHosts;

constexpr uint64_t bit_of(size_t slot) { return uint64_t{1} << slot; }

Load load_of(const HotHost& host, uint32_t worker) {
  return {.in_flight = host.shards[worker].in_flight.value(), .weight = host.weight.load(kRelaxed)};
}

}  // namespace

std::string_view to_string(HostEvent::Kind kind) {
  switch (kind) {
    case HostEvent::Kind::kEjected:
      return "ejected";
    case HostEvent::Kind::kKept:
      return "kept";
    case HostEvent::Kind::kReturned:
      return "returned";
    case HostEvent::Kind::kPanicBegan:
      return "panic_began";
    case HostEvent::Kind::kPanicEnded:
      break;
  }
  return "panic_ended";
}

Hosts::Hosts(const HostSettings& settings, uint32_t workers, uint64_t seed, Instant now)
    : settings_(settings), workers_(workers), rng_(seed), last_now_(now), interval_start_(now) {}

std::optional<PickedHost> Hosts::pick(uint32_t worker, uint64_t random, uint64_t tried) {
  const uint64_t usable = usable_.load(std::memory_order_acquire);
  uint64_t set = usable & ~tried;
  if (set == 0) [[unlikely]] {
    const uint64_t untried = known_.load(std::memory_order_acquire) & ~tried;
    set = untried != 0 ? untried : usable;
    if (set == 0) {
      return std::nullopt;
    }
  }
  return begin(worker, draw(worker, random, set));
}

size_t Hosts::draw(uint32_t worker, uint64_t random, uint64_t among) const {
  const Pair pair = draw_pair(among, random);
  const bool second = second_is_better(load_of(hot_[pair.first], worker),
                                       load_of(hot_[pair.second], worker), random);
  return second ? pair.second : pair.first;
}

PickedHost Hosts::begin(uint32_t worker, size_t slot) {
  HotHost& host = hot_[slot];
  host.shards[worker].in_flight.add();
  // The epoch first: with a place that just went to another host, the result is late at worst.
  const uint32_t epoch = host.epoch.load(std::memory_order_acquire);
  return {.id = host.id.load(kRelaxed), .epoch = epoch, .slot = static_cast<uint8_t>(slot)};
}

std::optional<uint8_t> Hosts::slot_of(uint64_t id) const {
  for (uint64_t rest = known_.load(std::memory_order_acquire); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<size_t>(std::countr_zero(rest));
    if (hot_[slot].id.load(kRelaxed) == id) {
      return static_cast<uint8_t>(slot);
    }
  }
  return std::nullopt;
}

UsableSlots Hosts::usable() const {
  const uint64_t all = usable_.load(std::memory_order_acquire);
  return {.all = all, .full = all & ~warming_.load(kRelaxed)};
}

void Hosts::report(uint32_t worker, PickedHost picked, Outcome outcome, Duration latency) {
  HotHost& host = hot_[picked.slot];
  HostShard& shard = host.shards[worker];
  shard.in_flight.subtract();
  if (host.epoch.load(kRelaxed) != picked.epoch) {
    shard.late.add();
    return;
  }
  const HostResult result = host_result_of(outcome);
  shard.results[static_cast<size_t>(result)].add();
  if (tells_latency(outcome)) {
    shard.latencies.record(latency);
  }
  if (result == HostResult::kGood) {
    host.streak.end();
  } else if (result != HostResult::kNeutral) {
    host.streak.extend(result);
  }
}

/// A place never used, else the one whose host left longest ago.
size_t Hosts::place_for_new() const {
  const uint64_t known = known_.load(kRelaxed);
  size_t best = kNoSlot;
  for (size_t slot = 0; slot < kMaxHosts; ++slot) {
    if ((known & bit_of(slot)) != 0) {
      continue;
    }
    if (!hot_[slot].shards) {
      return slot;
    }
    if (best == kNoSlot || records_[slot]->retired < records_[best]->retired) {
      best = slot;
    }
  }
  return best;
}

void Hosts::install(size_t slot, uint64_t id) {
  HotHost& host = hot_[slot];
  if (!host.shards) {
    host.shards = std::make_unique<HostShard[]>(workers_);
    records_[slot] = std::make_unique<HostRecord>();
  }
  *records_[slot] = HostRecord{};
  host.id.store(id, kRelaxed);
  host.epoch.store(host.epoch.load(kRelaxed) + 1, std::memory_order_release);
  host.weight.store(kFullWeight, kRelaxed);
  host.streak.end();
  skip_to_now(slot);
  known_.store(known_.load(kRelaxed) | bit_of(slot), std::memory_order_release);
}

size_t Hosts::set_hosts(Instant now, std::span<const uint64_t> ids, Events& out) {
  last_now_ = now = std::max(now, last_now_);
  std::vector<uint64_t> wanted;
  size_t left_out = 0;
  for (const uint64_t id : ids) {
    if (std::ranges::find(wanted, id) != wanted.end()) {
      continue;
    }
    if (wanted.size() < kMaxHosts) {
      wanted.push_back(id);
    } else {
      ++left_out;
    }
  }
  totals_.left_out.add(left_out);

  uint64_t stay = 0;
  std::vector<uint64_t> fresh;
  for (const uint64_t id : wanted) {
    const auto place = std::ranges::find_if(
        hot_, [&](const HotHost& host) { return host.shards && host.id.load(kRelaxed) == id; });
    if (place != hot_.end()) {
      stay |= bit_of(static_cast<size_t>(place - hot_.begin()));
    } else {
      fresh.push_back(id);
    }
  }
  for (uint64_t gone = known_.load(kRelaxed) & ~stay; gone != 0; gone &= gone - 1) {
    records_[static_cast<size_t>(std::countr_zero(gone))]->retired = ++retirements_;
  }
  // Out of sight before a place is given to another host.
  usable_.store(usable_.load(kRelaxed) & stay, std::memory_order_release);
  known_.store(stay, std::memory_order_release);
  for (const uint64_t id : fresh) {
    const size_t slot = place_for_new();
    ejected_.store(ejected_.load(kRelaxed) & ~bit_of(slot), kRelaxed);
    install(slot, id);
  }
  keep_cap(now, out);
  weigh(now);
  publish(now, out);
  generation_.store(generation_.load(kRelaxed) + 1, std::memory_order_release);
  return left_out;
}

/// Makes the set that pick draws from, and tells when panic begins or ends.
void Hosts::publish(Instant now, Events& out) {
  const uint64_t known = known_.load(kRelaxed);
  const uint64_t sound = known & ~ejected_.load(kRelaxed);
  const auto hosts = static_cast<double>(std::popcount(known));
  const auto usable = static_cast<double>(std::popcount(sound));
  const bool panic = usable < hosts && usable < hosts * settings_.panic;
  const bool before = panic_.load(kRelaxed);
  if (before || panic) {
    // A call that ends while it is counted may be counted twice, or not: never backwards.
    const uint64_t placed = std::max(placed_calls(), placed_read_);
    totals_.panic_picks.add(before ? placed - placed_read_ : 0);
    placed_read_ = placed;
  }
  if (panic != before) {
    panic_.store(panic, kRelaxed);
    totals_.panics.add(panic ? 1 : 0);
    HostEvent change =
        event(kNoSlot, panic ? HostEvent::Kind::kPanicBegan : HostEvent::Kind::kPanicEnded, now);
    change.rule = "panic";
    change.reason = Sentence()
                        .number(static_cast<uint64_t>(usable))
                        .text(" of ")
                        .number(static_cast<uint64_t>(hosts))
                        .text(panic ? " hosts usable: all are used" : " hosts usable")
                        .str();
    out.push_back(std::move(change));
  }
  usable_.store(panic ? known : sound, std::memory_order_release);
}

/// Calls ever placed, on all hosts of the process's life. Slots are never unmade.
uint64_t Hosts::placed_calls() const {
  uint64_t placed = 0;
  for (const HotHost& host : hot_) {
    for (uint32_t worker = 0; host.shards && worker < workers_; ++worker) {
      const HostShard& shard = host.shards[worker];
      placed += shard.in_flight.value() + shard.late.value();
      for (const base::Counter& count : shard.results) {
        placed += count.value();
      }
    }
  }
  return placed;
}

HostsPeek Hosts::peek() const {
  const uint64_t known = known_.load(std::memory_order_acquire);
  return {.hosts = static_cast<uint32_t>(std::popcount(known)),
          .ejected = static_cast<uint32_t>(std::popcount(known & ejected_.load(kRelaxed))),
          .panic = panic_.load(kRelaxed)};
}

std::vector<HostState> Hosts::states() const {
  std::vector<HostState> states;
  for (uint64_t rest = known_.load(kRelaxed); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<size_t>(std::countr_zero(rest));
    const HotHost& host = hot_[slot];
    HostState state{.id = host.id.load(kRelaxed),
                    .ejected = (ejected_.load(kRelaxed) & bit_of(slot)) != 0,
                    .until = records_[slot]->until,
                    .ejections = records_[slot]->ejections,
                    .weight = static_cast<double>(host.weight.load(kRelaxed)) / kFullWeight};
    for (uint32_t worker = 0; worker < workers_; ++worker) {
      const HostShard& shard = host.shards[worker];
      state.in_flight += shard.in_flight.value();
      for (size_t i = 0; i < kHostResults; ++i) {
        state.results[i] += shard.results[i].value();
      }
    }
    states.push_back(state);
  }
  return states;
}

}  // namespace spillway::resilience
