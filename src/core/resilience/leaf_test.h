#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <expected>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {

using namespace std::chrono_literals;

/// One guard and a hand-moved clock, for tests that place every call.
class Leaf {
 public:
  explicit Leaf(const Settings& settings = {}, uint32_t workers = 2)
      : guard("dsp/eu/display", settings, workers, 7, base::Instant(1h)) {}

  Guard guard;
  base::Instant now{1h};
  std::vector<Transition> log;

  std::expected<Permit, Refusal> admit(base::Duration offered = 300ms, uint32_t worker = 0) {
    return guard.admit(worker, {.now = now, .offered = offered, .request_hash = ++hash_});
  }

  /// A call that takes `takes`; false when refused.
  bool call(Outcome outcome, base::Duration takes = 10ms, base::Duration offered = 300ms) {
    auto permit = admit(offered);
    if (!permit) {
      return false;
    }
    now += takes;
    permit->finish(now, outcome);
    return true;
  }

  /// Moves time in ticks of 100 ms.
  void pass(base::Duration time) {
    const base::Instant end = now + time;
    while (now < end) {
      now = std::min(now + 100ms, end);
      guard.tick(now, log);
    }
  }

  /// `calls` calls of one outcome, each followed by `gap` of ticks.
  void calls(int calls, Outcome outcome, base::Duration gap = 100ms) {
    for (int i = 0; i < calls; ++i) {
      call(outcome);
      pass(gap);
    }
  }

  [[nodiscard]] State state() const { return guard.peek().state; }

  void open() {
    while (state() != State::kOpen) {
      call(Outcome::kServerError);
      pass(100ms);
    }
  }

  void half_open() {
    open();
    while (state() != State::kHalfOpen) {
      pass(100ms);
    }
  }

  void ramping() {
    half_open();
    while (state() == State::kHalfOpen) {
      call(Outcome::kOk);
      pass(100ms);
    }
  }

  [[nodiscard]] std::string_view last_rule() const { return log.empty() ? "" : log.back().rule; }

 private:
  uint64_t hash_ = 0;
};

}  // namespace spillway::resilience
