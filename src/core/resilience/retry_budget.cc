#include "resilience/retry_budget.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "resilience/checker.h"
#include "resilience/problem.h"

namespace spillway::resilience {

namespace {

int64_t quarter_of(base::Instant instant) {
  // One more than the quarters kept, so that none of them is negative.
  return std::max<int64_t>(0, instant.time_since_epoch() / std::chrono::milliseconds(250)) + 42;
}

}  // namespace

void RetryBudget::advance(base::Instant now) {
  const int64_t target = quarter_of(now);
  if (target - newest_ >= kQuarters) {
    ring_ = {};
    starts_ = extra_ = 0;
    newest_ = target;
  }
  while (newest_ < target) {
    ++newest_;
    starts_ -= at(newest_ - kStartQuarters).starts;
    extra_ -= at(newest_).extra;
    at(newest_) = {};
  }
}

void RetryBudget::start(base::Instant now) {
  advance(now);
  ++at(newest_).starts;
  ++starts_;
}

bool RetryBudget::take(base::Instant now) {
  advance(now);
  const double allowed = settings_.share * static_cast<double>(starts_) +
                         10.0 * static_cast<double>(settings_.reserve_per_s);
  if (static_cast<double>(extra_ + 1) > allowed) {
    return false;
  }
  ++at(newest_).extra;
  ++extra_;
  return true;
}

void RetryBudget::give_back(base::Instant taken) {
  const int64_t quarter = quarter_of(taken);
  const bool held = quarter <= newest_ && quarter > newest_ - kQuarters;
  if (held && at(quarter).extra > 0) {
    --at(quarter).extra;
    --extra_;
  }
}

std::vector<Problem> validate(const RetryBudget::Settings& settings) {
  Checker check;
  check.within("share", settings.share, 0, 1);
  check.within("reserve_per_s", settings.reserve_per_s, 0, 1'000);
  return check.take();
}

}  // namespace spillway::resilience
