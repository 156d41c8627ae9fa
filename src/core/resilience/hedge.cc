#include "resilience/hedge.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "resilience/checker.h"
#include "resilience/log_buckets.h"
#include "resilience/outcome.h"
#include "resilience/problem.h"
#include "resilience/retry_budget.h"

namespace spillway::resilience {

namespace {

constexpr uint32_t kEnoughLatencies = 50;
constexpr base::Duration kLearnEvery = std::chrono::seconds(10);

constexpr size_t index(Leg leg) { return static_cast<size_t>(leg); }

constexpr Leg other(Leg leg) { return leg == Leg::kFirst ? Leg::kSecond : Leg::kFirst; }

bool is_answer(Outcome outcome) { return outcome == Outcome::kOk || outcome == Outcome::kSlow; }

/// The larger, the more the breaker has to hear of it.
int weight(Outcome outcome) {
  switch (verdict_of(outcome)) {
    case Verdict::kBad:
      return 2;
    case Verdict::kOverload:
      return 1;
    case Verdict::kGood:
    case Verdict::kNeutral:
      return 0;
  }
  return 0;
}

/// Failures that took no time to come say nothing about how long an answer takes.
bool tells_latency(Outcome outcome) {
  return is_answer(outcome) || outcome == Outcome::kTimeout || outcome == Outcome::kShort ||
         outcome == Outcome::kCancelledSlow;
}

}  // namespace

std::string_view to_string(HedgeBlock block) {
  constexpr std::array<std::string_view, kHedgeBlocks> kNames{
      "off",     "probe", "unknown_latency", "too_late",      "answered",
      "circuit", "shed",  "pushback",        "no_other_host", "budget"};
  return kNames[static_cast<size_t>(block)];
}

std::vector<Problem> validate(const HedgeSettings& settings) {
  Checker check;
  check.within("floor", settings.floor, std::chrono::microseconds(100), std::chrono::seconds(10));
  check.within("quantile", settings.quantile, 0.5, 0.999);
  check.within("pushback", settings.pushback, base::Duration::zero(), std::chrono::seconds(60));
  std::vector<Problem> problems = check.take();
  for (const Problem& problem : validate(settings.budget)) {
    problems.push_back({.key = "budget." + problem.key, .what = problem.what});
  }
  return problems;
}

void Hedger::set(const HedgeSettings& settings) {
  settings_ = settings;
  budget_.set(settings.budget);
}

std::optional<base::Duration> Hedger::delay() const {
  if (late_ == base::Duration::zero()) {
    return std::nullopt;
  }
  return std::max(settings_.floor, late_);
}

void Hedger::learn(base::Instant now, base::Duration latency) {
  ++counts_[LogBuckets::of(latency)];
  ++total_;
  const bool first = late_ == base::Duration::zero();
  if (total_ < kEnoughLatencies || (!first && now - learnt_at_ < kLearnEvery)) {
    return;
  }
  usual_ = upper_quantile(0.5);
  late_ = upper_quantile(settings_.quantile);
  learnt_at_ = now;
  counts_ = {};
  total_ = 0;
}

base::Duration Hedger::upper_quantile(double ratio) const {
  double left = ratio * total_;
  size_t bucket = 0;
  while (bucket + 1 < counts_.size() && left > counts_[bucket]) {
    left -= counts_[bucket];
    ++bucket;
  }
  return base::Duration(static_cast<int64_t>(LogBuckets::lower_ns(bucket + 1)));
}

std::unexpected<HedgeBlock> Hedger::block(HedgeBlock why) {
  ++counters_.blocked[static_cast<size_t>(why)];
  return std::unexpected(why);
}

HedgedCall::~HedgedCall() {
  if (!ended_) {
    return_token();
  }
}

base::Instant HedgedCall::start(base::Instant now, base::Instant deadline, bool probe) {
  started_ = now;
  deadline_ = deadline;
  ended_ = false;
  state(Leg::kFirst) = State::kSent;
  ++hedger_.counters_.starts;
  hedger_.budget_.start(now);
  const std::optional<base::Duration> delay = hedger_.delay();
  std::optional<HedgeBlock> never;
  if (!hedger_.settings_.enabled) {
    never = HedgeBlock::kOff;
  } else if (probe) {
    never = HedgeBlock::kProbe;
  } else if (!delay) {
    never = HedgeBlock::kUnknownLatency;
  } else if (deadline - now < *delay + hedger_.usual_) {
    never = HedgeBlock::kTooLate;
  }
  if (never) {
    state(Leg::kSecond) = State::kSettled;
    hedger_.block(*never);
    return base::kNever;
  }
  return now + *delay;
}

base::Result<void, HedgeBlock> HedgedCall::on_timer(base::Instant now, const Gates& gates) {
  if (ended_ || state(Leg::kSecond) != State::kNone) {
    return std::unexpected(HedgeBlock::kAnswered);
  }
  state(Leg::kSecond) = State::kSettled;
  if (!hedger_.settings_.enabled) {
    return hedger_.block(HedgeBlock::kOff);
  }
  if (deadline_ - now < hedger_.usual_) {
    return hedger_.block(HedgeBlock::kTooLate);
  }
  if (!gates.circuits_closed) {
    return hedger_.block(HedgeBlock::kCircuit);
  }
  if (gates.shed_level > 0) {
    return hedger_.block(HedgeBlock::kShed);
  }
  if (now < hedger_.pushed_back_until_) {
    return hedger_.block(HedgeBlock::kPushback);
  }
  if (!gates.other_host) {
    return hedger_.block(HedgeBlock::kNoOtherHost);
  }
  if (!hedger_.budget_.take(now)) {
    return hedger_.block(HedgeBlock::kBudget);
  }
  state(Leg::kSecond) = State::kDecided;
  taken_ = now;
  return {};
}

void HedgedCall::on_sent() {
  if (!ended_ && state(Leg::kSecond) == State::kDecided) {
    state(Leg::kSecond) = State::kSent;
    ++hedger_.counters_.fired;
  }
}

bool HedgedCall::under_way(Leg leg) const {
  const State state = states_[index(leg)];
  return state == State::kDecided || state == State::kSent;
}

void HedgedCall::settle(base::Instant now, Leg leg, Outcome outcome) {
  if (leg == Leg::kSecond) {
    if (outcome == Outcome::kNotSent) {
      return_token();
    } else {
      on_sent();
    }
  }
  state(leg) = State::kSettled;
  outcomes_[index(leg)] = outcome;
  if (outcome == Outcome::kOverload) {
    hedger_.push_back(now);
  }
  if (leg == Leg::kFirst && tells_latency(outcome)) {
    hedger_.learn(now, now - started_);
  }
}

std::optional<HedgeEnd> HedgedCall::on_result(base::Instant now, Leg leg, Outcome outcome) {
  if (ended_ || !under_way(leg)) {
    return std::nullopt;
  }
  settle(now, leg, outcome);
  if (is_answer(outcome)) {
    return finish(now, leg, Outcome::kCancelled);
  }
  if (under_way(other(leg))) {
    return std::nullopt;
  }
  return finish(now, std::nullopt, Outcome::kNotSent);
}

std::optional<HedgeEnd> HedgedCall::end(base::Instant now, Outcome outcome) {
  if (ended_) {
    return std::nullopt;
  }
  return finish(now, std::nullopt, outcome);
}

HedgeEnd HedgedCall::finish(base::Instant now, std::optional<Leg> winner, Outcome rest) {
  for (const Leg leg : {Leg::kFirst, Leg::kSecond}) {
    if (under_way(leg)) {
      const bool sent = state(leg) == State::kSent;
      settle(now, leg, sent ? rest : Outcome::kNotSent);
    }
  }
  ended_ = true;
  HedgeEnd end{.winner = winner, .legs = outcomes_};
  if (winner) {
    end.outcome = outcomes_[index(*winner)];
    hedger_.counters_.won += *winner == Leg::kSecond ? 1 : 0;
    if (*winner == Leg::kSecond && outcomes_[0] == Outcome::kCancelled) {
      hedger_.learn(now, now - started_);
    }
  } else {
    end.outcome = weight(outcomes_[1]) > weight(outcomes_[0]) ? outcomes_[1] : outcomes_[0];
  }
  return end;
}

void HedgedCall::return_token() {
  if (state(Leg::kSecond) == State::kDecided) {
    hedger_.budget_.give_back(taken_);
    ++hedger_.counters_.unsent;
    state(Leg::kSecond) = State::kSettled;
  }
}

}  // namespace spillway::resilience
