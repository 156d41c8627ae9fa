#include "adapters/redis_samples.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "adapters/redis_client.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_settings.h"
#include "adapters/sample_packet.h"
#include "capacity/sample.h"
#include "net/reactor.h"

namespace spillway::adapters {
namespace {

constexpr size_t kPrunedAtOnce = 16;

RedisSettings without_replicas(RedisSettings settings) {
  // A replica's lag would be a sample's age, and hedged reads would double the traffic.
  settings.replicas.clear();
  settings.hedge.enabled = false;
  return settings;
}

}  // namespace

RedisSamples::RedisSamples(net::Reactor& reactor, const RedisSettings& redis,
                           RedisSamplesSettings settings, uint64_t seed, WallClock wall_clock,
                           Take take)
    : reactor_(reactor),
      settings_(std::move(settings)),
      hash_(fmt::format("spillway:{{{}}}:samples:{}", settings_.service, settings_.zone)),
      packets_(settings_.key),
      wall_clock_(std::move(wall_clock)),
      take_(std::move(take)),
      guard_("redis/samples/all", redis_guard_settings(), 1, seed, reactor.now()),
      client_(reactor, without_replicas(redis), guard_, 0, seed) {
  // Three commands a period overload nobody: a circuit would only keep samples out.
  guard_.set_mode(reactor.now(), resilience::Mode::kDisabled, base::kNever, "samples",
                  transitions_);
}

void RedisSamples::exchange(const capacity::Sample& sample) {
  transitions_.clear();
  guard_.tick(reactor_.now(), transitions_);
  const auto packet = packets_.seal(sample, reactor_.now(), wall_clock_());
  const auto forget_ms =
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(kForget).count());
  const std::array<std::string_view, 4> write{"HSET", hash_, sample.id, packet};
  const std::array<std::string_view, 3> expire{"PEXPIRE", hash_, forget_ms};
  const std::array<std::string_view, 2> read{"HGETALL", hash_};
  ask(Tag::kWrite, RedisUse::kPrimary, write);
  ask(Tag::kPrune, RedisUse::kPrimary, expire);
  ask(Tag::kRead, RedisUse::kPrimary, read);
}

void RedisSamples::leave(std::string_view id) {
  const std::array<std::string_view, 3> parts{"HDEL", hash_, id};
  ask(Tag::kPrune, RedisUse::kPrimary, parts);
}

void RedisSamples::ask(Tag tag, RedisUse use, std::span<const std::string_view> parts) {
  const auto ticket = client_.ask(use, parts, reactor_.now() + settings_.timeout,
                                  static_cast<uint64_t>(tag), *this);
  if (!ticket) {
    counters_.failures.add();
  }
}

void RedisSamples::on_redis(uint64_t tag, const RedisResult& result, RedisReply reply) {
  if (!result) {
    counters_.failures.add();
  } else if (static_cast<Tag>(tag) == Tag::kWrite) {
    counters_.writes.add();
  } else if (static_cast<Tag>(tag) == Tag::kRead) {
    counters_.reads.add();
    on_samples(reply);
  }
}

void RedisSamples::on_samples(const RedisReply& reply) {
  std::vector<std::string> gone;
  std::string id;
  bool is_value = false;
  reply.for_each([&](const RedisReply& element) {
    if (!std::exchange(is_value, !is_value)) {
      id = element.text();
      return;
    }
    auto sample = packets_.open_stored(element.text(), reactor_.now(), wall_clock_(), kForget);
    if (sample && sample->id == id) {
      counters_.received.add();
      take_(std::move(*sample));
      return;
    }
    const auto error = sample ? PacketErrc::kImplausible : sample.error();
    if (error == PacketErrc::kClock && gone.size() < kPrunedAtOnce) {
      gone.push_back(id);
    } else {
      counters_.rejected.at(static_cast<size_t>(error)).add();
    }
  });
  if (!gone.empty()) {
    prune(gone);
  }
}

void RedisSamples::prune(const std::vector<std::string>& ids) {
  std::vector<std::string_view> parts{"HDEL", hash_};
  parts.insert(parts.end(), ids.begin(), ids.end());
  counters_.pruned.add(ids.size());
  ask(Tag::kPrune, RedisUse::kPrimary, parts);
}

}  // namespace spillway::adapters
