#include "bidder/caps/table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "base/spin_lock.h"
#include "bidder/caps/counter_key.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "resilience/checker.h"
#include "resilience/problem.h"

namespace spillway::bidder::caps {

namespace {

constexpr size_t kStripes = 256;
constexpr size_t kWays = 16;
constexpr size_t kMostLimits = 32;
constexpr size_t kSlices = 5;  ///< The present one and four before: pending_s to pending_s · 5/4.
constexpr uint32_t kMostShown = 65'534;

/// What is known of one user under one key.
struct Counter {
  CapCounts shown;
  std::array<uint16_t, kSlices> pending{};  ///< Of slice_, slice_ - 1, …
  uint32_t slice = 0;
  uint32_t used_s = 0;

  [[nodiscard]] uint32_t held() const {
    return std::accumulate(pending.begin(), pending.end(), uint32_t{0});
  }

  /// Places that expire now.
  uint32_t roll(uint32_t now) {
    if (now <= slice) {
      return 0;
    }
    const size_t steps = std::min<size_t>(now - slice, kSlices);
    const uint32_t before = held();
    std::ranges::copy_backward(pending.begin(), pending.end() - static_cast<std::ptrdiff_t>(steps),
                               pending.end());
    std::fill_n(pending.begin(), steps, uint16_t{0});
    slice = now;
    return before - held();
  }

  /// The places taken in slice `hold`; null when they have expired.
  uint16_t* taken_in(CapHold hold) {
    const size_t age = slice - hold;
    return hold <= slice && age < kSlices && pending[age] > 0 ? &pending[age] : nullptr;
  }
};

using Hashes = std::array<uint64_t, kMostLimits>;

/// Keys apart from their counters: a look-up reads two lines of memory and the counter's own.
struct Set {
  std::array<uint64_t, kWays> keys{};  ///< 0: free.
  std::array<Counter, kWays> counters;
};

}  // namespace

struct alignas(64) CapTable::Stripe {
  explicit Stripe(size_t set_count) : sets(set_count) {}

  Set& set_of(uint64_t key) { return sets[((key >> 32) * sets.size()) >> 32]; }

  Counter* find(uint64_t key) {
    Set& set = set_of(key);
    // They are taken in order and never given up: behind the first free one there is none.
    for (size_t i = 0; i < kWays && set.keys[i] != 0; ++i) {
      if (set.keys[i] == key) {
        return &set.counters[i];
      }
    }
    return nullptr;
  }

  /// The counter of `key`, rolled to the present; a new one takes the place of the one used longest
  /// ago that holds none. Null when all of them hold places.
  Counter* find_or_make(uint64_t key, int64_t unix_s) {
    Counter* found = find(key);
    if (found == nullptr) {
      found = make(key);
    }
    if (found != nullptr) {
      counts.expired += found->roll(slice);
      found->used_s = static_cast<uint32_t>(unix_s);
    }
    return found;
  }

  Counter* make(uint64_t key) {
    Set& set = set_of(key);
    size_t victim = kWays;
    for (size_t i = 0; i < kWays; ++i) {
      if (set.keys[i] == 0) {
        victim = i;
        ++counts.counters;
        break;
      }
      Counter& counter = set.counters[i];
      counts.expired += counter.roll(slice);
      if (counter.held() == 0 &&
          (victim == kWays || counter.used_s < set.counters[victim].used_s)) {
        victim = i;
      }
    }
    if (victim == kWays) {
      return nullptr;
    }
    counts.evicted += set.keys[victim] != 0 ? 1 : 0;
    set.keys[victim] = key;
    set.counters[victim] = Counter{};
    return &set.counters[victim];
  }

  /// Whether one more place is there under a limit; `shown` is what is known from elsewhere.
  bool has_place(const CapLimit& limit, uint64_t key, CapCounts shown, int64_t unix_s) {
    uint32_t held = 0;
    if (Counter* const counter = find(key); counter != nullptr) {
      counts.expired += counter->roll(slice);
      shown.merge_max(counter->shown);
      held = counter->held();
    }
    return shown.total(bucket_at(limit.key, unix_s), buckets_of(limit.key)) + held <
           std::min(limit.most, kMostShown);
  }

  void advance(uint32_t now) { slice = std::max(slice, now); }

  /// What the section will look for, hashed and on its way from memory before the lock is held.
  void prepare(const UserHash& user, std::span<const CapKey> keys, Hashes& hashes) {
    SPILLWAY_ASSERT(keys.size() <= kMostLimits);
    const uint64_t who = counter_user(user);
    for (size_t i = 0; i < keys.size(); ++i) {
      hashes[i] = prepare(who, keys[i]);
    }
  }

  void prepare(const UserHash& user, std::span<const CapLimit> limits, Hashes& hashes) {
    SPILLWAY_ASSERT(limits.size() <= kMostLimits);
    const uint64_t who = counter_user(user);
    for (size_t i = 0; i < limits.size(); ++i) {
      hashes[i] = prepare(who, limits[i].key);
    }
  }

  uint64_t prepare(uint64_t who, const CapKey& key) {
    const uint64_t hash = counter_key(who, key);
    const Set& set = set_of(hash);
    __builtin_prefetch(set.keys.data());
    __builtin_prefetch(set.keys.data() + kWays / 2);
    return hash;
  }

  static CapKey key_of(const CapKey& key) { return key; }

  static CapKey key_of(const CapLimit& limit) { return limit.key; }

  base::SpinLock lock;
  uint32_t slice = 0;
  CapTableCounters counts;
  std::vector<Set> sets;
};

std::vector<resilience::Problem> validate(const CapTableSettings& settings) {
  resilience::Checker check;
  check.within("bytes", settings.bytes, uint64_t{1} << 20, uint64_t{64} << 30);
  check.within("pending_s", std::chrono::seconds(settings.pending_s), std::chrono::seconds(1),
               std::chrono::hours(1));
  return check.take();
}

CapTable::CapTable(const CapTableSettings& settings)
    : slice_s_(std::max<int64_t>(1, (settings.pending_s + 3) / 4)) {
  const size_t sets = std::max<size_t>(1, settings.bytes / kStripes / sizeof(Set));
  SPILLWAY_ASSERT(sets < std::numeric_limits<uint32_t>::max());
  stripes_.reserve(kStripes);
  for (size_t i = 0; i < kStripes; ++i) {
    stripes_.push_back(std::make_unique<Stripe>(sets));
  }
}

CapTable::~CapTable() = default;

CapTable::Stripe& CapTable::stripe_of(const UserHash& user) const {
  return *stripes_[user.low % kStripes];
}

uint32_t CapTable::slice_at(int64_t unix_s) const {
  return static_cast<uint32_t>(std::max<int64_t>(0, unix_s) / slice_s_);
}

base::Result<CapHold, CapRefusal> CapTable::reserve(const UserHash& user,
                                                    std::span<const CapLimit> limits,
                                                    std::span<const CapCounts> known,
                                                    int64_t unix_s) {
  SPILLWAY_ASSERT(known.empty() || known.size() == limits.size());
  Stripe& stripe = stripe_of(user);
  std::array<Counter*, kMostLimits> taken{};
  Hashes hashes{};
  stripe.prepare(user, limits, hashes);
  const base::SpinSection section(stripe.lock);
  stripe.advance(slice_at(unix_s));
  for (size_t i = 0; i < limits.size(); ++i) {
    const CapKey& key = limits[i].key;
    Counter* const counter = stripe.find_or_make(hashes[i], unix_s);
    if (counter != nullptr && !known.empty()) {
      counter->shown.merge_max(known[i]);
    }
    const bool full =
        counter == nullptr || counter->pending[0] == std::numeric_limits<uint16_t>::max();
    if (full || counter->shown.total(bucket_at(key, unix_s), buckets_of(key)) + counter->held() >=
                    std::min(limits[i].most, kMostShown)) {
      for (size_t j = 0; j < i; ++j) {
        --taken[j]->pending[0];
      }
      ++(full ? stripe.counts.full : stripe.counts.capped);
      return std::unexpected(full ? CapRefusal::kFull : CapRefusal::kCapped);
    }
    ++counter->pending[0];  // A counter that holds a place is not displaced by the next one.
    taken[i] = counter;
  }
  ++stripe.counts.reserved;
  return stripe.slice;
}

bool CapTable::allows(const UserHash& user, std::span<const CapLimit> limits,
                      std::span<const CapCounts> known, int64_t unix_s) const {
  SPILLWAY_ASSERT(known.empty() || known.size() == limits.size());
  Stripe& stripe = stripe_of(user);
  Hashes hashes{};
  stripe.prepare(user, limits, hashes);
  const base::SpinSection section(stripe.lock);
  stripe.advance(slice_at(unix_s));
  for (size_t i = 0; i < limits.size(); ++i) {
    if (!stripe.has_place(limits[i], hashes[i], known.empty() ? CapCounts{} : known[i], unix_s)) {
      return false;
    }
  }
  return true;
}

void CapTable::allow_each(const UserHash& user, std::span<const CapLimit> limits,
                          std::span<const CapCounts> known, int64_t unix_s,
                          std::span<uint8_t> allowed) const {
  SPILLWAY_ASSERT((known.empty() || known.size() == limits.size()) &&
                  allowed.size() == limits.size());
  Stripe& stripe = stripe_of(user);
  // A section at a time: however many there are, nobody waits longer.
  for (size_t from = 0; from < limits.size(); from += kMostLimits) {
    const auto some = limits.subspan(from, std::min(kMostLimits, limits.size() - from));
    Hashes hashes;
    stripe.prepare(user, some, hashes);
    const base::SpinSection section(stripe.lock);
    stripe.advance(slice_at(unix_s));
    for (size_t i = 0; i < some.size(); ++i) {
      const CapCounts shown = known.empty() ? CapCounts{} : known[from + i];
      allowed[from + i] = stripe.has_place(some[i], hashes[i], shown, unix_s) ? 1 : 0;
    }
  }
}

bool CapTable::win(const UserHash& user, std::span<const CapKey> keys, CapHold hold,
                   int64_t unix_s) {
  Stripe& stripe = stripe_of(user);
  Hashes hashes{};
  stripe.prepare(user, keys, hashes);
  const base::SpinSection section(stripe.lock);
  stripe.advance(slice_at(unix_s));
  bool in_time = true;
  for (size_t i = 0; i < keys.size(); ++i) {
    Counter* const counter = stripe.find_or_make(hashes[i], unix_s);
    uint16_t* const place = counter != nullptr ? counter->taken_in(hold) : nullptr;
    in_time = in_time && place != nullptr;
    if (place != nullptr) {
      --*place;
    }
    if (counter != nullptr) {
      counter->shown.add(bucket_at(keys[i], unix_s), 1);
    }
  }
  ++stripe.counts.won;
  stripe.counts.won_late += in_time ? 0 : 1;
  return in_time;
}

void CapTable::release(const UserHash& user, std::span<const CapKey> keys, CapHold hold,
                       int64_t unix_s) {
  Stripe& stripe = stripe_of(user);
  Hashes hashes{};
  stripe.prepare(user, keys, hashes);
  const base::SpinSection section(stripe.lock);
  stripe.advance(slice_at(unix_s));
  bool held = false;
  for (size_t i = 0; i < keys.size(); ++i) {
    Counter* const counter = stripe.find(hashes[i]);
    if (counter == nullptr) {
      continue;
    }
    stripe.counts.expired += counter->roll(stripe.slice);
    if (uint16_t* const place = counter->taken_in(hold); place != nullptr) {
      --*place;
      held = true;
    }
  }
  stripe.counts.released += held ? 1 : 0;
}

void CapTable::learn(const UserHash& user, std::span<const CapKey> keys,
                     std::span<const CapCounts> known, int64_t unix_s) {
  SPILLWAY_ASSERT(known.size() == keys.size());
  Stripe& stripe = stripe_of(user);
  // A section at a time: however many there are, nobody waits longer.
  for (size_t from = 0; from < keys.size(); from += kMostLimits) {
    const std::span<const CapKey> some =
        keys.subspan(from, std::min(kMostLimits, keys.size() - from));
    Hashes hashes{};
    stripe.prepare(user, some, hashes);
    const base::SpinSection section(stripe.lock);
    stripe.advance(slice_at(unix_s));
    for (size_t i = 0; i < some.size(); ++i) {
      Counter* const counter = stripe.find_or_make(hashes[i], unix_s);
      if (counter != nullptr) {
        counter->shown.merge_max(known[from + i]);
      }
    }
  }
}

CapTable::View CapTable::view(const UserHash& user, const CapKey& key, int64_t unix_s) const {
  Stripe& stripe = stripe_of(user);
  const base::SpinSection section(stripe.lock);
  stripe.advance(slice_at(unix_s));
  Counter* const counter = stripe.find(counter_key(user, key));
  if (counter == nullptr) {
    return {};
  }
  stripe.counts.expired += counter->roll(stripe.slice);
  return {.shown = counter->shown.total(bucket_at(key, unix_s), buckets_of(key)),
          .pending = counter->held()};
}

CapTableCounters CapTable::counters() const {
  CapTableCounters sum;
  for (const auto& stripe : stripes_) {
    const base::SpinSection section(stripe->lock);
    sum.reserved += stripe->counts.reserved;
    sum.capped += stripe->counts.capped;
    sum.full += stripe->counts.full;
    sum.won += stripe->counts.won;
    sum.won_late += stripe->counts.won_late;
    sum.released += stripe->counts.released;
    sum.expired += stripe->counts.expired;
    sum.evicted += stripe->counts.evicted;
    sum.counters += stripe->counts.counters;
  }
  return sum;
}

}  // namespace spillway::bidder::caps
