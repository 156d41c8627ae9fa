#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/limiter.h"
#include "resilience/limiter_window.h"

namespace spillway::resilience {

/// M/G/k with a limiter in front, in virtual time: Poisson arrivals above what the servers can do,
/// admitted while fewer than the limit are in flight. Up to `servers` calls in flight nobody waits
/// and throughput rises; beyond, calls only wait: `servers` is the knee.
struct QueueServer {
  using Draw = std::function<double(base::Rng&)>;  ///< Milliseconds of service.

  uint32_t servers = 50;
  double rate = 1500;  ///< Arrivals a second.
  Draw service;
  double stretch = 1;            ///< Of the service times, for leaks and incidents.
  uint32_t buffer = UINT32_MAX;  ///< Calls that may wait; one more is refused (a drop).
  double deadline_ms = 1e9;      ///< Later answers are drops; the slot is held until the answer.

  struct Event {
    base::Instant at{};
    base::Instant started{};
    uint32_t in_flight = 0;
    uint32_t uncongested_most = 0;

    bool operator<(const Event& other) const { return at > other.at; }
  };

  explicit QueueServer(Limiter& limited, uint64_t seed) : limiter(limited), rng(seed) {}

  Limiter& limiter;
  base::Rng rng;
  base::Instant now{std::chrono::hours(1)};
  LimiterWindowBuilder window{now};
  std::vector<double> limits;  ///< One a second.
  double answered = 0;

  void run(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      second();
      limits.push_back(limiter.exact());
    }
  }

  /// Mean, least and most of the last `seconds`.
  struct Range {
    double mean = 0;
    double low = 1e9;
    double high = 0;
  };

  [[nodiscard]] Range last(size_t seconds) const {
    Range range;
    for (size_t i = limits.size() - seconds; i < limits.size(); ++i) {
      range.mean += limits[i] / static_cast<double>(seconds);
      range.low = std::min(range.low, limits[i]);
      range.high = std::max(range.high, limits[i]);
    }
    return range;
  }

 private:
  static base::Duration ms(double value) {
    return base::Duration(static_cast<int64_t>(value * 1e6));
  }

  void second() {
    const base::Instant end = now + std::chrono::seconds(1);
    next_arrival_ = std::max(next_arrival_, now);
    while (true) {
      const base::Instant done = busy_.empty() ? base::kNever : busy_.top().at;
      if (std::min(done, next_arrival_) > end) {
        break;
      }
      if (done <= next_arrival_) {
        now = done;
        finish();
      } else {
        now = next_arrival_;
        next_arrival_ += ms(-std::log(1 - rng.uniform()) / rate * 1000);
        arrive();
      }
      if (const auto closed = window.close(now)) {
        limiter.observe(*closed);
      }
    }
    now = end;
  }

  void arrive() {
    if (in_flight_ >= limiter.limit()) {
      return;
    }
    const Event call{.at = now,
                     .started = now,
                     .in_flight = in_flight_ + 1,
                     .uncongested_most = limiter.uncongested_most()};
    if (busy_.size() >= servers && waiting_.size() >= buffer) {
      window.add_overloads(1);
      window.note_in_flight(in_flight_ + 1);
      return;
    }
    ++in_flight_;
    if (busy_.size() < servers) {
      serve(call);
    } else {
      waiting_.push_back(call);
    }
  }

  void serve(Event call) {
    call.at = now + ms(service(rng) * stretch);
    busy_.push(call);
  }

  void finish() {
    const Event call = busy_.top();
    busy_.pop();
    --in_flight_;
    ++answered;
    const base::Duration took = now - call.started;
    window.add_call(took, call.in_flight, call.uncongested_most, base::to_ms(took) > deadline_ms);
    if (!waiting_.empty()) {
      serve(waiting_.front());
      waiting_.pop_front();
    }
  }

  base::Instant next_arrival_{};
  uint32_t in_flight_ = 0;
  std::priority_queue<Event> busy_;
  std::deque<Event> waiting_;
};

inline QueueServer::Draw fixed_service(double ms) {
  return [=](base::Rng&) { return ms; };
}

inline QueueServer::Draw lognormal_service(double median_ms, double sigma) {
  return [=](base::Rng& rng) { return median_ms * std::exp(sigma * rng.normal()); };
}

inline QueueServer::Draw exponential_service(double mean_ms) {
  return [=](base::Rng& rng) { return -mean_ms * std::log(1 - rng.uniform()); };
}

}  // namespace spillway::resilience
