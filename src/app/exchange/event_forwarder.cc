#include "app/exchange/event_forwarder.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config/notice_config.h"
#include "app/config/url.h"
#include "base/call_result.h"
#include "base/hash.h"
#include "base/time.h"
#include "exchange/notices.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/tls.h"
#include "resilience/guard.h"
#include "resilience/settings.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kFirstWait = 250ms;
constexpr base::Duration kLongestWait = 10s;
constexpr size_t kQueryBytes = 2'048;
constexpr base::Duration kTick = 100ms;

net::TargetSettings settings_of(const std::string& name, const HttpUrl& place,
                                const std::string& ca_file) {
  net::TargetSettings settings{.name = "instance/" + name,
                               .host = place.host,
                               .port = place.port,
                               .max_connections = EventForwarder::kInFlight,
                               .max_handshakes = EventForwarder::kInFlight,
                               .answer_bytes = 64 << 10};
  if (place.tls) {
    auto tls = net::TlsClient::make({.host = place.host, .ca_file = ca_file});
    if (tls) {
      settings.tls = std::move(*tls);
    } else {
      settings.max_connections = 0;  // never in the clear instead
    }
  }
  return settings;
}

resilience::Settings guard_settings(const NoticeConfig& config) {
  resilience::Settings settings;
  settings.open_min = 1s;
  settings.open_max = 10s;
  settings.ramp = 5s;
  settings.max_in_flight = 0;  // kInFlight rules
  settings.slow_floor = config.limits.timeout;
  settings.slow_ceiling = config.limits.timeout;
  return settings;
}

bool same_place(const HttpUrl& a, const HttpUrl& b) {
  return a.host == b.host && a.port == b.port && a.tls == b.tls && a.target == b.target;
}

}  // namespace

EventForwarder::EventForwarder(net::Reactor& reactor)
    : reactor_(reactor), client_(reactor, {.worker_bytes = size_t{4} << 20}) {}

EventForwarder::~EventForwarder() = default;

void EventForwarder::deploy(const NoticeConfig& config) {
  timeout_ = config.limits.timeout;
  retry_for_ = config.limits.retry_for;
  const base::Instant now = reactor_.now();
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    const auto kept = config.instances.find(peer->first);
    if (kept != config.instances.end() && same_place(kept->second, peer->second.place)) {
      peer->second.guard->set_settings(guard_settings(config));
      ++peer;
      continue;
    }
    const net::TargetId target = peer->second.target;
    for (const uint64_t id : peer->second.ready) {
      due_.emplace(now, id);  // the next pump finds who takes them now, or nobody
    }
    peer = peers_.erase(peer);
    client_.remove_target(target);  // its calls end, and find nobody to repeat them to
  }
  for (const auto& [name, place] : config.instances) {
    if (!peers_.contains(name)) {
      const net::TargetId target = client_.add_target(settings_of(name, place, config.ca_file));
      peers_.emplace(name, Peer{.place = place,
                                .target = target,
                                .guard = std::make_shared<resilience::Guard>(
                                    "instance/" + name, guard_settings(config), 1,
                                    base::combine64(base::hash64(name), target), now),
                                .ready = {}});
    }
  }
  pump(now);
}

bool EventForwarder::forward(base::Instant now, const std::string& instance,
                             std::string_view query) {
  if (!peers_.contains(instance) || query.size() > kQueryBytes || query.contains(kMark)) {
    return false;
  }
  if (events_.size() >= kPending) {
    ++counts_.dropped;
    return true;
  }
  const uint64_t id = next_id_++;
  Event& event = events_[id];
  event.instance = instance;
  event.query = std::string(query) + std::string(kMark);
  event.expires = now + retry_for_;
  event.wait = kFirstWait;
  due_.emplace(now, id);
  expiries_.emplace(event.expires, id);
  pump(now);
  return true;
}

size_t EventForwarder::abandon() {
  const size_t left = events_.size();
  counts_.dropped += left;
  due_.clear();
  expiries_.clear();
  events_.clear();
  for (auto& [name, peer] : peers_) {
    peer.ready.clear();
  }
  cancel();
  return left;
}

size_t EventForwarder::peers_open() const {
  return static_cast<size_t>(std::ranges::count_if(peers_, [](const auto& peer) {
    return peer.second.guard->peek().state != resilience::State::kClosed;
  }));
}

void EventForwarder::pump(base::Instant now) {
  expire(now);
  wake_due(now);
  tick(now);
  for (auto& [name, peer] : peers_) {
    if (peer.wake == base::kNever || peer.wake <= now) {
      send_ready(now, peer);
    }
  }
  arm(now);
}

void EventForwarder::expire(base::Instant now) {
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    const uint64_t id = expiries_.begin()->second;
    if (const auto peer = peers_.find(events_.at(id).instance); peer != peers_.end()) {
      peer->second.ready.erase(id);
    }
    settle(id, false);
  }
}

void EventForwarder::wake_due(base::Instant now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const uint64_t id = due_.begin()->second;
    due_.erase(due_.begin());
    const auto event = events_.find(id);
    if (event == events_.end()) {
      continue;  // expired while it waited
    }
    if (const auto peer = peers_.find(event->second.instance); peer != peers_.end()) {
      peer->second.ready.insert(id);
    } else {
      settle(id, false);
    }
  }
}

void EventForwarder::tick(base::Instant now) {
  if (now < next_tick_) {
    return;
  }
  std::vector<resilience::Transition> ignored;
  for (auto& [name, peer] : peers_) {
    peer.guard->tick(now, ignored);
  }
  next_tick_ = now + kTick;
}

void EventForwarder::send_ready(base::Instant now, Peer& peer) {
  peer.wake = base::kNever;
  while (!peer.ready.empty() && peer.in_flight < kInFlight) {
    const uint64_t id = *peer.ready.begin();
    auto permit = peer.guard->admit(
        0, {.now = now, .offered = timeout_, .request_hash = base::combine64(id, counts_.calls)});
    if (!permit) {
      ++counts_.held;
      peer.wake = now + kTick;
      return;
    }
    Event& event = events_.at(id);
    event.guard = peer.guard;
    event.permit = std::move(*permit);
    send(now, peer, id);
  }
}

void EventForwarder::send(base::Instant now, Peer& peer, uint64_t id) {
  const Event& event = events_.at(id);
  peer.ready.erase(id);
  expiries_.erase({event.expires, id});
  ++peer.in_flight;
  ++counts_.calls;
  std::string path = peer.place.target;
  path += path.ends_with('/') ? "event?" : "/event?";
  const base::Instant by = now + timeout_;
  (void)client_.call(peer.target, "GET", path + event.query, "",
                     std::span<const std::string_view>{},
                     {.connect_by = by, .first_byte_by = by, .answer_by = by}, id, *this);
}

void EventForwarder::arm(base::Instant now) {
  base::Instant next = base::kNever;
  for (const auto* const queue : {&due_, &expiries_}) {
    next = queue->empty() ? next : std::min(next, queue->begin()->first);
  }
  for (const auto& [name, peer] : peers_) {
    next = std::min(next, peer.wake);
  }
  if (!events_.empty()) {
    next = std::min(next, next_tick_);
  }
  if (next == base::kNever) {
    cancel();
  } else {
    reactor_.timers().arm(*this, std::max(next, now));
  }
}

void EventForwarder::settle(uint64_t id, bool is_taken) {
  ++(is_taken ? counts_.sent : counts_.failed);
  expiries_.erase({events_.at(id).expires, id});
  events_.erase(id);
}

void EventForwarder::on_answer(uint64_t tag, const base::CallResult& result,
                               std::string_view /*body*/, bool /*draining*/) {
  const base::Instant now = std::max(reactor_.now(), result.ended_at);
  const bool is_answer =
      result.error == base::CallError::kNone && result.phase == base::CallPhase::kDone;
  const bool is_taken = is_answer && result.status >= 200 && result.status < 300;
  // Not signed by a key it knows, or too late: asking again changes nothing.
  const bool is_final = is_answer && (result.status == 403 || result.status == 410);
  const auto found = events_.find(tag);
  if (found == events_.end()) {
    return;  // abandoned
  }
  Event& event = found->second;
  // The peer may be another by now, which does not know this call.
  if (const auto peer = peers_.find(event.instance);
      peer != peers_.end() && peer->second.guard == event.guard) {
    --peer->second.in_flight;
  }
  (void)event.permit.finish(now, exchange::outcome_of_notice(result));
  event.guard.reset();
  if (is_taken || is_final || now + event.wait >= event.expires) {
    settle(tag, is_taken);
  } else {
    due_.emplace(now + event.wait, tag);
    expiries_.emplace(event.expires, tag);
    event.wait = std::min(2 * event.wait, kLongestWait);
  }
  pump(now);
}

}  // namespace spillway::app
