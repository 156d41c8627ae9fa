#include "exchange/notices.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/call_result.h"
#include "base/hash.h"
#include "base/time.h"
#include "exchange/notice_orders.h"
#include "exchange/notice_table.h"
#include "exchange/notice_url.h"
#include "openrtb/signed_url.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::exchange {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kTick = milliseconds(100);
constexpr base::Duration kAskGuardAgain = milliseconds(100);
constexpr base::Duration kLongestWait = seconds(10);

resilience::Settings guard_settings(const NoticeLimits& limits) {
  resilience::Settings settings;
  settings.open_min = seconds(2);
  settings.open_max = seconds(10);
  settings.ramp = seconds(5);
  settings.max_in_flight = 0;  // the queue's own cap rules
  settings.slow_floor = limits.timeout;
  settings.slow_ceiling = limits.timeout;
  return settings;
}

bool is_answer(const base::CallResult& result) {
  return result.error == base::CallError::kNone && result.phase == base::CallPhase::kDone;
}

bool is_delivered(const base::CallResult& result) {
  return is_answer(result) && result.status >= 200 && result.status < 300;
}

}  // namespace

resilience::Outcome outcome_of_notice(const base::CallResult& result) {
  using resilience::Outcome;
  if (is_answer(result)) {
    return is_delivered(result)   ? Outcome::kOk
           : result.status == 429 ? Outcome::kOverload
           : result.status >= 500 ? Outcome::kServerError
                                  : Outcome::kRejectedByPeer;
  }
  switch (result.error) {
    case base::CallError::kTimeout:
      return Outcome::kTimeout;
    case base::CallError::kRefused:
    case base::CallError::kDns:
      return Outcome::kRefused;
    case base::CallError::kReset:
      return Outcome::kReset;
    case base::CallError::kTls:
      return Outcome::kTls;
    case base::CallError::kProtocol:
    case base::CallError::kTooLarge:
      return Outcome::kMalformed;
    default:
      return Outcome::kNotSent;
  }
}

namespace {

size_t at(NoticeKind kind) { return static_cast<size_t>(kind); }

}  // namespace

std::string_view to_string(NoticeDrop drop) {
  switch (drop) {
    case NoticeDrop::kBadUrl:
      return "bad_url";
    case NoticeDrop::kPrivateAddress:
      return "private_address";
    case NoticeDrop::kQueueFull:
      return "queue_full";
    case NoticeDrop::kTooManyHosts:
      return "too_many_hosts";
    case NoticeDrop::kStopping:
      return "stopping";
  }
  return "";
}

Notices::Notices(const NoticeLimits& limits, uint64_t seed, MayCall may_call)
    : limits_(limits), seed_(seed), may_call_(std::move(may_call)), table_(limits.table_bytes) {}

void Notices::set_limits(base::Instant now, const NoticeLimits& limits) {
  limits_ = limits;
  table_.set_bytes_max(now, limits.table_bytes);
  for (auto& [place, host] : hosts_) {
    host.guard->set_settings(guard_settings(limits));
  }
}

// NOLINTNEXTLINE(*-rvalue-reference-param-not-moved): its parts are
void Notices::on_cleared(base::Instant now, ClearedNotices&& cleared) {
  for (WaitingBid& bid : cleared.waiting) {
    table_.add(now, std::move(bid));
  }
  for (NoticeOrder& order : cleared.due) {
    take_on(now, std::move(order));
  }
  cleared.clear();
}

EventEnd Notices::on_event(base::Instant now, const openrtb::Event& event) {
  std::vector<NoticeOrder> due;
  const EventEnd end = table_.take(now, event, due);
  ++counts_.events[static_cast<size_t>(end)];
  for (NoticeOrder& order : due) {
    take_on(now, std::move(order));
  }
  return end;
}

void Notices::drop(NoticeDrop why, NoticeKind kind) {
  ++counts_.dropped[static_cast<size_t>(why)][at(kind)];
}

size_t Notices::room_for(NoticeKind kind) const {
  switch (kind) {
    case NoticeKind::kBilling:
      return limits_.queue;
    case NoticeKind::kWin:
      return size_t{limits_.queue} * 3 / 4;
    case NoticeKind::kLoss:
      return limits_.queue / 2;
  }
  return 0;
}

// NOLINTNEXTLINE(*-rvalue-reference-param-not-moved): its parts are
void Notices::take_on(base::Instant now, NoticeOrder&& order) {
  auto url = parse_notice_url(order.url);
  if (!url) {
    drop(NoticeDrop::kBadUrl, order.kind);
    return;
  }
  if (!may_call_(url->place)) {
    drop(NoticeDrop::kPrivateAddress, order.kind);
    return;
  }
  if (queue_.size() >= room_for(order.kind)) {
    drop(NoticeDrop::kQueueFull, order.kind);
    return;
  }
  Place* place = place_of(now, url->place);
  if (place == nullptr) {
    drop(NoticeDrop::kTooManyHosts, order.kind);
    return;
  }
  const uint64_t id = next_id_++;
  const base::Duration lasts =
      order.kind == NoticeKind::kLoss ? limits_.retry_for / 6 : limits_.retry_for;
  Notice& notice = queue_[id];
  notice.kind = order.kind;
  notice.place = place;
  notice.target = std::move(url->target);
  notice.device = std::move(order.device);
  notice.expires = now + lasts;
  ++counts_.taken[at(order.kind)];
  ++place->second.queued;
  expiries_.emplace(notice.expires, id);
  place->second.ready.emplace(notice.kind, id);
  pump(now, *place);
}

Notices::Place* Notices::place_of(base::Instant now, const NoticePlace& place) {
  auto found = hosts_.find(place);
  if (found == hosts_.end()) {
    if (hosts_.size() >= limits_.hosts && !forget_idle_host()) {
      return nullptr;
    }
    found = hosts_.try_emplace(place).first;
    Host& host = found->second;
    host.id = next_host_++;
    host.tokens = std::max(1.0, limits_.rate_per_host / 10.0);
    host.filled_at = now;
    host.guard = std::make_unique<resilience::Guard>(
        "notices/" + place.host + "/" + std::to_string(place.port), guard_settings(limits_), 1,
        base::combine64(seed_, host.id), now);
  }
  found->second.used_at = now;
  return &*found;
}

bool Notices::forget_idle_host() {
  auto oldest = hosts_.end();
  for (auto at = hosts_.begin(); at != hosts_.end(); ++at) {
    if (at->second.queued == 0 &&
        (oldest == hosts_.end() || at->second.used_at < oldest->second.used_at)) {
      oldest = at;
    }
  }
  if (oldest == hosts_.end()) {
    return false;
  }
  gone_.push_back(oldest->second.id);
  hosts_.erase(oldest);
  return true;
}

void Notices::pump(base::Instant now, Place& place) {
  Host& host = place.second;
  const double burst = std::max(1.0, limits_.rate_per_host / 10.0);
  const std::chrono::duration<double> since = now - host.filled_at;
  host.tokens = std::min(burst, host.tokens + since.count() * limits_.rate_per_host);
  host.filled_at = now;
  host.wake = base::kNever;
  while (!host.ready.empty() && host.in_flight < limits_.in_flight_per_host) {
    if (host.tokens < 1) {
      const std::chrono::duration<double> missing((1 - host.tokens) / limits_.rate_per_host);
      host.wake = now + std::chrono::ceil<milliseconds>(missing);
      return;
    }
    const uint64_t id = host.ready.begin()->second;
    auto permit = host.guard->admit(
        0, {.now = now, .offered = limits_.timeout, .request_hash = base::combine64(seed_, id)});
    if (!permit) {
      host.wake = now + kAskGuardAgain;
      return;
    }
    queue_.at(id).permit = std::move(*permit);
    host.tokens -= 1;
    send(now, place, id);
  }
}

void Notices::send(base::Instant now, Place& place, uint64_t id) {
  Notice& notice = queue_.at(id);
  place.second.ready.erase({notice.kind, id});
  expiries_.erase({notice.expires, id});
  notice.in_flight = true;
  ++notice.attempts;
  ++place.second.in_flight;
  calls_.push_back({.id = id,
                    .host = place.second.id,
                    .place = &place.first,
                    .target = notice.target,
                    .device = notice.device,
                    .deadline = now + limits_.timeout});
}

bool Notices::may_repeat(const Notice& notice, const base::CallResult& result) const {
  switch (notice.kind) {
    case NoticeKind::kBilling:
      return true;
    case NoticeKind::kWin:
      return !is_answer(result) && result.phase <= base::CallPhase::kConnect;
    case NoticeKind::kLoss:
      return false;
  }
  return false;
}

void Notices::on_result(base::Instant now, uint64_t id, const base::CallResult& result) {
  const auto found = queue_.find(id);
  if (found == queue_.end() || !found->second.in_flight) {
    return;
  }
  Notice& notice = found->second;
  Place& place = *notice.place;
  notice.in_flight = false;
  --place.second.in_flight;
  (void)notice.permit.finish(now, outcome_of_notice(result));
  if (is_delivered(result)) {
    ++counts_.sent[at(notice.kind)];
    remove(id);
  } else if (may_repeat(notice, result)) {
    repeat(now, id, notice);
  } else {
    ++counts_.failed[at(notice.kind)];
    remove(id);
  }
  pump(now, place);
}

void Notices::repeat(base::Instant now, uint64_t id, Notice& notice) {
  constexpr uint32_t kMostDoublings = 10;
  base::Duration wait = limits_.retry_first * (1U << std::min(notice.attempts - 1, kMostDoublings));
  wait = std::min(wait, kLongestWait);
  // Up to a fifth more, so that those which failed together do not come back together.
  wait += std::chrono::duration_cast<base::Duration>(
      wait * 0.2 * base::unit(base::combine64(seed_ + notice.attempts, id)));
  if (now + wait >= notice.expires) {
    ++counts_.expired[at(notice.kind)];
    remove(id);
    return;
  }
  ++counts_.retried[at(notice.kind)];
  notice.again_at = now + wait;
  repeats_.emplace(notice.again_at, id);
  expiries_.emplace(notice.expires, id);
}

void Notices::remove(uint64_t id) {
  const auto found = queue_.find(id);
  Host& host = found->second.place->second;
  host.ready.erase({found->second.kind, id});
  --host.queued;
  repeats_.erase({found->second.again_at, id});
  expiries_.erase({found->second.expires, id});
  queue_.erase(found);
}

void Notices::on_deadline(base::Instant now) {
  table_.expire(now);
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    const uint64_t id = expiries_.begin()->second;
    ++counts_.expired[at(queue_.at(id).kind)];
    remove(id);
  }
  while (!repeats_.empty() && repeats_.begin()->first <= now) {
    const uint64_t id = repeats_.begin()->second;
    repeats_.erase(repeats_.begin());
    Notice& notice = queue_.at(id);
    notice.again_at = base::kNever;
    notice.place->second.ready.emplace(notice.kind, id);
    notice.place->second.wake = now;
  }
  if (now >= next_tick_) {
    std::vector<resilience::Transition> ignored;
    for (auto& [place, host] : hosts_) {
      host.guard->tick(now, ignored);
    }
    next_tick_ = now + kTick;
  }
  for (Place& place : hosts_) {
    if (place.second.wake <= now) {
      pump(now, place);
    }
  }
}

size_t Notices::abandon() {
  const size_t left = queue_.size();
  while (!queue_.empty()) {
    const auto& [id, notice] = *queue_.begin();
    drop(NoticeDrop::kStopping, notice.kind);
    notice.place->second.in_flight -= notice.in_flight ? 1U : 0U;
    remove(id);
  }
  calls_.clear();
  return left;
}

base::Instant Notices::next_deadline() const {
  base::Instant next = hosts_.empty() ? base::kNever : next_tick_;
  if (!repeats_.empty()) {
    next = std::min(next, repeats_.begin()->first);
  }
  if (!expiries_.empty()) {
    next = std::min(next, expiries_.begin()->first);
  }
  for (const auto& [place, host] : hosts_) {
    next = std::min(next, host.wake);
  }
  return next;
}

size_t Notices::hosts_open() const {
  return static_cast<size_t>(std::ranges::count_if(hosts_, [](const auto& entry) {
    return entry.second.guard->peek().state != resilience::State::kClosed;
  }));
}

}  // namespace spillway::exchange
