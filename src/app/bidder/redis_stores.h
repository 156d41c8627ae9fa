#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "adapters/redis_caps.h"
#include "adapters/redis_client.h"
#include "adapters/redis_settings.h"
#include "app/bidder/stores.h"
#include "base/counter.h"
#include "base/time.h"
#include "bidder/caps/cache.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "net/reactor.h"
#include "resilience/guard.h"

namespace spillway::app::bidding {

/// What is kept in Redis, and how it is reached.
struct RedisConfig {
  adapters::RedisSettings server;
  resilience::Settings guard = adapters::redis_guard_settings();
  adapters::RedisCapsSettings caps;
  bool keeps_caps = true;
  bool keeps_segments = true;
};

/// One worker's way to Redis: counts behind the process's cache of them, segments behind the
/// worker's own. One client, so one guard and one health, whoever asks. One thread: the worker's.
class RedisStores final : public Stores,
                          private adapters::CapListener,
                          private adapters::SegmentListener {
 public:
  /// Where it stands among the workers, and what it shares with them.
  struct Place {
    resilience::Guard& guard;
    uint32_t worker = 0;
    uint64_t seed = 0;
    bidder::caps::CapCache* cache = nullptr;  ///< Null: none.
  };

  /// All outlive it.
  RedisStores(net::Reactor& reactor, const RedisConfig& config,
              const bidder::caps::SegmentCacheSettings& segments, const Place& place,
              StoreListener& listener);

  /// On the worker's thread, before anything is asked.
  void start() override { client_.start(); }

  [[nodiscard]] bool has_segments() const override { return segments_ != nullptr; }

  [[nodiscard]] bool has_counts() const override { return caps_ != nullptr; }

  std::optional<bidder::caps::Segments> segments(const bidder::caps::UserHash& user,
                                                 base::Instant until, uint64_t tag) override;
  Counts counts(const bidder::caps::UserHash& user, std::span<const bidder::caps::CapKey> keys,
                base::Instant until, uint64_t tag) override;
  void cancel(uint64_t tag) override;
  [[nodiscard]] bool won(const bidder::caps::UserHash& user,
                         const bidder::caps::Impression& impression,
                         std::span<const bidder::caps::CapKey> keys, int64_t unix_s) override;

  void set_shed_level(uint8_t level) override { client_.set_shed_level(level); }

  [[nodiscard]] size_t waiting() const override {
    return caps_ != nullptr ? static_cast<size_t>(caps_->counters().wins_waiting.value()) : 0;
  }

  [[nodiscard]] const adapters::RedisCounters& client_counters() const {
    return client_.counters();
  }

  [[nodiscard]] const adapters::RedisCapsCounters* caps_counters() const {
    return caps_ != nullptr ? &caps_->counters() : nullptr;
  }

  /// Names of what the cache of segments counts, as label values.
  static constexpr std::array<std::string_view, 6> kSegmentEvents{
      "hit", "read", "joined", "evicted", "expired", "too_large"};

  void publish() override;

  /// As of the last publish(), in the order of kSegmentEvents. Any thread.
  [[nodiscard]] const std::array<base::Counter, kSegmentEvents.size()>& segment_events() const {
    return segment_events_;
  }

 private:
  /// Counts of one request that are being read; its place is the flight's.
  struct Reading {
    uint64_t tag = 0;
    bool open = false;
    adapters::RedisTicket ticket = 0;
    bidder::caps::UserHash user;
    std::vector<bidder::caps::CapCounts> counts;  ///< Of all keys that were asked for.
    std::vector<uint32_t> missing;                ///< Places of those that are read,
    std::vector<bidder::caps::CapKey> keys;       ///< and their keys.
  };

  Reading& reading_of(uint64_t tag);
  void on_counts(uint64_t tag,
                 std::optional<std::span<const bidder::caps::CapCounts>> counts) override;
  void on_segments(uint64_t tag, const bidder::caps::Segments& segments) override;

  bidder::caps::CapCache* cache_;
  StoreListener& listener_;
  adapters::RedisClient client_;
  std::unique_ptr<adapters::RedisCaps> caps_;          ///< Null: not kept there.
  std::unique_ptr<adapters::RedisSegments> segments_;  ///< The same.
  std::vector<std::unique_ptr<Reading>> readings_;
  std::array<base::Counter, kSegmentEvents.size()> segment_events_;
};

}  // namespace spillway::app::bidding
