#include "app/load/generator.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "workload/arrivals.h"
#include "workload/corpus.h"
#include "workload/tally.h"

namespace spillway::app {

namespace {

/// Sent in one go before other events get their turn.
constexpr int kBatch = 64;

}  // namespace

Generator::Generator(net::Reactor& reactor, const LoadSettings& settings,
                     const workload::Corpus& corpus)
    : reactor_(reactor),
      settings_(settings),
      corpus_(corpus),
      arrivals_(settings.arrivals, {}, settings.seed),
      tally_(settings.late_after),
      client_(reactor),
      headers_("Content-Type: application/json\r\nx-openrtb-version: 2.6\r\n"),
      pending_(settings.connections) {
  target_ = client_.add_target({.name = "target",
                                .host = settings.host,
                                .port = settings.port,
                                .tls = settings.tls,
                                .max_connections = settings.connections,
                                .max_handshakes = settings.connections,
                                .answer_bytes = size_t{4} << 20});
  for (size_t i = pending_.size(); i > 0; --i) {
    free_.push_back(static_cast<uint32_t>(i - 1));
  }
  timer_fd_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  SPILLWAY_ASSERT(timer_fd_ >= 0);
  reactor_.add(timer_fd_, EPOLLIN, *this);
}

Generator::~Generator() {
  reactor_.remove(timer_fd_, *this);
  ::close(timer_fd_);
}

void Generator::start(std::move_only_function<void()> done) {
  done_ = std::move(done);
  started_at_ = reactor_.refresh();
  arrivals_ = workload::Arrivals(settings_.arrivals, started_at_, settings_.seed);
  wait_for_next();
}

base::Duration Generator::elapsed() const {
  const base::Instant end = ended_at_ == base::Instant{} ? reactor_.now() : ended_at_;
  return started_at_ == base::Instant{} ? base::Duration{} : end - started_at_;
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
  uint64_t expirations = 0;
  if (::read(timer_fd_, &expirations, sizeof expirations) < 0) {
    return;
  }
  for (int i = 0; i < kBatch && !stopping_; ++i) {
    const std::optional<base::Instant> due = arrivals_.next();
    if (!due || *due > reactor_.refresh()) {
      break;
    }
    arrivals_.pop();
    send(*due);
  }
  wait_for_next();
}

void Generator::send(base::Instant due) {
  tally_.offer();
  if (free_.empty()) {
    tally_.drop();
    return;
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  const base::Instant now = reactor_.now();
  pending_[slot] = {.due = due, .sent = now};
  ++in_flight_;
  const auto& request = corpus_.at(arrivals_.taken());
  id_ = fmt::format("load-{:x}-{}", settings_.seed, arrivals_.taken());
  const std::array<std::string_view, 3> body = {request.head, id_, request.tail};
  const base::Instant end = now + settings_.timeout;
  client_.call(target_, "POST", settings_.path, headers_, body,
               {.connect_by = end, .first_byte_by = end, .answer_by = end}, slot, *this);
}

void Generator::on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                          bool /*draining*/) {
  const Pending pending = pending_[tag];
  free_.push_back(static_cast<uint32_t>(tag));
  --in_flight_;
  if (result.error == base::CallError::kNoConnection) {
    tally_.drop();
  } else {
    const workload::Ending ending = workload::ending_of(result);
    const bool whole = result.error == base::CallError::kNone;
    const uint16_t status = whole ? result.status : uint16_t{0};
    tally_.record({.due = pending.due,
                   .sent = pending.sent,
                   .ended = result.ended_at,
                   .status = status,
                   .ending = ending,
                   .answer = workload::kind_of(document_, status, body)});
  }
  finish_if_over();
}

void Generator::on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) {}

void Generator::finish_if_over() {
  if (in_flight_ == 0 && (stopping_ || !arrivals_.next()) && done_) {
    ended_at_ = reactor_.refresh();
    auto done = std::move(done_);
    done_ = nullptr;
    done();
  }
}

}  // namespace spillway::app
