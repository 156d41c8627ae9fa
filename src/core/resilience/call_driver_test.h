#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {

using namespace std::chrono_literals;

/// What a fake dependency does with one call: how long it takes, and a fixed outcome unless the
/// time decides (kOk).
struct Reply {
  base::Duration latency{};
  Outcome outcome = Outcome::kOk;
};

using Dependency = std::function<Reply(base::Rng&)>;

inline Dependency lognormal(double median_ms, double sigma) {
  return [=](base::Rng& rng) {
    const double ms = median_ms * std::exp(sigma * rng.normal());
    return Reply{.latency = base::Duration(static_cast<int64_t>(ms * 1e6))};
  };
}

inline Dependency constant(base::Duration latency, Outcome outcome = Outcome::kOk) {
  return [=](base::Rng&) { return Reply{.latency = latency, .outcome = outcome}; };
}

inline Dependency hang() { return constant(1h); }

/// One guard with one worker in virtual time: Poisson arrivals, a fake dependency, 100 ms ticks,
/// late answers drained for a second. Classifies as DESIGN 3 says.
class CallDriver {
 public:
  explicit CallDriver(uint64_t seed, const Settings& settings = {})
      : guard("dsp/eu/display", settings, 1, seed, base::Instant(1h)), rng(seed) {}

  Guard guard;
  base::Rng rng;
  base::Instant now{1h};
  std::vector<Transition> log;
  uint64_t refused = 0;
  uint64_t admitted = 0;

  /// `rate` calls a second with budgets from `offered` for `time`. Stops early when `until` holds
  /// after a tick.
  void run(base::Duration time, double rate,
           const std::function<base::Duration(base::Rng&)>& offered, const Dependency& dependency,
           const std::function<bool()>& until = {}) {
    const base::Instant end = now + time;
    base::Instant arrival = now + gap(rate);
    while (now < end) {
      const base::Instant returned = calls_.empty() ? base::kNever : calls_.top().at;
      const base::Instant next = std::min({arrival, returned, next_tick_, end});
      now = next;
      if (next == returned) {
        finish_one();
      } else if (next == next_tick_) {
        next_tick_ += 100ms;
        guard.tick(now, log);
        if (until && until()) {
          return;
        }
      } else if (next == arrival) {
        arrival += gap(rate);
        call(offered(rng), dependency(rng));
      }
    }
  }

  void run(base::Duration time, double rate, base::Duration offered, const Dependency& dependency,
           const std::function<bool()>& until = {}) {
    run(time, rate, [=](base::Rng&) { return offered; }, dependency, until);
  }

  /// Until the guard is in `state`; the time it took, or nothing in `limit`.
  std::optional<base::Duration> until(State state, base::Duration limit, double rate,
                                      base::Duration offered, const Dependency& dependency) {
    const base::Instant start = now;
    run(limit, rate, offered, dependency, [&] { return guard.peek().state == state; });
    return guard.peek().state == state ? std::optional(now - start) : std::nullopt;
  }

  [[nodiscard]] int opened() const {
    int count = 0;
    for (const Transition& transition : log) {
      count += transition.to_state == State::kOpen && transition.from_state != State::kOpen ? 1 : 0;
    }
    return count;
  }

 private:
  struct Call {
    base::Instant at{};  ///< When something happens to it next.
    base::Instant started{};
    Reply reply;
    Permit permit;
    Tail tail;
  };

  struct Pending {
    base::Instant at{};
    size_t index = 0;

    bool operator<(const Pending& other) const { return at > other.at; }
  };

  base::Duration gap(double rate) {
    return base::Duration(static_cast<int64_t>(-std::log(1 - rng.uniform()) / rate * 1e9) + 1);
  }

  void call(base::Duration offered, const Reply& reply) {
    auto given = guard.admit(0, {.now = now, .offered = offered, .request_hash = rng.next()});
    if (!given) {
      ++refused;
      return;
    }
    ++admitted;
    size_t index = store_.size();
    if (free_.empty()) {
      store_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    const base::Duration takes = std::min(reply.latency, offered);
    store_[index] = Call{
        .at = now + takes, .started = now, .reply = reply, .permit = std::move(*given), .tail = {}};
    calls_.push({.at = now + takes, .index = index});
  }

  static Outcome classify(const Terms& terms, const Reply& reply) {
    if (reply.latency > terms.offered) {
      return terms.offered >= terms.fair ? Outcome::kTimeout : Outcome::kShort;
    }
    if (reply.outcome != Outcome::kOk) {
      return reply.outcome;
    }
    const bool slow = reply.latency > terms.slow_after && terms.offered >= terms.fair;
    return slow ? Outcome::kSlow : Outcome::kOk;
  }

  void finish_one() {
    const size_t index = calls_.top().index;
    calls_.pop();
    Call& call = store_[index];
    if (call.permit) {
      const Terms terms = call.permit.terms();
      call.tail = call.permit.finish(now, classify(terms, call.reply));
      if (call.reply.latency > terms.offered) {
        const auto drained = std::min(call.reply.latency, terms.offered + 1s);
        calls_.push({.at = call.started + drained, .index = index});
        return;
      }
    } else if (now - call.started >= call.reply.latency) {
      call.tail.settle(call.reply.latency);
    }
    call.tail = Tail{};
    free_.push_back(index);
  }

  base::Instant next_tick_ = base::Instant(1h) + 100ms;
  std::priority_queue<Pending> calls_;
  std::vector<Call> store_;
  std::vector<size_t> free_;
};

}  // namespace spillway::resilience
