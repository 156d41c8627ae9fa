#include "app/exchange/event_forwarder.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "app/config/notice_config.h"
#include "app/config/url.h"
#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/tls.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kFirstWait = 250ms;
constexpr base::Duration kLongestWait = 10s;
constexpr size_t kQueryBytes = 2'048;
constexpr size_t kConnections = 16;

net::TargetSettings settings_of(const std::string& name, const HttpUrl& place,
                                const std::string& ca_file) {
  net::TargetSettings settings{.name = "instance/" + name,
                               .host = place.host,
                               .port = place.port,
                               .max_connections = kConnections,
                               .max_handshakes = kConnections,
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
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    const auto kept = config.instances.find(peer->first);
    if (kept != config.instances.end() && same_place(kept->second, peer->second.place)) {
      ++peer;
      continue;
    }
    const net::TargetId target = peer->second.target;
    peer = peers_.erase(peer);
    client_.remove_target(target);  // its calls end, and find nobody to repeat them to
  }
  for (const auto& [name, place] : config.instances) {
    if (!peers_.contains(name)) {
      peers_.emplace(name,
                     Peer{.place = place,
                          .target = client_.add_target(settings_of(name, place, config.ca_file))});
    }
  }
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
  events_.emplace(id, Event{.instance = instance,
                            .query = std::string(query) + std::string(kMark),
                            .expires = now + retry_for_,
                            .wait = kFirstWait});
  due_.emplace(now, id);
  pump(now);
  return true;
}

void EventForwarder::pump(base::Instant now) {
  while (!due_.empty() && due_.begin()->first <= now && in_flight_ < kInFlight) {
    const uint64_t id = due_.begin()->second;
    due_.erase(due_.begin());
    const Event& event = events_.at(id);
    const auto peer = peers_.find(event.instance);
    if (peer == peers_.end() || now >= event.expires) {
      settle(id, false);
      continue;
    }
    ++in_flight_;
    std::string path = peer->second.place.target;
    path += path.ends_with('/') ? "event?" : "/event?";
    const base::Instant by = now + timeout_;
    (void)client_.call(peer->second.target, "GET", path + event.query, "",
                       std::span<const std::string_view>{},
                       {.connect_by = by, .first_byte_by = by, .answer_by = by}, id, *this);
  }
  if (due_.empty() || in_flight_ >= kInFlight) {
    cancel();  // an answer goes on
  } else {
    reactor_.timers().arm(*this, std::max(due_.begin()->first, now));
  }
}

void EventForwarder::settle(uint64_t id, bool is_taken) {
  ++(is_taken ? counts_.sent : counts_.failed);
  events_.erase(id);
}

void EventForwarder::on_answer(uint64_t tag, const base::CallResult& result,
                               std::string_view /*body*/, bool /*draining*/) {
  --in_flight_;
  const base::Instant now = std::max(reactor_.now(), result.ended_at);
  const bool is_answer =
      result.error == base::CallError::kNone && result.phase == base::CallPhase::kDone;
  const bool is_taken = is_answer && result.status >= 200 && result.status < 300;
  // Not signed by a key it knows, or too late: asking again changes nothing.
  const bool is_final = is_answer && (result.status == 403 || result.status == 410);
  Event& event = events_.at(tag);
  if (is_taken || is_final || now + event.wait >= event.expires) {
    settle(tag, is_taken);
  } else {
    due_.emplace(now + event.wait, tag);
    event.wait = std::min(2 * event.wait, kLongestWait);
  }
  pump(now);
}

}  // namespace spillway::app
