#include "app/load/generator.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/call_result.h"
#include "base/hash.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "workload/arrivals.h"
#include "workload/corpus.h"
#include "workload/series.h"
#include "workload/shuffle.h"
#include "workload/tally.h"

namespace spillway::app {

namespace {

/// Sent in one go before other events get their turn.
constexpr int kBatch = 64;

/// A caller that gave up hangs up: nobody would read the late answer.
constexpr base::Duration kTail = std::chrono::milliseconds(1);

}  // namespace

Generator::Generator(net::Reactor& reactor, const LoadSettings& settings,
                     const workload::Corpus* corpus, workload::ArrivalStripe stripe)
    : reactor_(reactor),
      settings_(settings),
      corpus_(corpus),
      stripe_(stripe),
      arrivals_(settings.arrivals, {}, settings.seed, stripe),
      tally_(settings.late_after),
      series_({}, settings.arrivals.profile.duration(), settings.late_after),
      watch_(reactor, series_),
      client_(reactor),
      pending_(settings.connections) {
  if (corpus_ != nullptr) {
    headers_ = "Content-Type: application/json\r\nx-openrtb-version: 2.6\r\n";
  }
  headers_ += settings_.headers;
  if (!settings_.keep_alive) {
    headers_ += "Connection: close\r\n";
  }
  add_places();
  for (size_t i = pending_.size(); i > 0; --i) {
    free_.push_back(static_cast<uint32_t>(i - 1));
  }
  if (settings_.shuffle) {
    steps_.resize(pending_.size());
  }
  timer_fd_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  SPILLWAY_ASSERT(timer_fd_ >= 0);
  reactor_.add(timer_fd_, EPOLLIN | EPOLLET, *this);  // setting it anew clears it: never read
}

Generator::~Generator() {
  reactor_.remove(timer_fd_, *this);
  ::close(timer_fd_);
}

/// The connections are shared out evenly; where some requests are compressed, by their share.
void Generator::add_places() {
  const size_t each = std::max<size_t>(1, settings_.connections / settings_.targets.size());
  const double gzip_ratio = corpus_ == nullptr ? 0 : corpus_->gzip_ratio();
  const auto packed =
      gzip_ratio > 0 && each > 1
          ? std::clamp(static_cast<size_t>(gzip_ratio * 2 * static_cast<double>(each)), size_t{1},
                       each - 1)
          : size_t{0};
  for (const LoadTarget& target : settings_.targets) {
    net::TargetSettings wanted{.name = "target",
                               .host = target.host,
                               .port = target.port,
                               .tls = target.tls,
                               .max_connections = each - packed,
                               .max_handshakes = each,
                               .max_waiting = each,
                               .keep_alive = settings_.keep_alive,
                               .answer_bytes = size_t{4} << 20,
                               .tail_time = kTail};
    Place place;
    place.plain = place.gzip = client_.add_target(wanted);
    if (packed > 0) {
      wanted.gzip = true;
      wanted.max_connections = packed;
      place.gzip = client_.add_target(wanted);
    }
    places_.push_back(place);
  }
}

void Generator::start(base::Instant start, std::move_only_function<void()> done) {
  done_ = std::move(done);
  arrivals_ = workload::Arrivals(settings_.arrivals, start, settings_.seed, stripe_);
  series_ = workload::Series(start, settings_.arrivals.profile.duration(), settings_.late_after);
  watch_.start();
  wait_for_next();
}

void Generator::stop_early() {
  stopping_ = true;
  finish_if_over();
}

uint64_t Generator::connects() const {
  uint64_t sum = 0;
  for (const Place& place : places_) {
    sum += client_.counters(place.plain).connects.value();
    sum += place.gzip == place.plain ? 0 : client_.counters(place.gzip).connects.value();
  }
  return sum;
}

/// Arms the timer for the next due time; a time gone by fires at once.
void Generator::wait_for_next() {
  const std::optional<base::Instant> due = stopping_ ? std::nullopt : arrivals_.next();
  if (!due) {
    finish_if_over();
    return;
  }
  const auto since = due->time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  itimerspec spec{};
  spec.it_value.tv_sec = seconds.count();
  spec.it_value.tv_nsec = (since - seconds).count();
  ::timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

void Generator::on_ready(uint32_t /*events*/) {
  for (int i = 0; i < kBatch && !stopping_; ++i) {
    const std::optional<base::Instant> due = arrivals_.next();
    if (!due || *due > reactor_.refresh()) {
      break;
    }
    const uint64_t number = arrivals_.number();
    arrivals_.pop();
    send(*due, number);
  }
  wait_for_next();
}

const workload::Corpus::Item& Generator::pick(uint32_t slot, uint64_t number) {
  if (!settings_.shuffle) {
    return corpus_->at(number);
  }
  const uint64_t order = base::combine64(settings_.seed, stripe_.index << 32 | slot);
  return corpus_->at(workload::Shuffle(corpus_->size(), order).at(steps_[slot]++));
}

/// The bytes of one sending: the item's own around ids and times of now.
void Generator::fill_parts(const workload::Corpus::Item& item, uint64_t number) {
  id_.clear();
  fmt::format_to(std::back_inserter(id_), "load-{:x}-{}", settings_.seed, number);
  const int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  if (now_ms != stamped_ms_) {
    stamped_ms_ = now_ms;
    millis_ = std::to_string(now_ms);
    seconds_ = std::to_string(now_ms / 1000);
  }
  if (corpus_->draws_users()) {
    user_ = fmt::format("u-{}", corpus_->user(number));
  }
  item.request.append_parts(
      {.id = id_, .tid = id_, .seconds = seconds_, .millis = millis_, .user = user_}, parts_);
}

void Generator::send(base::Instant due, uint64_t number) {
  tally_.offer();
  series_.offer(due);
  const base::Instant now = reactor_.now();
  // Behind by a whole timeout nothing is made up for: a run ends on time.
  if (free_.empty() || now - due > settings_.timeout) {
    tally_.drop();
    series_.drop(due);
    return;
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  Pending& pending = pending_[slot];
  pending = {.due = due, .sent = now};
  in_flight_.add();
  const size_t turn = number % places_.size();
  net::TargetId place = places_[turn].plain;
  parts_.clear();
  if (corpus_ != nullptr) {
    const workload::Corpus::Item& item = pick(slot, number);
    pending.tmax = std::chrono::milliseconds(item.tmax_ms);
    pending.valid = item.valid;
    place = item.gzip ? places_[turn].gzip : place;
    fill_parts(item, number);
  }
  const base::Instant end = now + settings_.timeout;
  client_.call(place, corpus_ == nullptr ? "GET" : "POST", settings_.targets[turn].path, headers_,
               parts_, {.connect_by = end, .first_byte_by = end, .answer_by = end}, slot, *this);
}

void Generator::on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                          bool /*draining*/) {
  const Pending pending = pending_[tag];
  free_.push_back(static_cast<uint32_t>(tag));
  in_flight_.subtract();
  if (result.error == base::CallError::kNoConnection) {
    tally_.drop();
    series_.drop(pending.due);
  } else {
    const bool whole = result.error == base::CallError::kNone;
    const uint16_t status = whole ? result.status : uint16_t{0};
    // As we read it, not as it could first have been read: our own delay is marked, never hidden.
    const workload::Sample sample{.due = pending.due,
                                  .sent = pending.sent,
                                  .ended = reactor_.now(),
                                  .status = status,
                                  .ending = workload::ending_of(result),
                                  .answer = workload::kind_of(document_, status, body),
                                  .tmax = pending.tmax,
                                  .valid = pending.valid};
    tally_.record(sample);
    series_.record(sample);
  }
  finish_if_over();
}

void Generator::on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) {}

void Generator::finish_if_over() {
  if (in_flight_.value() == 0 && (stopping_ || !arrivals_.next()) && done_) {
    watch_.stop();
    auto done = std::move(done_);
    done_ = nullptr;
    done();
  }
}

}  // namespace spillway::app
