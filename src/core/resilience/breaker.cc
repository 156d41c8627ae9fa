#include "resilience/breaker.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "resilience/classic.h"
#include "resilience/classic_rules.h"
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
/// After such a pause calls in flight are late because of us: their answers may just be unread.
constexpr Duration kLateTick = std::chrono::milliseconds(500);
constexpr Duration kCatchUp = std::chrono::milliseconds(100);
/// Calls settled this near to each other make one burst.
constexpr Duration kBurst = std::chrono::milliseconds(200);
/// A failed round of probes is repeated so often, after a fifth of open_min, before it counts as a
/// relapse: a sound leaf with a usual bad share of 20 % fails one round in ten.
constexpr uint32_t kSecondLooks = 2;
/// As many as the probe slot can count.
constexpr uint32_t kMaxClassicProbes = 15;
constexpr int kSecondLookPart = 5;

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
    : settings_(settings), rng_(seed), now_(now), epoch_start_(now) {
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

void Breaker::set_settings(const Settings& settings) {
  const bool same = settings.rules == settings_.rules && settings.classic == settings_.classic;
  settings_ = settings;
  if (!same && classic_probes_ == 0) {
    classic_.reset();
  }
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
  bad_streak_ = fold.good == 0 ? bad_streak_ + fold.bad : run_.bad();
  if (since_last_tick_ > kLateTick) {
    resumed_ = now_;
  }
  const bool on_time = now_ - resumed_ >= kCatchUp;
  overdue_ = on_time ? Tally{.bad = fold.overdue_calls, .burst = fold.overdue_burst} : Tally{};
  overdue_calls_ = on_time ? fold.overdue : std::span<const BadCall>{};
  if (classic() || classic_probes_ > 0) {
    take_in_classic(fold);
  }
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

bool Breaker::run_trips(const Evidence& fast) const {
  return fast.calls < kFastCalls && run_.trips(usual_.run_length(), overdue_calls_);
}

std::optional<Move> Breaker::decide_closed() {
  if (classic()) {
    return decide_classic({}, "classic_window");
  }
  const double threshold = usual_.threshold();
  const auto with_overdue = [&](Tally settled) {
    settled.add(overdue_);
    return evidence_of(settled);
  };
  const Evidence fast = with_overdue(fast_.sum());
  const Evidence slow = with_overdue(slow_.sum());
  if (r1_fast(fast, threshold)) {
    return open("r1_fast", fast, numbers(fast, "in 2 s", threshold), After::kTrip);
  }
  if (r2_slow(slow, threshold)) {
    return open("r2_slow", slow, numbers(slow, "in 10 s", threshold), After::kTrip);
  }
  if (run_trips(fast)) {
    const uint64_t run = run_.size() + overdue_.bad;
    return open("r3_run", Evidence{.calls = run, .bad = run},
                Sentence().number(run).text(" bad calls in a row").str(), After::kTrip);
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

/// The verdict of the slot's own rule.
std::optional<Move> Breaker::judge_probes(const ProbeRound& probes) {
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
    const bool again = failed_rounds_ < kSecondLooks;
    return open("probe_bad", seen, Sentence().number(probes.bad).text(" probes bad").str(),
                again ? After::kSecondLook : After::kRelapse);
  }
  return std::nullopt;
}

std::optional<Move> Breaker::decide_half_open(const ProbeRound& probes) {
  auto verdict =
      classic_probes_ > 0 ? decide_classic("probes_good", "probe_bad") : judge_probes(probes);
  if (verdict || now_ - round_start_ < kRoundTimeout) {
    return verdict;
  }
  const bool decided = probes.says != ProbeRound::Says::kUndecided;
  if (decided || (probes.sent && !probes.settled)) {
    const Evidence seen{.calls = probes.good + probes.bad, .bad = probes.bad};
    return open("probe_timeout", seen, "a probe was sent and nothing came back in 5 s",
                After::kRelapse);
  }
  round_start_ = now_;
  rearmed_ = true;
  starved_ = !probes.sent;
  return std::nullopt;
}

std::optional<Move> Breaker::decide_ramping() {
  const double threshold = usual_.threshold();
  if (run_trips(evidence_of(fast_.sum()))) {
    const uint64_t run = run_.size() + overdue_.bad;
    return open("r3_run", Evidence{.calls = run, .bad = run},
                Sentence().number(run).text(" bad calls in a row in the ramp").str(),
                After::kRelapse);
  }
  const Ramp::Says says = ramp_.advance(now_, settings_.ramp, tick_, usual_.ratio(), threshold);
  if (says == Ramp::Says::kGoOn) {
    return std::nullopt;
  }
  const Evidence step = evidence_of(ramp_.step_tally());
  if (says == Ramp::Says::kReopen) {
    return open("ramp_bad", step, numbers(step, "in this step of the ramp", threshold),
                After::kRelapse);
  }
  Move move = move_to(State::kClosed, mode_, "ramp_done", "full traffic held for a step");
  move.calls = step.calls;
  move.bad = step.bad;
  return move;
}

Move Breaker::open(std::string_view rule, const Evidence& seen, const std::string& what,
                   After after) {
  if (after == After::kRelapse) {
    backoff_.relapse();
  }
  failed_rounds_ = after == After::kSecondLook ? failed_rounds_ + 1 : 0;
  const Duration wait = classic() ? classic_wait(settings_.classic, ++attempt_, rng_)
                        : after == After::kSecondLook
                            ? backoff_.spread(settings_.open_min / kSecondLookPart, rng_)
                            : backoff_.draw(settings_.open_min, settings_.open_max, rng_);
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
  epoch_start_ = now_;
  classic_.reset();
  classic_probes_ = 0;
  if (state == State::kHalfOpen && classic()) {
    ClassicRules round = settings_.classic;
    round.half_open_calls = std::clamp(round.half_open_calls, 1U, kMaxClassicProbes);
    classic_ = ClassicWindow::half_open(round);
    classic_probes_ = classic_->min_calls();
  } else if (state == State::kClosed) {
    attempt_ = 0;
  }
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
  return open("parent", pooled, std::string(what), After::kTrip);
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
  if (mode_ == Mode::kForcedOpen && mode != Mode::kDisabled && !classic()) {
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
