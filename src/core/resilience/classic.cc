#include "resilience/classic.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/classic_rules.h"
#include "resilience/guard.h"

namespace spillway::resilience {

namespace {

using base::Duration;
using base::Instant;

constexpr double kP99Share = 0.01;

/// Rates are decimals: 7 of 100 is 0.07 although 0.07 * 100 is a little more than 7.
bool reaches(uint32_t part, uint32_t whole, double rate) {
  return static_cast<double>(part) + 1e-9 >= rate * static_cast<double>(whole);
}

size_t window_size(const ClassicRules& rules) { return std::max<size_t>(rules.size, 1); }

uint32_t wanted_calls(const ClassicRules& rules) {
  return rules.window == ClassicRules::Window::kCount ? std::min(rules.min_calls, rules.size)
                                                      : rules.min_calls;
}

}  // namespace

void ClassicTally::add(const ClassicTally& other) {
  calls += other.calls;
  failed += other.failed;
  slow += other.slow;
  over_p99 += other.over_p99;
}

void ClassicTally::take(const ClassicTally& other) {
  calls -= other.calls;
  failed -= other.failed;
  slow -= other.slow;
  over_p99 -= other.over_p99;
}

ClassicWindow::ClassicWindow(ClassicRules::Window kind, size_t size, uint32_t min_calls)
    : kind_(kind), min_calls_(std::max(min_calls, 1U)), buckets_(size) {}

ClassicWindow::ClassicWindow(const ClassicRules& rules)
    : ClassicWindow(rules.window, window_size(rules), wanted_calls(rules)) {}

ClassicWindow ClassicWindow::half_open(const ClassicRules& rules) {
  const uint32_t size = std::max(rules.half_open_calls, 1U);
  return {ClassicRules::Window::kCount, size, std::min(wanted_calls(rules), size)};
}

void ClassicWindow::step() {
  newest_ = (newest_ + 1) % buckets_.size();
  total_.take(buckets_[newest_]);
  buckets_[newest_] = {};
}

void ClassicWindow::advance(Instant now) {
  if (kind_ == ClassicRules::Window::kCount) {
    return;
  }
  const auto second = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (second_ == INT64_MIN) {
    second_ = second;
  }
  const auto steps = std::min(second - second_, static_cast<int64_t>(buckets_.size()));
  for (int64_t i = 0; i < steps; ++i) {
    step();
  }
  second_ = std::max(second_, second);
}

void ClassicWindow::record(Instant now, const ClassicTally& call, uint32_t times) {
  if (kind_ == ClassicRules::Window::kCount) {
    const auto size = static_cast<uint32_t>(buckets_.size());
    for (uint32_t i = 0; i < std::min(times, size); ++i) {
      step();
      buckets_[newest_] = call;
      total_.add(call);
    }
    return;
  }
  advance(now);
  const ClassicTally all{.calls = call.calls * times,
                         .failed = call.failed * times,
                         .slow = call.slow * times,
                         .over_p99 = call.over_p99 * times};
  buckets_[newest_].add(all);
  total_.add(all);
}

ClassicWindow::Says ClassicWindow::says(const ClassicRules& rules) const {
  if (total_.calls < min_calls_) {
    return Says::kTooFew;
  }
  const bool p99 = rules.p99_ceiling > Duration{} &&
                   static_cast<double>(total_.over_p99) > kP99Share * total_.calls;
  return p99 || reaches(total_.failed, total_.calls, rules.failure_rate) ||
                 reaches(total_.slow, total_.calls, rules.slow_rate)
             ? Says::kTooBad
             : Says::kFine;
}

ClassicTally ClassicWindow::sum() const {
  ClassicTally all;
  for (const ClassicTally& bucket : buckets_) {
    all.add(bucket);
  }
  return all;
}

Duration classic_wait(const ClassicRules& rules, uint32_t attempt, base::Rng& rng) {
  const double cap = static_cast<double>(rules.open_cap.count());
  const double grown =
      static_cast<double>(rules.open.count()) * std::pow(rules.open_growth, attempt - 1.0);
  const double factor =
      rules.open_jitter > 0 ? rng.uniform(1 - rules.open_jitter, 1 + rules.open_jitter) : 1.0;
  return Duration(std::llround(std::min(grown, cap) * factor));
}

ClassicBreaker::ClassicBreaker(const ClassicRules& rules, uint64_t seed)
    : rules_(rules), rng_(seed), window_(rules) {}

std::optional<ClassicBreaker::Place> ClassicBreaker::acquire(Instant now) {
  now_ = std::max(now_, now);
  if (state_ == State::kOpen && now_ > open_until_) {
    enter(State::kHalfOpen);
    window_ = ClassicWindow::half_open(rules_);
  }
  if (state_ == State::kClosed) {
    return Place{.epoch = epoch_};
  }
  if (state_ == State::kOpen) {
    return std::nullopt;
  }
  given_ -= static_cast<uint32_t>(
      std::erase_if(held_, [&](const Held& held) { return now_ - held.since >= kLease; }));
  if (given_ >= rules_.half_open_calls) {
    return std::nullopt;
  }
  ++given_;
  held_.push_back({.number = ++next_number_, .since = now_});
  return Place{.epoch = epoch_, .number = next_number_};
}

void ClassicBreaker::finish(Instant now, Place place, Result result, Duration took) {
  now_ = std::max(now_, now);
  if (place.epoch != epoch_) {
    return;
  }
  if (state_ == State::kHalfOpen &&
      std::erase_if(held_, [&](const Held& held) { return held.number == place.number; }) == 0) {
    return;
  }
  if (result == Result::kCancelled) {
    given_ -= state_ == State::kHalfOpen ? 1 : 0;
    return;
  }
  const bool over_p99 = rules_.p99_ceiling > Duration{} && took > rules_.p99_ceiling;
  window_.record(now_, {.calls = 1,
                        .failed = result == Result::kError ? 1U : 0U,
                        .slow = result == Result::kSlow || took > rules_.slow ? 1U : 0U,
                        .over_p99 = over_p99 ? 1U : 0U});
  judge();
}

void ClassicBreaker::judge() {
  const auto says = window_.says(rules_);
  if (says == ClassicWindow::Says::kTooBad) {
    open();
  } else if (says == ClassicWindow::Says::kFine && state_ == State::kHalfOpen) {
    enter(State::kClosed);
    attempt_ = 0;
    window_ = ClassicWindow(rules_);
  }
}

void ClassicBreaker::open() {
  ++attempt_;
  open_until_ = now_ + classic_wait(rules_, attempt_, rng_);
  enter(State::kOpen);
}

void ClassicBreaker::enter(State state) {
  state_ = state;
  ++epoch_;
  held_.clear();
  given_ = 0;
}

}  // namespace spillway::resilience
