#include "app/bidder/redis_stores.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "adapters/redis_caps.h"
#include "app/bidder/stores.h"
#include "app/serving/wall_clock.h"
#include "base/time.h"
#include "bidder/caps/keys.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "net/reactor.h"

namespace spillway::app::bidding {

using bidder::caps::CapCounts;

RedisStores::RedisStores(net::Reactor& reactor, const RedisConfig& config,
                         const bidder::caps::SegmentCacheSettings& segments, const Place& place,
                         StoreListener& listener)
    : cache_(place.cache),
      listener_(listener),
      client_(reactor, config.server, place.guard, place.worker, place.seed) {
  if (config.keeps_caps) {
    caps_ = std::make_unique<adapters::RedisCaps>(reactor, client_, config.caps, place.seed + 1);
  }
  if (config.keeps_segments) {
    segments_ = std::make_unique<adapters::RedisSegments>(reactor, client_, segments);
  }
}

std::optional<bidder::caps::Segments> RedisStores::segments(const bidder::caps::UserHash& user,
                                                            base::Instant until, uint64_t tag) {
  return segments_->ask(user, until, tag, *this);
}

RedisStores::Reading& RedisStores::reading_of(uint64_t tag) {
  const auto slot = static_cast<uint32_t>(tag);
  while (readings_.size() <= slot) {
    readings_.push_back(std::make_unique<Reading>());
  }
  return *readings_[slot];
}

Stores::Counts RedisStores::counts(const bidder::caps::UserHash& user,
                                   std::span<const bidder::caps::CapKey> keys, base::Instant until,
                                   uint64_t tag) {
  Reading& reading = reading_of(tag);
  reading.tag = tag;
  reading.user = user;
  reading.counts.assign(keys.size(), CapCounts{});
  reading.missing.clear();
  reading.keys.clear();
  if (cache_ != nullptr &&
      cache_->find(user, keys, reading.counts, reading.missing, wall_clock_ms() / 1'000)) {
    return {.later = false, .counts = reading.counts};
  }
  if (cache_ == nullptr) {
    for (uint32_t i = 0; i < keys.size(); ++i) {
      reading.missing.push_back(i);
    }
  }
  for (const uint32_t place : reading.missing) {
    reading.keys.push_back(keys[place]);
  }
  const auto ticket = caps_->read(user, reading.keys, until, tag, *this);
  if (!ticket) {
    return {.later = false, .counts = std::nullopt};
  }
  reading.ticket = *ticket;
  reading.open = true;
  return {.later = true, .counts = std::nullopt};
}

void RedisStores::on_counts(uint64_t tag, std::optional<std::span<const CapCounts>> counts) {
  Reading& reading = reading_of(tag);
  if (!reading.open || reading.tag != tag) {
    return;
  }
  reading.open = false;
  if (!counts || counts->size() != reading.missing.size()) {
    listener_.on_counts(tag, std::nullopt);
    return;
  }
  for (size_t i = 0; i < counts->size(); ++i) {
    reading.counts[reading.missing[i]] = (*counts)[i];
  }
  if (cache_ != nullptr) {
    cache_->populate(reading.user, reading.keys, *counts, wall_clock_ms() / 1'000);
  }
  listener_.on_counts(tag, reading.counts);
}

void RedisStores::on_segments(uint64_t tag, const bidder::caps::Segments& segments) {
  listener_.on_segments(tag, segments);
}

void RedisStores::publish() {
  if (segments_ == nullptr) {
    return;
  }
  const auto& c = segments_->counters();
  const std::array counts{c.hits, c.reads, c.joined, c.evicted, c.expired, c.too_large};
  static_assert(counts.size() == kSegmentEvents.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    segment_events_[i].set(counts[i]);
  }
}

void RedisStores::cancel(uint64_t tag) {
  if (segments_ != nullptr) {
    segments_->cancel(tag, *this);
  }
  Reading& reading = reading_of(tag);
  if (reading.open && reading.tag == tag) {
    reading.open = false;
    caps_->cancel(reading.ticket);
  }
}

bool RedisStores::won(const bidder::caps::UserHash& user,
                      const bidder::caps::Impression& impression,
                      std::span<const bidder::caps::CapKey> keys, int64_t unix_s) {
  return caps_->write(user, impression, keys, unix_s);
}

}  // namespace spillway::app::bidding
