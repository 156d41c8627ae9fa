#include "adapters/redis_calls.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/redis_client.h"
#include "adapters/redis_outcome.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_server.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/hedge.h"
#include "resilience/outcome.h"

namespace spillway::adapters {

using resilience::Leg;
using resilience::Outcome;

void RedisClient::Body::on_call_timer(Call& call, base::Instant now) {
  if (now >= call.deadline) {
    time_out(call, now);
    return;
  }
  call.hedge_at = base::kNever;
  reactor.timers().arm(call, call.deadline);
  hedge(call, now);
}

/// The first leg is late: a second one, if all gates let it pass. The first stays where it is.
void RedisClient::Body::hedge(Call& call, base::Instant now) {
  if (!call.hedged) {
    return;
  }
  RedisServer* const first = call.legs[0].server;
  RedisServer* const other = pick(RedisUse::kRead, first);
  const bool has_command = !call.command.bytes().empty();
  const auto allowed = call.hedged->on_timer(
      now, {.circuits_closed = guard.peek().state == resilience::State::kClosed,
            .shed_level = shed_level,
            .other_host = other != nullptr && has_command});
  count_hedges();
  if (!allowed) {
    return;
  }
  if (!send_leg(call, Leg::kSecond, *other, std::move(call.command))) {
    // Its token goes back; the first leg is still waited for.
    (void)call.hedged->on_result(now, Leg::kSecond, Outcome::kNotSent);
    count_hedges();
  }
}

void RedisClient::Body::count_hedges() {
  const resilience::HedgeCounters& seen = hedger.counters();
  counters.hedges_fired.set(seen.fired);
  counters.hedges_won.set(seen.won);
  counters.hedges_unsent.set(seen.unsent);
  for (size_t i = 0; i < seen.blocked.size(); ++i) {
    counters.hedges_blocked[i].set(seen.blocked[i]);
  }
}

void RedisClient::Body::on_server_ready(RedisServer& server) {
  (void)server;
  begin_waiting();
}

void RedisClient::Body::on_server_reply(RedisServer& server, uint64_t leg_of_call,
                                        RedisReply reply) {
  const bool failed = reply.type() == RedisType::kError;
  const bool demoted = failed && &server == primary.get() && is_read_only(reply.text());
  if (Call* const call = find(leg_of_call >> 1); call != nullptr) {
    const base::Instant came = std::max(call->started, reactor.earliest_arrival());
    on_leg(*call, static_cast<Leg>(leg_of_call & 1),
           {.answered = !failed,
            .error = RedisErrc::kErrorReply,
            .error_text = failed ? reply.text() : std::string_view(),
            .elapsed = came - call->started},
           reply);
  }
  if (demoted) {
    // Fail-over: this is a replica now. Who is the primary is asked before the next attempt.
    counters.read_only.add();
    server.reconnect(RedisErrc::kLost);
  }
}

void RedisClient::Body::on_server_down(RedisServer& server, RedisErrc why,
                                       const std::vector<uint64_t>& owed) {
  (void)server;
  if (sentinels != nullptr) {
    sentinels->ask_soon();
  }
  for (const uint64_t leg_of_call : owed) {
    if (Call* const call = find(leg_of_call >> 1); call != nullptr) {
      const auto leg = static_cast<Leg>(leg_of_call & 1);
      const RedisErrc error = why == RedisErrc::kTimeout ? RedisErrc::kLost : why;
      on_leg(*call, leg, {.error = error, .elapsed = reactor.now() - call->started}, {});
    }
  }
  fail_waiting();
}

/// Whether the second leg has left: only the connection knows.
void RedisClient::Body::note_sent(Call& call) {
  const auto& second = call.legs[1];
  if (call.hedged && second.server != nullptr &&
      second.server->sent(second.generation, second.serial)) {
    call.hedged->on_sent();
  }
}

/// One leg has ended; the call may go on with the other.
void RedisClient::Body::on_leg(Call& call, Leg leg, const RedisEnd& end, RedisReply reply) {
  const base::Instant now = reactor.now();
  const Outcome outcome = classify(end, call.permit.terms());
  const RedisResult result =
      end.answered ? RedisResult(reply) : RedisResult(std::unexpected(end.error));
  if (!call.hedged) {
    call.legs[0].server = nullptr;
    settle(call, outcome, result, reply);
    return;
  }
  note_sent(call);
  call.legs[static_cast<size_t>(leg)].server = nullptr;
  const std::optional<resilience::HedgeEnd> over = call.hedged->on_result(now, leg, outcome);
  count_hedges();
  if (over) {
    settle(call, over->outcome, result, reply);
  }
}

/// Before anything has failed, who waits for a connection was let down by nobody.
bool RedisClient::Body::fails_to_connect(RedisUse use) const {
  const auto fails = [](const auto& server) { return server->failing(); };
  return (primary != nullptr && fails(primary)) ||
         (use == RedisUse::kRead && std::ranges::any_of(replicas, fails));
}

void RedisClient::Body::time_out(Call& call, base::Instant now) {
  const RedisEnd end{.error = RedisErrc::kTimeout, .elapsed = now - call.started};
  Outcome outcome = call.waiting && !fails_to_connect(call.use)
                        ? Outcome::kNotSent
                        : classify(end, call.permit.terms());
  if (call.hedged) {
    note_sent(call);
    if (const auto over = call.hedged->end(now, outcome); over) {
      outcome = over->outcome;
    }
    count_hedges();
  }
  settle(call, outcome, std::unexpected(RedisErrc::kTimeout), {});
}

/// Tells everybody, once: guard, connections, listener.
void RedisClient::Body::settle(Call& call, Outcome outcome, const RedisResult& result,
                               RedisReply reply) {
  const base::Instant now = reactor.now();
  if (result) {
    counters.answered.add();
    counters.latency.record(now - call.started);
  } else {
    counters.failed[static_cast<size_t>(result.error())].add();
  }
  RedisListener* const listener = call.listener;
  const uint64_t tag = call.tag;
  release(call, call.permit.finish(now, outcome));
  listener->on_redis(tag, result, reply);
}

/// Ends it without a word to its listener.
void RedisClient::Body::drop(Call& call, RedisErrc why) {
  const base::Instant now = reactor.now();
  const bool is_out = call.legs[0].server != nullptr || call.legs[1].server != nullptr;
  const RedisEnd end{.error = is_out ? why : RedisErrc::kBusy, .elapsed = now - call.started};
  Outcome outcome = classify(end, call.permit.terms());
  if (call.hedged) {
    note_sent(call);
    if (const auto over = call.hedged->end(now, outcome); over) {
      outcome = over->outcome;
    }
    count_hedges();
  }
  if (why == RedisErrc::kCancelled) {
    counters.failed[static_cast<size_t>(why)].add();
  }
  release(call, call.permit.finish(now, outcome));
}

/// What is still owed keeps its place, and the first such the limiter's slot.
void RedisClient::Body::release(Call& call, resilience::Tail tail) {
  for (Place& leg : call.legs) {
    if (leg.server != nullptr) {
      leg.server->abandon(leg.generation, leg.serial, std::exchange(tail, {}));
      leg.server = nullptr;
    }
  }
  call.cancel();
  call.hedged.reset();
  call.command = RedisCommand();
  call.live = false;
  free_calls.push_back(static_cast<uint32_t>(call.id));
}

}  // namespace spillway::adapters
