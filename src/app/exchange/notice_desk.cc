#include "app/exchange/notice_desk.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "app/config/notice_config.h"
#include "app/exchange/notice_addresses.h"
#include "base/call_result.h"
#include "base/time.h"
#include "exchange/notice_orders.h"
#include "exchange/notice_url.h"
#include "exchange/notices.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/tls.h"
#include "openrtb/signed_url.h"

namespace spillway::app {
namespace {

constexpr size_t kAnswerBytes = 64 * 1024;  // nobody reads it; a pixel or an empty page is usual

net::TargetSettings settings_of(const exchange::NoticePlace& place, size_t connections,
                                const std::string& ca_file) {
  net::TargetSettings settings{.name = "notices/" + place.host,
                               .host = place.host,
                               .port = place.port,
                               .max_connections = connections,
                               .max_handshakes = connections,
                               .answer_bytes = kAnswerBytes};
  if (place.tls) {
    auto tls = net::TlsClient::make({.host = place.host, .ca_file = ca_file});
    // Without a store of certificates nobody can prove a name: never fall back to plain.
    if (tls) {
      settings.tls = std::move(*tls);
    } else {
      settings.max_connections = 0;
    }
  }
  return settings;
}

}  // namespace

NoticeDesk::NoticeDesk(net::Reactor& reactor, const NoticeConfig& config, uint64_t seed)
    : reactor_(reactor),
      instance_(config.instance),
      allow_private_(std::make_shared<std::atomic<bool>>(config.allow_private)),
      notices_(config.limits, seed,
               [allow = allow_private_](const exchange::NoticePlace& place) {
                 return allow->load(std::memory_order_relaxed) || may_be_public(place.host);
               }),
      client_(reactor, {.worker_bytes = size_t{16} << 20,
                        .names = std::make_shared<PublicLookup>(allow_private_)}),
      forwarder_(reactor),
      connections_(config.limits.in_flight_per_host),
      ca_file_(config.ca_file) {
  forwarder_.deploy(config);
}

NoticeDesk::~NoticeDesk() = default;

void NoticeDesk::deploy(const NoticeConfig& config) {
  instance_ = config.instance;
  allow_private_->store(config.allow_private, std::memory_order_relaxed);
  connections_ = config.limits.in_flight_per_host;
  ca_file_ = config.ca_file;  // of hosts not called yet
  forwarder_.deploy(config);
  notices_.set_limits(reactor_.now(), config.limits);
}

template <typename Work>
bool NoticeDesk::post(Work work) {
  if (mailbox_.fetch_add(1, std::memory_order_relaxed) >= kMailbox) {
    mailbox_.fetch_sub(1, std::memory_order_relaxed);
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  reactor_.post([this, work = std::move(work)]() mutable {
    mailbox_.fetch_sub(1, std::memory_order_relaxed);
    const base::Instant now = reactor_.now();
    work(now);
    make_calls(now);
  });
  return true;
}

bool NoticeDesk::take_cleared(exchange::ClearedNotices&& cleared) {
  return post([this, cleared = std::move(cleared)](base::Instant now) mutable {
    notices_.on_cleared(now, std::move(cleared));
  });
}

bool NoticeDesk::take_event(openrtb::Event event, std::string query) {
  return post([this, event = std::move(event), query = std::move(query)](base::Instant now) {
    if (event.instance == instance_) {
      notices_.on_event(now, event);
    } else if (!forwarder_.forward(now, event.instance, query)) {
      notices_.on_foreign_event();
    }
  });
}

size_t NoticeDesk::abandon() { return notices_.abandon() + forwarder_.abandon(); }

bool NoticeDesk::quiet() const {
  return in_flight_ == 0 && forwarder_.quiet() && mailbox_.load(std::memory_order_relaxed) == 0;
}

net::TargetId NoticeDesk::target_of(const exchange::NoticeCall& call) {
  const auto found = targets_.find(call.host);
  if (found != targets_.end()) {
    return found->second;
  }
  const net::TargetId id = client_.add_target(settings_of(*call.place, connections_, ca_file_));
  targets_.emplace(call.host, id);
  return id;
}

void NoticeDesk::make_calls(base::Instant now) {
  for (const uint32_t host : notices_.take_gone_hosts()) {
    if (const auto found = targets_.find(host); found != targets_.end()) {
      client_.remove_target(found->second);
      targets_.erase(found);
    }
  }
  for (const exchange::NoticeCall& call : notices_.take_calls()) {
    ++in_flight_;
    (void)client_.call(
        target_of(call), "GET", call.target,
        call.device != nullptr ? std::string_view(*call.device) : "",
        std::span<const std::string_view>{},
        {.connect_by = call.deadline, .first_byte_by = call.deadline, .answer_by = call.deadline},
        call.id, *this);
  }
  const base::Instant next = notices_.next_deadline();
  if (next == base::kNever) {
    cancel();
  } else {
    reactor_.timers().arm(*this, std::max(next, now));
  }
}

void NoticeDesk::on_answer(uint64_t tag, const base::CallResult& result, std::string_view /*body*/,
                           bool /*draining*/) {
  --in_flight_;
  const base::Instant now = std::max(reactor_.now(), result.ended_at);
  notices_.on_result(now, tag, result);
  make_calls(now);
}

void NoticeDesk::on_timer(base::Instant now) {
  notices_.on_deadline(now);
  make_calls(now);
}

}  // namespace spillway::app
