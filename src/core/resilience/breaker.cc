#include "resilience/breaker.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/probe_slot.h"
#include "resilience/proof.h"
#include "resilience/ramp.h"
#include "resilience/sentence.h"
#include "resilience/settings.h"
#include "resilience/trip.h"
#include "resilience/wilson.h"
#include "resilience/window.h"

namespace spillway::resilience {

namespace {

using base::Duration;
using base::Instant;

constexpr Duration kRoundTimeout = std::chrono::seconds(5);
constexpr Duration kMaxOpen = std::chrono::minutes(5);
/// Calls settled this near to each other make one burst.
constexpr Duration kBurst = std::chrono::milliseconds(200);

std::string numbers(const Evidence& seen, std::string_view where, double threshold) {
  return Sentence()
      .number(seen.bad)
      .text(" of ")
      .number(seen.calls)
      .text(" calls bad ")
      .text(where)
      .text(", at least ")
      .percent(wilson_lower_bound(seen.bad, seen.calls, kTripZ))
      .text(" for sure, allowed ")
      .percent(threshold)
      .str();
}

}  // namespace

Breaker::Breaker(const Settings& settings, uint64_t seed, Instant now)
    : settings_(settings), rng_(seed), now_(now) {
  mode_ = settings_mode();
}

double Breaker::admit_ratio() const {
  if (mode_ == Mode::kDisabled || state_ == State::kClosed) {
    return 1.0;
  }
  return state_ == State::kRamping ? ramp_.ratio() : 0.0;
}

bool Breaker::healthy() const {
  const Evidence recent = evidence_of(slow_.sum());
  return state_ == State::kClosed && recent.bad_ratio() <= usual_.ratio();
}

std::optional<Move> Breaker::tick(Instant now, const Fold& fold, const ProbeRound& probes) {
  since_last_tick_ = std::max(Duration{}, now - now_);
  now_ = SPILLWAY_PLANTED(7) ? now : std::max(now_, now);
  rearmed_ = false;
  take_in(fold);
  if (override_ && now_ >= override_until_) {
    override_.reset();
    return move_to(enter(settings_mode()), settings_mode(), "override_expired",
                   "the operator's override ran out");
  }
  if (!override_ && mode_ != settings_mode()) {
    return move_to(enter(settings_mode()), settings_mode(), "settings", "the settings now say so");
  }
  if (mode_ == Mode::kDisabled || mode_ == Mode::kForcedOpen) {
    return std::nullopt;
  }
  return decide(probes);
}

void Breaker::take_in(const Fold& fold) {
  std::erase_if(recent_, [&](const Settled& old) { return now_ - old.at >= kBurst; });
  if (fold.bad + fold.overload > 0) {
    recent_.push_back({.at = now_, .bad = fold.bad + fold.overload, .resets = fold.resets});
  }
  tick_ = Tally{.good = fold.good, .bad = fold.bad, .overload = fold.overload};
  for (const Settled& near : recent_) {
    tick_.burst += near.bad;
    tick_.reset_burst += near.resets;
  }
  fast_.advance(now_);
  const Tally gone = slow_.advance(now_);
  if (state_ == State::kClosed) {
    usual_.learn(now_, gone);
  }
  fast_.add(tick_);
  slow_.add(tick_);
  run_.advance(now_, fold.bads, fold.last_good);
  bad_streak_ = fold.good == 0 ? bad_streak_ + fold.bad : run_.size();
}

std::optional<Move> Breaker::decide(const ProbeRound& probes) {
  switch (state_) {
    case State::kClosed:
      return decide_closed();
    case State::kOpen:
      return decide_open();
    case State::kHalfOpen:
      return decide_half_open(probes);
    case State::kRamping:
      return decide_ramping();
  }
  return std::nullopt;
}

std::optional<Move> Breaker::decide_closed() {
  const double threshold = usual_.threshold();
  const Evidence fast = evidence_of(fast_.sum());
  const Evidence slow = evidence_of(slow_.sum());
  if (r1_fast(fast, threshold)) {
    return open("r1_fast", fast, numbers(fast, "in 2 s", threshold), false);
  }
  if (r2_slow(slow, threshold)) {
    return open("r2_slow", slow, numbers(slow, "in 10 s", threshold), false);
  }
  if (fast.calls < kFastCalls && run_.trips(usual_.run_length())) {
    return open("r3_run", Evidence{.calls = run_.size(), .bad = run_.size()},
                Sentence().number(run_.size()).text(" bad calls in a row").str(), false);
  }
  if (slow.calls > 0) {
    backoff_.healthy(since_last_tick_);
  }
  return std::nullopt;
}

std::optional<Move> Breaker::decide_open() {
  const bool watchdog = now_ - open_since_ >= kMaxOpen;
  if ((now_ < open_until_ && !watchdog) || SPILLWAY_PLANTED(4)) {
    return std::nullopt;
  }
  round_start_ = now_;
  starved_ = false;
  return watchdog ? move_to(State::kHalfOpen, mode_, "watchdog", "open for 5 min: probing at once")
                  : move_to(State::kHalfOpen, mode_, "open_elapsed", "the wait is over: probing");
}

std::optional<Move> Breaker::decide_half_open(const ProbeRound& probes) {
  const Evidence seen{.calls = probes.good + probes.bad, .bad = probes.bad};
  if (probes.says == ProbeRound::Says::kGood) {
    ramp_.start(now_);
    bad_streak_ = 0;
    Move move = move_to(State::kRamping, mode_, "probes_good",
                        Sentence()
                            .number(probes.good)
                            .text(" of the last ")
                            .number(seen.calls)
                            .text(" probes good: ramping up")
                            .str());
    move.calls = seen.calls;
    move.bad = seen.bad;
    return move;
  }
  if (probes.says == ProbeRound::Says::kBad) {
    return open("probe_bad", seen, Sentence().number(probes.bad).text(" probes bad").str(), true);
  }
  if (now_ - round_start_ < kRoundTimeout) {
    return std::nullopt;
  }
  if (probes.sent && !probes.settled) {
    return open("probe_timeout", seen, "a probe was sent and nothing came back in 5 s", true);
  }
  round_start_ = now_;
  rearmed_ = true;
  starved_ = !probes.sent;
  return std::nullopt;
}

std::optional<Move> Breaker::decide_ramping() {
  const double threshold = usual_.threshold();
  const Evidence fast = evidence_of(fast_.sum());
  if (fast.calls < kFastCalls && run_.trips(usual_.run_length())) {
    return open("r3_run", Evidence{.calls = run_.size(), .bad = run_.size()},
                Sentence().number(run_.size()).text(" bad calls in a row in the ramp").str(), true);
  }
  const Ramp::Says says = ramp_.advance(now_, settings_.ramp, tick_, usual_.ratio(), threshold);
  if (says == Ramp::Says::kGoOn) {
    return std::nullopt;
  }
  const Evidence step = evidence_of(ramp_.step_tally());
  if (says == Ramp::Says::kReopen) {
    return open("ramp_bad", step, numbers(step, "in this step of the ramp", threshold), true);
  }
  Move move = move_to(State::kClosed, mode_, "ramp_done", "full traffic held for a step");
  move.calls = step.calls;
  move.bad = step.bad;
  return move;
}

Move Breaker::open(std::string_view rule, const Evidence& seen, const std::string& what,
                   bool relapse) {
  if (relapse) {
    backoff_.relapse();
  }
  const Duration wait = backoff_.draw(settings_.open_min, settings_.open_max, rng_);
  open_since_ = now_;
  open_until_ = now_ + wait;
  Move move = move_to(State::kOpen, mode_, rule,
                      Sentence().text(what).text(": open for ").seconds(wait).str());
  move.calls = seen.calls;
  move.bad = seen.bad;
  move.open_for = wait;
  return move;
}

Move Breaker::move_to(State state, Mode mode, std::string_view rule, std::string reason) {
  Move move{.from_state = state_,
            .to_state = state,
            .from_mode = mode_,
            .to_mode = mode,
            .rule = rule,
            .reason = std::move(reason)};
  state_ = state;
  mode_ = mode;
  epoch_ += SPILLWAY_PLANTED(10) && state_ == State::kRamping ? 0 : 1;
  fast_.clear();
  slow_.clear();
  run_.clear();
  recent_.clear();
  return move;
}

std::optional<Move> Breaker::open_with_parent(Instant now, const Evidence& pooled,
                                              std::string_view what) {
  now_ = std::max(now_, now);
  const bool moves = mode_ == Mode::kEnforce || mode_ == Mode::kShadow;
  if (!moves || (state_ != State::kClosed && state_ != State::kRamping)) {
    return std::nullopt;
  }
  return open("parent", pooled, std::string(what), false);
}

std::optional<Move> Breaker::override_mode(Instant now, Mode mode, Instant until,
                                           std::string_view why) {
  now_ = std::max(now_, now);
  if (mode == Mode::kEnforce) {
    override_.reset();
    override_until_ = base::kNever;
  } else {
    override_ = mode;
    override_until_ = until;
  }
  const Mode wanted = override_.value_or(settings_mode());
  if (wanted == mode_) {
    return std::nullopt;
  }
  return move_to(enter(wanted), wanted, "operator", Sentence().text("operator: ").text(why).str());
}

/// Forced open holds open and is left through the ramp; other overrides are left to closed.
State Breaker::enter(Mode mode) {
  if (mode == Mode::kForcedOpen) {
    return State::kOpen;
  }
  if (mode_ == Mode::kForcedOpen && mode != Mode::kDisabled) {
    ramp_.start(now_);
    return State::kRamping;
  }
  // Into shadow the state goes along: it shows what enforcing would do.
  return mode == Mode::kShadow ? state_ : State::kClosed;
}

Mode Breaker::settings_mode() const {
  switch (settings_.enforcement) {
    case Settings::Enforcement::kShadow:
      return Mode::kShadow;
    case Settings::Enforcement::kDisabled:
      return Mode::kDisabled;
    case Settings::Enforcement::kEnforce:
      break;
  }
  return Mode::kEnforce;
}

}  // namespace spillway::resilience
