#include "app/exchange/rate_source.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/currency_config.h"
#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/tls.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kTimeout = 5s;
constexpr base::Duration kTick = 100ms;
constexpr base::Duration kRetryFirst = 1s;
constexpr base::Duration kRetryLongest = 60s;
constexpr size_t kAnswerBytes = kRatesBytes;
constexpr size_t kValues = 4'096;

resilience::Settings guard_settings() {
  resilience::Settings settings;
  settings.open_min = 2s;
  settings.open_max = 30s;
  settings.max_in_flight = 1;
  settings.slow_floor = kTimeout;
  settings.slow_ceiling = kTimeout;
  return settings;
}

net::TargetSettings target_settings(const RateFeed& feed) {
  net::TargetSettings settings{.name = "currency/" + feed.place.host,
                               .host = feed.place.host,
                               .port = feed.place.port,
                               .gzip = true,
                               .max_connections = 1,
                               .max_handshakes = 1,
                               .answer_bytes = kAnswerBytes};
  if (feed.place.tls) {
    auto tls = net::TlsClient::make({.host = feed.place.host, .ca_file = feed.ca_file});
    if (tls) {
      settings.tls = std::move(*tls);
    } else {
      settings.max_connections = 0;  // never in the clear instead
    }
  }
  return settings;
}

bool is_whole(const base::CallResult& result) {
  return result.error == base::CallError::kNone && result.phase == base::CallPhase::kDone;
}

resilience::Outcome outcome_of(const base::CallResult& result) {
  using resilience::Outcome;
  if (result.error == base::CallError::kCancelled) {
    return Outcome::kNotSent;
  }
  if (is_whole(result)) {
    return result.status == 200 ? Outcome::kOk : Outcome::kServerError;
  }
  return result.error == base::CallError::kTimeout ? Outcome::kTimeout : Outcome::kRefused;
}

}  // namespace

RateSource::RateSource(net::Reactor& reactor, uint64_t seed, Take take)
    : reactor_(reactor),
      take_(std::move(take)),
      client_(reactor, {.worker_bytes = size_t{1} << 20}),
      guard_("currency/default/rates", guard_settings(), 1, seed, reactor.now()) {}

RateSource::~RateSource() = default;

void RateSource::deploy(const RateFeed& feed) {
  if (feed == feed_) {
    return;
  }
  if (!feed_.url.empty()) {
    client_.cancel(std::exchange(call_, 0));
    client_.remove_target(target_);
  }
  if (feed.url != feed_.url) {
    text_.clear();
  }
  feed_ = feed;
  retry_ = {};
  problem_.clear();
  if (feed_.url.empty()) {
    cancel();
    return;
  }
  target_ = client_.add_target(target_settings(feed_));
  next_fetch_ = reactor_.now();
  reactor_.timers().arm(*this, next_fetch_);
}

std::string_view RateSource::text_of(const RateFeed& feed) const {
  return feed.url == feed_.url ? std::string_view(text_) : std::string_view();
}

void RateSource::on_timer(base::Instant now) {
  std::vector<resilience::Transition> ignored;
  guard_.tick(now, ignored);
  if (!in_flight_ && now >= next_fetch_) {
    fetch(now);
  }
  reactor_.timers().arm(*this, now + kTick);
}

void RateSource::fetch(base::Instant now) {
  auto permit = guard_.admit(0, {.now = now, .offered = kTimeout, .request_hash = 0});
  if (!permit) {
    ++fetches_.skipped;
    next_fetch_ = now + kRetryFirst;
    return;
  }
  permit_ = std::move(*permit);
  in_flight_ = true;
  const base::Instant by = now + std::min(kTimeout, feed_.refresh);
  call_ = client_.call(target_, "GET", feed_.place.target, "Accept: application/json\r\n",
                       std::span<const std::string_view>{},
                       {.connect_by = by, .first_byte_by = by, .answer_by = by}, 0, *this);
}

void RateSource::on_answer(uint64_t /*tag*/, const base::CallResult& result, std::string_view body,
                           bool /*draining*/) {
  in_flight_ = false;
  const base::Instant now = std::max(reactor_.now(), result.ended_at);
  (void)permit_.finish(now, outcome_of(result));
  if (result.error == base::CallError::kCancelled) {
    return;
  }
  if (!is_whole(result) || result.status != 200) {
    ++fetches_.failed;
    settle(now, fmt::format("no answer of 200 (status {})", result.status));
    return;
  }
  settle(now, read(body));
}

// From a network only JSON is taken: less can hide in it than in YAML.
std::string RateSource::read(std::string_view body) {
  const openrtb::Padded text(body);
  openrtb::Document document(kValues);
  if (!document.walk(text.view()) || !document.is(document.root(), openrtb::Kind::kObject)) {
    ++fetches_.refused;
    return "the answer is no JSON object";
  }
  if (body == text_) {
    ++fetches_.unchanged;
    return {};
  }
  std::string taken(body);
  std::string problem = take_(taken);
  if (!problem.empty()) {
    ++fetches_.refused;
    return problem;
  }
  ++fetches_.taken;
  text_ = std::move(taken);
  return {};
}

void RateSource::settle(base::Instant now, std::string problem) {
  problem_ = std::move(problem);
  const base::Duration longest = std::min(kRetryLongest, feed_.refresh);
  retry_ = problem_.empty() ? base::Duration{}
                            : std::clamp(2 * retry_, std::min(kRetryFirst, longest), longest);
  next_fetch_ = now + (problem_.empty() ? feed_.refresh : retry_);
}

}  // namespace spillway::app
