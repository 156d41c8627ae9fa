#include "adapters/redis_client.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/redis_calls.h"
#include "adapters/redis_connection.h"
#include "adapters/redis_outcome.h"
#include "adapters/redis_protocol.h"
#include "adapters/redis_sentinel.h"
#include "adapters/redis_server.h"
#include "adapters/redis_settings.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "resilience/guard.h"
#include "resilience/hedge.h"
#include "resilience/outcome.h"

namespace spillway::adapters {

namespace {

RedisErrc error_of(resilience::Refusal refusal) {
  switch (refusal) {
    case resilience::Refusal::kCircuitOpen:
    case resilience::Refusal::kHostEjected:
      return RedisErrc::kCircuitOpen;
    case resilience::Refusal::kConcurrency:
    case resilience::Refusal::kQps:
      return RedisErrc::kBusy;
    case resilience::Refusal::kDeadlineTooShort:
      return RedisErrc::kTooLate;
  }
  return RedisErrc::kCircuitOpen;
}

}  // namespace

std::string_view to_string(RedisErrc error) {
  constexpr std::array<std::string_view, kRedisErrors> kNames{
      "circuit_open", "busy", "too_late", "timeout",     "refused",
      "lost",         "tls",  "protocol", "error_reply", "cancelled"};
  return kNames[static_cast<size_t>(error)];
}

RedisClient::RedisClient(net::Reactor& reactor, RedisSettings settings, resilience::Guard& guard,
                         uint32_t worker, uint64_t seed, std::shared_ptr<net::NameLookup> names)
    : body_(std::make_unique<Body>(reactor, std::move(settings), guard, worker, seed,
                                   std::move(names))) {}

RedisClient::~RedisClient() = default;

void RedisClient::start() {
  Body& body = *body_;
  if (!body.settings.sentinels.empty()) {
    body.sentinels = std::make_unique<RedisSentinels>(body.parts, body);
    body.sentinels->start();
    return;
  }
  body.on_topology(body.settings.primary, body.settings.replicas);
}

base::Result<RedisTicket, RedisErrc> RedisClient::ask(RedisUse use,
                                                      std::span<const std::string_view> parts,
                                                      base::Instant deadline, uint64_t tag,
                                                      RedisListener& listener) {
  return body_->ask(use, parts, deadline, tag, listener);
}

void RedisClient::cancel(RedisTicket ticket) {
  if (Body::Call* const call = body_->find(ticket); call != nullptr) {
    body_->drop(*call, RedisErrc::kCancelled);
  }
}

void RedisClient::set_shed_level(uint8_t level) { body_->shed_level = level; }

bool RedisClient::ready(RedisUse use) const { return body_->pick(use) != nullptr; }

std::string_view RedisClient::last_error() const { return body_->parts.last_error; }

const RedisCounters& RedisClient::counters() const { return body_->counters; }

RedisClient::Body::Body(net::Reactor& own_reactor, RedisSettings own_settings,
                        resilience::Guard& own_guard, uint32_t own_worker, uint64_t seed,
                        std::shared_ptr<net::NameLookup> names)
    : reactor(own_reactor),
      settings(std::move(own_settings)),
      guard(own_guard),
      worker(own_worker),
      parts{.reactor = reactor,
            .settings = settings,
            .counters = counters,
            .rng = base::Rng(seed),
            .names = names != nullptr ? std::move(names) : net::Resolver::shared(),
            .last_error = {}},
      hedger(settings.hedge, reactor.now()),
      self(std::make_shared<Body*>(this)) {}

RedisClient::Body::~Body() {
  *self = nullptr;
  for (const auto& call : calls) {
    if (call->live) {
      drop(*call, RedisErrc::kCancelled);
    }
  }
}

RedisClient::Body::Call& RedisClient::Body::take_call() {
  if (free_calls.empty()) {
    free_calls.push_back(static_cast<uint32_t>(calls.size()));
    calls.push_back(std::make_unique<Call>(*this));
    calls.back()->id = calls.size() - 1;
  }
  Call& call = *calls[free_calls.back()];
  free_calls.pop_back();
  // Upper half: how often this place was used. One bit is left free for the leg.
  call.id = (call.id + (uint64_t{1} << 32)) & (~uint64_t{0} >> 2);
  call.live = true;
  call.waiting = false;
  call.hedge_at = base::kNever;
  call.legs = {};
  return call;
}

RedisClient::Body::Call* RedisClient::Body::find(uint64_t id) const {
  const auto index = static_cast<uint32_t>(id);
  if (index >= calls.size()) {
    return nullptr;
  }
  Call* const call = calls[index].get();
  return call->live && call->id == id ? call : nullptr;
}

base::Result<RedisTicket, RedisErrc> RedisClient::Body::refuse(RedisErrc why) {
  counters.failed[static_cast<size_t>(why)].add();
  return std::unexpected(why);
}

base::Result<RedisTicket, RedisErrc> RedisClient::Body::ask(
    RedisUse use, std::span<const std::string_view> command_parts, base::Instant deadline,
    uint64_t tag, RedisListener& listener) {
  const base::Instant now = reactor.now();
  if (deadline <= now) {
    return refuse(RedisErrc::kTooLate);
  }
  auto permit = guard.admit(
      worker, {.now = now, .offered = deadline - now, .request_hash = base::mix64(++asked)});
  if (!permit) {
    return refuse(error_of(permit.error()));
  }
  if (free_calls.empty() && calls.size() >= settings.max_commands) {
    (void)permit->finish(now, resilience::Outcome::kNotSent);
    return refuse(RedisErrc::kBusy);
  }
  Call& call = take_call();
  call.use = use;
  call.tag = tag;
  call.listener = &listener;
  call.started = now;
  call.deadline = deadline;
  call.permit = std::move(*permit);
  call.command = RedisCommand(command_parts);
  if (RedisServer* const server = pick(use); server != nullptr) {
    if (!begin(call, *server)) {
      drop(call, RedisErrc::kBusy);
      return refuse(RedisErrc::kBusy);
    }
  } else if (may_connect(use)) {
    call.waiting = true;
    waiting.push_back(call.id);
    reactor.timers().arm(call, deadline);
  } else {
    doomed.push_back(call.id);
    flush_soon();
  }
  counters.calls.add();
  return call.id;
}

/// The one with the fewest commands out, replicas before the primary; in turn among equals. So a
/// server that stops answering is soon asked last.
RedisServer* RedisClient::Body::pick(RedisUse use, const RedisServer* other_than) const {
  RedisServer* best = nullptr;
  for (size_t i = 0; use == RedisUse::kRead && i < replicas.size(); ++i) {
    RedisServer& replica = *replicas[(turn + i) % replicas.size()];
    if (replica.ready() && &replica != other_than &&
        (best == nullptr || replica.outstanding() < best->outstanding())) {
      best = &replica;
    }
  }
  const bool primary_too = primary != nullptr && primary->ready() && primary.get() != other_than;
  return best == nullptr && primary_too ? primary.get() : best;
}

/// Whether waiting may help: something is being connected to or looked for that did not fail
/// before.
bool RedisClient::Body::may_connect(RedisUse use) const {
  if (primary == nullptr && replicas.empty()) {
    return sentinels == nullptr || !sentinels->failing();
  }
  const auto connects = [](const auto& server) { return server->connecting(); };
  return (primary != nullptr && connects(primary)) ||
         (use == RedisUse::kRead && std::ranges::any_of(replicas, connects));
}

bool RedisClient::Body::send_leg(Call& call, resilience::Leg leg, RedisServer& server,
                                 RedisCommand command) {
  const auto serial = server.send(std::move(command), call.id << 1 | static_cast<uint64_t>(leg));
  if (!serial) {
    return false;
  }
  call.legs[static_cast<size_t>(leg)] = {
      .server = &server, .generation = server.generation(), .serial = *serial};
  flush_soon();
  return true;
}

/// False: the server's queue is full.
bool RedisClient::Body::begin(Call& call, RedisServer& server) {
  const base::Instant now = reactor.now();
  const bool may_repeat =
      call.use == RedisUse::kRead && settings.hedge.enabled && pick(call.use, &server) != nullptr;
  RedisCommand again = may_repeat ? call.command.copy() : RedisCommand();
  if (!send_leg(call, resilience::Leg::kFirst, server, std::move(call.command))) {
    return false;
  }
  call.command = std::move(again);
  call.waiting = false;
  ++turn;
  if (call.use == RedisUse::kRead) {
    const bool probe = call.permit.terms().how == resilience::Admitted::kProbe;
    call.hedged.emplace(hedger);
    call.hedge_at = call.hedged->start(now, call.deadline, probe);
  }
  reactor.timers().arm(call, std::min(call.deadline, call.hedge_at));
  return true;
}

void RedisClient::Body::begin_waiting() {
  std::vector<uint64_t> still;
  std::vector<uint64_t> ids = std::move(waiting);
  waiting.clear();
  for (const uint64_t id : ids) {
    Call* const call = find(id);
    if (call == nullptr || !call->waiting) {
      continue;
    }
    RedisServer* const server = pick(call->use);
    if (server == nullptr || !begin(*call, *server)) {
      still.push_back(id);
    }
  }
  waiting.insert(waiting.end(), still.begin(), still.end());
}

/// Those that wait for what does not come any more.
void RedisClient::Body::fail_waiting() {
  for (const uint64_t id : waiting) {
    Call* const call = find(id);
    if (call != nullptr && call->waiting && !may_connect(call->use)) {
      doomed.push_back(id);
    }
  }
  std::erase_if(waiting, [this](uint64_t id) {
    const Call* const call = find(id);
    return call == nullptr || !call->waiting || !may_connect(call->use);
  });
  if (!doomed.empty()) {
    flush_soon();
  }
}

void RedisClient::Body::flush_soon() {
  if (!flushing) {
    flushing = true;
    reactor.defer([body = self] {
      if (*body != nullptr) {
        (*body)->run_deferred();
      }
    });
  }
}

/// Once a poll: all commands of one server leave together.
void RedisClient::Body::run_deferred() {
  flushing = false;
  retired.clear();
  if (primary != nullptr) {
    primary->flush();
  }
  for (const auto& replica : replicas) {
    replica->flush();
  }
  const std::vector<uint64_t> refused = std::move(doomed);
  doomed.clear();
  for (const uint64_t id : refused) {
    if (Call* const call = find(id); call != nullptr) {
      const RedisEnd end{.error = RedisErrc::kRefused};
      settle(*call, classify(end, call->permit.terms()), std::unexpected(RedisErrc::kRefused), {});
    }
  }
}

std::unique_ptr<RedisServer> RedisClient::Body::make_server(const std::string& address,
                                                            RedisRole role) {
  auto server = std::make_unique<RedisServer>(parts, address, role, *this);
  server->start();
  return server;
}

void RedisClient::Body::on_topology(const std::string& primary_address,
                                    const std::vector<std::string>& replica_addresses) {
  if (primary == nullptr || primary->address() != primary_address) {
    if (primary != nullptr) {
      counters.fail_overs.add();
      primary->reconnect(RedisErrc::kLost);
      retired.push_back(std::move(primary));
    }
    primary = make_server(primary_address, RedisRole::kPrimary);
  }
  std::erase_if(replicas, [&](std::unique_ptr<RedisServer>& replica) {
    const bool gone =
        std::ranges::find(replica_addresses, replica->address()) == replica_addresses.end();
    if (gone) {
      replica->reconnect(RedisErrc::kLost);
      retired.push_back(std::move(replica));
    }
    return gone;
  });
  for (const std::string& address : replica_addresses) {
    const bool known = std::ranges::any_of(
        replicas, [&](const auto& replica) { return replica->address() == address; });
    if (!known) {
      replicas.push_back(make_server(address, RedisRole::kAny));
    }
  }
  flush_soon();
}

void RedisClient::Body::on_no_sentinel() { fail_waiting(); }

}  // namespace spillway::adapters
