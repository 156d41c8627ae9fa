#include "resilience/shedder.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resilience/checker.h"
#include "resilience/problem.h"

namespace spillway::resilience {

namespace {

constexpr uint32_t kFirmest = 16;
constexpr uint32_t kFirm = 8;    ///< Level 2 from here on.
constexpr int64_t kSlacks = 16;  ///< Of an interval, when n is 1.

/// `limit` for the class of this rank: 100, 90, 80, 70 %, never 0.
uint32_t share(uint32_t limit, size_t rank) {
  return std::max(1U, static_cast<uint32_t>(uint64_t{limit} * (10 - rank) / 10));
}

base::Duration share(base::Duration limit, size_t rank) {
  return limit * static_cast<int64_t>(10 - rank) / 10;
}

}  // namespace

std::string_view to_string(Criticality criticality) {
  constexpr std::array<std::string_view, kCriticalities> kNames{"critical_plus", "critical",
                                                                "sheddable_plus", "sheddable"};
  return kNames[static_cast<size_t>(criticality)];
}

std::string_view to_string(ShedReason reason) {
  constexpr std::array<std::string_view, kShedReasons> kNames{"none", "in_flight", "queue_age",
                                                              "standing_queue"};
  return kNames[static_cast<size_t>(reason)];
}

std::vector<Problem> validate(const ShedSettings& settings) {
  using std::chrono::seconds;
  Checker check;
  check.within("target", settings.target, std::chrono::microseconds(100), seconds(1));
  check.within("interval", settings.interval, 2 * settings.target, seconds(10));
  check.within("level1.in_flight", settings.level1.in_flight, 1, 1'000'000);
  check.within("level1.queue_age", settings.level1.queue_age, settings.target, seconds(60));
  check.within("level2.in_flight", settings.level2.in_flight, settings.level1.in_flight, 1'000'000);
  check.within("level2.queue_age", settings.level2.queue_age, settings.level1.queue_age,
               seconds(60));
  return check.take();
}

void Shedder::set(const ShedSettings& settings) {
  settings_ = settings;
  set_law();
}

void Shedder::set_law() {
  const double root = std::sqrt(static_cast<double>(std::max(1U, n_)));
  window_ =
      base::Duration(static_cast<int64_t>(static_cast<double>(settings_.interval.count()) / root));
  slack_ = window_ / kSlacks;
}

Shedder::Decision Shedder::decide(base::Instant now, base::Duration queue_age, uint32_t in_flight,
                                  Criticality criticality) {
  observe(std::max(now, last_), queue_age);
  const auto rank = static_cast<size_t>(criticality);
  const Decision decision = judge(queue_age, in_flight, rank);
  note(criticality, decision);
  return decision;
}

Shedder::Decisions Shedder::decide_for_all(base::Instant now, base::Duration queue_age,
                                           uint32_t in_flight) {
  observe(std::max(now, last_), queue_age);
  Decisions decisions;
  for (size_t rank = 0; rank < kCriticalities; ++rank) {
    decisions[rank] = judge(queue_age, in_flight, rank);
  }
  return decisions;
}

void Shedder::note(Criticality criticality, const Decision& decision) {
  const auto rank = static_cast<size_t>(criticality);
  if (decision.shed == Shed::kAdmit) {
    ++counters_.admitted[rank];
  } else {
    const size_t level = decision.shed == Shed::kLevel1 ? 0 : 1;
    ++counters_.shed[rank][level][static_cast<size_t>(decision.reason)];
    level_ = std::max(level_, decision.shed);
  }
}

void Shedder::observe(base::Instant now, base::Duration queue_age) {
  // It came after the one before it had left the queue: in between, the queue was empty.
  if (now - queue_age > last_) {
    least_ = base::Duration::zero();
  }
  last_ = now;
  if (now - window_start_ >= window_) {
    close_windows(now);
  }
  least_ = std::min(least_, queue_age);
}

void Shedder::close_windows(base::Instant now) {
  level_before_ = level_;
  level_ = Shed::kAdmit;
  if (least_ > settings_.target) {
    n_ = std::min(n_ + 1, kFirmest);
  } else {
    // A pause of several windows with an empty queue counts as each of them.
    const int64_t windows = (now - window_start_) / window_;
    for (int64_t i = 0; i < windows && n_ > 0; ++i) {
      n_ = n_ * 3 / 4;
    }
    level_before_ = windows > 1 ? Shed::kAdmit : level_before_;
  }
  window_start_ = now;
  least_ = base::Duration::max();
  set_law();
}

Shedder::Decision Shedder::judge(base::Duration queue_age, uint32_t in_flight, size_t rank) const {
  const base::Duration standing =
      settings_.target + slack_ * static_cast<int64_t>(kCriticalities - rank);
  const Shed firmly = n_ == 0 ? Shed::kAdmit : n_ < kFirm ? Shed::kLevel1 : Shed::kLevel2;
  for (const Shed level : {Shed::kLevel2, Shed::kLevel1}) {
    const ShedSettings::Limits& limits =
        level == Shed::kLevel2 ? settings_.level2 : settings_.level1;
    if (in_flight >= share(limits.in_flight, rank)) {
      return {.shed = level, .reason = ShedReason::kInFlight};
    }
    if (queue_age > share(limits.queue_age, rank)) {
      return {.shed = level, .reason = ShedReason::kQueueAge};
    }
    if (firmly == level && queue_age > standing) {
      return {.shed = level, .reason = ShedReason::kStandingQueue};
    }
  }
  return {};
}

}  // namespace spillway::resilience
