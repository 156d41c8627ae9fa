#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adapters/redis_caps.h"
#include "adapters/redis_client.h"
#include "adapters/redis_reply.h"
#include "base/time.h"
#include "bidder/caps/keys.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/user.h"
#include "net/reactor.h"

namespace spillway::adapters {

namespace caps = bidder::caps;

struct RedisSegments::Body : RedisListener {
  /// Somebody who is to be told: the one who reads, or one who waits for it.
  struct Asker {
    uint64_t tag = 0;
    SegmentListener* listener = nullptr;
  };

  /// A read under way.
  struct Read {
    caps::UserHash user;
    uint64_t asker = 0;
    RedisTicket ticket = 0;
  };

  Body(net::Reactor& own_reactor, RedisClient& own_client,
       const caps::SegmentCacheSettings& settings)
      : reactor(own_reactor), client(own_client), cache(settings) {}

  virtual ~Body() {
    for (const auto& [number, read] : reads) {
      client.cancel(read.ticket);
    }
  }

  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  void on_redis(uint64_t tag, const RedisResult& result, RedisReply reply) override;
  void tell(uint64_t asker, const caps::Segments& segments);

  net::Reactor& reactor;
  RedisClient& client;
  caps::SegmentCache cache;
  uint64_t next = 0;
  std::unordered_map<uint64_t, Asker> askers;
  std::unordered_map<uint64_t, Read> reads;
};

RedisSegments::RedisSegments(net::Reactor& reactor, RedisClient& client,
                             const caps::SegmentCacheSettings& settings)
    : body_(std::make_unique<Body>(reactor, client, settings)) {}

RedisSegments::~RedisSegments() = default;

std::optional<caps::Segments> RedisSegments::ask(const caps::UserHash& user, base::Instant deadline,
                                                 uint64_t tag, SegmentListener& listener) {
  Body& body = *body_;
  const uint64_t asker = ++body.next;
  caps::Segments found;
  switch (body.cache.look(user, asker, body.reactor.now(), found)) {
    case caps::SegmentCache::Look::kHit:
      return found;
    case caps::SegmentCache::Look::kFull:
      return caps::Segments{};
    case caps::SegmentCache::Look::kWait:
      body.askers.emplace(asker, Body::Asker{.tag = tag, .listener = &listener});
      return std::nullopt;
    case caps::SegmentCache::Look::kRead:
      break;
  }
  const std::string key = caps::segments_key(user);
  const std::array<std::string_view, 2> command{"GET", key};
  const auto ticket = body.client.ask(RedisUse::kRead, command, deadline, asker, body);
  if (!ticket) {
    std::vector<uint64_t> waited;  // nobody: the read was begun in this call
    body.cache.on_answer(user, {}, body.reactor.now(), waited);
    return caps::Segments{};
  }
  body.askers.emplace(asker, Body::Asker{.tag = tag, .listener = &listener});
  body.reads.emplace(asker, Body::Read{.user = user, .asker = asker, .ticket = *ticket});
  return std::nullopt;
}

void RedisSegments::Body::tell(uint64_t asker, const caps::Segments& segments) {
  if (const auto found = askers.find(asker); found != askers.end()) {
    const Asker who = found->second;
    askers.erase(found);
    who.listener->on_segments(who.tag, segments);
  }
}

void RedisSegments::Body::on_redis(uint64_t tag, const RedisResult& result, RedisReply /*reply*/) {
  const auto found = reads.find(tag);
  if (found == reads.end()) {
    return;
  }
  const Read read = found->second;
  reads.erase(found);
  caps::Segments segments;
  if (result && result->type() == RedisType::kNil) {
    segments.state = caps::SegmentState::kNoSuchUser;
  } else if (result && result->type() == RedisType::kString) {
    segments = {.state = caps::SegmentState::kKnown, .ids = result->text()};
  }
  std::vector<uint64_t> waited;
  cache.on_answer(read.user, segments, reactor.now(), waited);
  tell(read.asker, segments);
  for (const uint64_t asker : waited) {
    tell(asker, segments);
  }
}

/// The read itself goes on: others may wait for it, and its answer is remembered.
void RedisSegments::cancel(uint64_t tag, SegmentListener& listener) {
  std::erase_if(body_->askers, [&](const auto& asker) {
    return asker.second.tag == tag && asker.second.listener == &listener;
  });
}

const caps::SegmentCacheCounters& RedisSegments::counters() const {
  return body_->cache.counters();
}

}  // namespace spillway::adapters
