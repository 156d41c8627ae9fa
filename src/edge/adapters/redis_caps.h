#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "adapters/redis_client.h"
#include "base/counter.h"
#include "base/result.h"
#include "base/time.h"
#include "bidder/caps/keys.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"

namespace spillway::adapters {

struct RedisCapsSettings {
  /// A repeated win is recognised for so long. Larger: more memory of Redis. [1 min, 30 days].
  base::Duration dedup = std::chrono::hours(24);
  /// Wins not yet written, of one worker. [1, 10 000 000].
  uint32_t max_wins = 65'536;
  /// Of them under way at once. [1, 4 096].
  uint32_t in_flight = 256;
  base::Duration write_timeout = std::chrono::milliseconds(500);  ///< Of one attempt.
  /// Tried again until so old: below half of `dedup`, so that none can count twice. [1 s, 30 days].
  base::Duration give_up_after = std::chrono::hours(1);
};

[[nodiscard]] std::vector<resilience::Problem> validate(const RedisCapsSettings& settings);

/// Who asked for counts or segments.
class CapListener {
 public:
  /// Once for every read that gave a ticket, never inside it. `counts` are in the order of the keys
  /// asked; none: could not ask.
  virtual void on_counts(uint64_t tag,
                         std::optional<std::span<const bidder::caps::CapCounts>> counts) = 0;

 protected:
  ~CapListener() = default;
};

struct RedisCapsCounters {
  base::Counter reads;
  base::Counter read_failures;  ///< Refusals of the guard among them.
  base::Counter unreadable;  ///< Fields that are no counts, taken as zero; an operator must look.
  base::Counter wins_queued;
  base::Counter wins_written;
  base::Counter wins_known;  ///< Were written before: a repetition.
  base::Counter wins_retried;
  base::Counter wins_refused;  ///< The queue is full.
  base::Counter wins_given_up;
  base::Counter wins_waiting;  ///< Now.
};

/// Frequency counts in Redis (docs/redis_keys.md): read in one round trip a request, written win by
/// win, each again until it is acknowledged. One a worker; `reactor` and `client` outlive it.
/// Memory: max_wins, some 400 bytes each; a read under way allocates nothing after warm-up.
class RedisCaps {
 public:
  RedisCaps(net::Reactor& reactor, RedisClient& client, const RedisCapsSettings& settings,
            uint64_t seed);
  RedisCaps(const RedisCaps&) = delete;
  RedisCaps& operator=(const RedisCaps&) = delete;
  ~RedisCaps();

  /// All counters of one request, at most 4 096 keys; reads go to replicas and are hedged.
  [[nodiscard]] base::Result<RedisTicket, RedisErrc> read(
      const bidder::caps::UserHash& user, std::span<const bidder::caps::CapKey> keys,
      base::Instant deadline, uint64_t tag, CapListener& listener);

  /// The caller no longer wants it and is not called.
  void cancel(RedisTicket ticket);

  /// Takes over the win: written in order of arrival, 256 at a time, until Redis says that it has
  /// it. False: the queue is full, counted; answer the notice so that it is sent again.
  [[nodiscard]] bool write(const bidder::caps::UserHash& user,
                           const bidder::caps::Impression& impression,
                           std::span<const bidder::caps::CapKey> keys, int64_t unix_s);

  [[nodiscard]] size_t wins_waiting() const;

  [[nodiscard]] const RedisCapsCounters& counters() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

class SegmentListener {
 public:
  /// Once for every ask that did not give an answer at once. The view lasts during the call.
  virtual void on_segments(uint64_t tag, const bidder::caps::Segments& segments) = 0;

 protected:
  ~SegmentListener() = default;
};

/// Users' segments: this worker's cache in front of Redis, one read a user at a time.
class RedisSegments {
 public:
  RedisSegments(net::Reactor& reactor, RedisClient& client,
                const bidder::caps::SegmentCacheSettings& settings);
  RedisSegments(const RedisSegments&) = delete;
  RedisSegments& operator=(const RedisSegments&) = delete;
  ~RedisSegments();

  /// A value: the answer (of the cache, or could-not-ask), valid until the next call. None: the
  /// listener is called, by `deadline` at the latest of the read that is under way.
  [[nodiscard]] std::optional<bidder::caps::Segments> ask(const bidder::caps::UserHash& user,
                                                          base::Instant deadline, uint64_t tag,
                                                          SegmentListener& listener);

  /// None of this listener's tags is called any more.
  void cancel(uint64_t tag, SegmentListener& listener);

  [[nodiscard]] const bidder::caps::SegmentCacheCounters& counters() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace spillway::adapters
