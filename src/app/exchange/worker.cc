#include "app/exchange/worker.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/exchange/flight.h"
#include "app/exchange/notice_desk.h"
#include "app/exchange/recorder.h"
#include "app/exchange/transport.h"
#include "app/exchange/worker_parts.h"
#include "app/serving/wall_clock.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/notice_orders.h"
#include "exchange/shed_levels.h"
#include "net/http.h"
#include "net/server.h"
#include "openrtb/codes.h"
#include "openrtb/signed_url.h"

namespace spillway::app {

Worker::Worker(uint32_t index, uint32_t workers, const base::Clock& clock, uint64_t seed,
               const Common& common)
    : index_(index),
      workers_(workers),
      reactor_(clock),
      client_(reactor_),
      rng_(seed),
      recorder_(common.recorder),
      notices_(common.notices),
      hosts_(common.hosts),
      use_(common.use) {}

Worker::~Worker() = default;

void Worker::on_request(const net::Request& request, net::Reply reply) {
  const Door door = door_of(request.path());
  const std::string_view origin = request.header("Origin");
  if (door == Door::kEvent && route_ != nullptr) {
    on_event(request, std::move(reply));
    return;
  }
  if (door != Door::kAuction && door != Door::kCookieSync) {
    stats_.not_found.add();
    reply.send(plain_answer(404, "there is POST /openrtb2/auction", origin));
    return;
  }
  if (request.method == "POST" && route_ != nullptr) {
    if (door == Door::kAuction) {
      serve(request, std::move(reply));
    } else {
      reply.send(cookie_sync_answer(origin));
    }
    return;
  }
  if (request.method == "OPTIONS") {
    reply.send(preflight_answer(request));
    return;
  }
  stats_.wrong_method.add();
  auto response = plain_answer(405, "method: must be POST", origin);
  response.headers.emplace_back("Allow", "POST, OPTIONS");
  reply.send(std::move(response));
}

exchange::ShedLevels Worker::judge(const net::Request& request, base::Instant now) {
  return gate_.judge(
      now, {.queue_age = request.queue_age,
            .in_flight = in_flight_,
            .flights = flights_.size() - free_flights_.size(),
            .buffered_bytes =
                server_ == nullptr ? 0 : server_->counters(index_).buffered_bytes.value()});
}

void Worker::serve(const net::Request& request, net::Reply reply) {
  const base::Instant now = reactor_.refresh();
  exchange::Start start{.now = now,
                        .time_zero = request.time_zero,
                        .wall_ms = wall_clock_ms(),
                        .seed = rng_.next(),
                        .shed = judge(request, now),
                        .has_origin = !request.header("Origin").empty(),
                        .is_json = speaks_json(request.header("Content-Type")),
                        .client_address = request.client_address,
                        .user_agent = request.header("User-Agent"),
                        .body = request.body};
  stats_.auctions.add();
  stats_.queue_age.record(request.queue_age);
  Flight& flight = *take_flight();
  flight.origin = request.header("Origin");
  flight.route = route_;
  flight.reply = std::move(reply);
  flight.time_zero = request.time_zero;
  // Shed before the walk: its bytes are not looked at, so they need not be kept.
  const bool unread = start.shed.least() == 2;
  start.body = unread ? request.body : flight.keep_body(request.body);
  if (recorder_.samples(start.seed)) {
    flight.record = recorder_.blank(index_);
    flight.record->take_start(route_->snapshot(), start);
  }
  flight.auction.start(route_->snapshot(), start);
  flight.shed =
      gate_.settle(unread ? std::nullopt : std::optional(flight.auction.account().criticality));
  if (!flight.auction.finished()) {
    begin_asking(flight, start.now);
  } else {
    answer_caller(flight, start.now);
  }
  release_if_done(flight);
}

void Worker::begin_asking(Flight& flight, base::Instant now) {
  stats_.in_flight.set(++in_flight_);
  flight.counted = true;
  flight.reply.set_deadline(flight.auction.miss_after());
  ask_guards(flight, now);
  if (flight.record != nullptr) {
    flight.record->take_admit(now, flight.verdicts);
  }
  const auto asks = flight.auction.admit(now, flight.verdicts);
  flight.pinned = true;
  send_asks(flight, asks, now);
  flight.pinned = false;
  if (flight.auction.finished()) {
    answer_caller(flight, now);
    return;
  }
  reactor_.timers().arm(flight, flight.auction.deadline());
  flight.reply.on_gone([this, gone = &flight] { caller_gone(*gone); });
}

Flight* Worker::take_flight() {
  if (free_flights_.empty()) {
    flights_.push_back(std::make_unique<Flight>(*this));
    free_flights_.push_back(flights_.back().get());
  }
  Flight* flight = free_flights_.back();
  free_flights_.pop_back();
  flight->released = false;
  return flight;
}

void Worker::on_deadline(Flight& flight, base::Instant) {
  end_auction(flight, reactor_.refresh());
  release_if_done(flight);
}

void Worker::end_auction(Flight& flight, base::Instant now) {
  flight.cancel();
  flight.auction.finish(now);
  if (flight.record != nullptr) {
    flight.record->take_finish(now);
  }
  answer_caller(flight, now);
}

void Worker::answer_caller(Flight& flight, base::Instant now) {
  count_bids(flight);
  auto reply = flight.auction.take_reply();
  count_reply(flight, reply, now);
  if (flight.record != nullptr) {
    flight.record->take_reply(reply);
    recorder_.offer(index_, std::move(flight.record));
  }
  flight.answered = true;
  tell_dsps(flight);  // first: an event may follow the answer at once
  auto answer = http_answer(std::move(reply), flight.origin);
  answer.refusal = flight.shed;
  if (flight.shed) {
    refusals_.note();
  }
  flight.reply.send(std::move(answer));
}

void Worker::tell_dsps(const Flight& flight) {
  exchange::ClearedNotices cleared;
  flight.auction.list_notices(cleared);
  if (!cleared.empty()) {
    (void)notices_.take_cleared(std::move(cleared));
  }
}

// What the ad does in a browser: any method, any origin, nothing to read in the answer.
void Worker::on_event(const net::Request& request, net::Reply reply) {
  const std::string_view origin = request.header("Origin");
  const auto* signer = route_->snapshot().events.signer.get();
  if (signer == nullptr) {
    stats_.not_found.add();
    reply.send(plain_answer(404, "there are no events without notices.keys", origin));
    return;
  }
  auto event = signer->read(request.query(), wall_clock_ms() / 1'000);
  if (!event) {
    stats_.events_refused[static_cast<size_t>(event.error())].add();
    const bool late = event.error() == openrtb::EventErrc::kExpired;
    reply.send(plain_answer(late ? 410 : 403, to_string(event.error()), origin));
    return;
  }
  const bool taken = notices_.take_event(std::move(*event), std::string(request.query()));
  reply.send(taken ? event_answer(origin)
                   : plain_answer(503, "too many events: try again", origin));
}

void Worker::count_reply(const Flight& flight, const exchange::ReplyBytes& reply,
                         base::Instant now) {
  using exchange::ReplyKind;
  stats_.replies[static_cast<size_t>(reply.kind)].add();
  stats_.answer_time.record(now - flight.time_zero);
  if (reply.kind == ReplyKind::kNoBid || reply.kind == ReplyKind::kShed) {
    switch (reply.nbr) {
      case openrtb::NoBid::kInsufficientTime:
        stats_.nbr_time.add();
        break;
      case openrtb::NoBid::kShed:
        stats_.nbr_shed.add();
        break;
      case openrtb::NoBid::kInvalidRequest:
        stats_.nbr_invalid.add();
        break;
      default:
        stats_.nbr_other.add();
    }
  }
}

void Worker::count_bids(const Flight& flight) {
  const auto& auction = flight.auction;
  const auto& route = *static_cast<const Route*>(flight.route.get());
  const auto candidates = auction.candidates();
  for (const auto& decision : auction.privacy()) {
    stats_.privacy[static_cast<size_t>(decision.copy)].add();
  }
  for (uint32_t i = 0; i < candidates.size(); ++i) {
    const auto& report = auction.report(i);
    if (!report.asked) {
      continue;
    }
    auto& stats = *route.targets[candidates[i].dsp][candidates[i].endpoint]->stats;
    stats.bids.add(report.bids);
    stats.bids_valid.add(report.bids_valid);
    stats.wins.add(report.wins);
    stats.answers_bidding.add(report.bids > 0 ? 1 : 0);
    stats.answers_useless.add(report.bids > 0 && report.bids_valid == 0 ? 1 : 0);
  }
  if (candidates.empty()) {
    return;
  }
  for (const auto* bid : auction.bids()) {
    const auto loss = static_cast<size_t>(bid->loss);
    if (loss != 0 && loss < WorkerStats::kLosses) {
      stats_.losses[loss].add();
    }
  }
  stats_.imps.add(auction.request().imps.size());
  for (const auto& cleared : auction.cleared()) {
    stats_.fills.add(cleared.winner == exchange::clearing::Cleared::kNobody ? 0 : 1);
  }
}

// The answers drain; nobody is blamed for them.
void Worker::caller_gone(Flight& flight) {
  if (flight.answered) {
    return;
  }
  stats_.callers_gone.add();
  flight.answered = true;
  flight.cancel();
  flight.pinned = true;
  const auto slots = flight.call_slots;
  for (const uint32_t slot : slots) {
    client_.cancel(calls_[slot]->client_id);
  }
  flight.pinned = false;
  // Its Reply is calling us: it may not be destroyed from in here.
  reactor_.post([this, gone = &flight] { release_if_done(*gone); });
}

void Worker::release_if_done(Flight& flight) {
  if (!flight.answered || flight.pinned || flight.released) {
    return;
  }
  if (flight.counted) {
    flight.counted = false;
    stats_.in_flight.set(--in_flight_);
  }
  if (flight.calls_open > 0) {
    return;
  }
  flight.reset();
  flight.released = true;
  free_flights_.push_back(&flight);
  if (retiring_) {
    drop_unused_targets();
  }
}

}  // namespace spillway::app
