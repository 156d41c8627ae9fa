#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <rapidcheck.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/play_test.h"
#include "resilience/settings.h"
#include "resilience/window.h"

// The invariants of the design notes, 3.6, each a property over one random schedule. They hold for
// the code and are seen to fail for the bugs planted in it: tests/proof.

namespace spillway::resilience::invariants {

/// What the schedules played so far amount to.
struct Played {
  uint64_t operations = 0;
  uint64_t moves = 0;
};

inline Played played;

inline bool same(const std::vector<Transition>& a, const std::vector<Transition>& b) {
  return std::ranges::equal(a, b, [](const Transition& x, const Transition& y) {
    return x.at == y.at && x.to_state == y.to_state && x.to_mode == y.to_mode &&
           x.epoch == y.epoch && x.rule == y.rule && x.reason == y.reason;
  });
}

inline std::vector<Transition> log_of(const Steps& steps, Twist twist) {
  const Play play(steps, twist);
  played.operations += play.operations();
  played.moves += play.log().size();
  return play.log();
}

/// 1, 2, 10, 11, 13: one probe at a time, every permit settles once, each move is one epoch and one
/// transition, what is in flight is what is held. Play asserts them after every step.
inline void accounts_are_exact() { log_of(*schedules(), Twist::kNone); }

/// 3
inline void a_stale_result_moves_nothing() {
  const Steps steps = *schedules();
  RC_ASSERT(same(log_of(steps, Twist::kNone), log_of(steps, Twist::kStaleAreNeutral)));
}

/// 4: 15 min of calls and ticks; no 5 min of them without a call let through.
inline void the_refused_are_probed_within_five_minutes() {
  base::Rng rng(*rc::gen::arbitrary<uint64_t>());
  Settings settings{.max_in_flight = 0};
  settings.open_max = 100ms * (1 + static_cast<int64_t>(rng.below(3000)));
  settings.open_min = std::min<base::Duration>(settings.open_max, 5s);
  Guard guard("dsp/eu/display", settings, 1, rng.next(), base::Instant(1h));
  std::vector<Transition> log;
  base::Instant now(1h);
  base::Instant asked = now;
  const uint64_t bad = rng.below(101);
  while (now < base::Instant(1h + 15min)) {
    now += 1s * (1 + static_cast<int64_t>(rng.below(8)));
    for (int i = 0; i < 4; ++i) {
      auto permit = guard.admit(0, {.now = now,
                                    .offered = 1ms * (1 + static_cast<int64_t>(rng.below(300))),
                                    .request_hash = rng.next()});
      if (permit) {
        asked = now;
        permit->finish(now, rng.below(100) < bad ? Outcome::kServerError : Outcome::kOk);
      }
    }
    RC_ASSERT(now - asked <= 5min + 20s);
    guard.tick(now, log);
  }
  played.operations += 500;
  played.moves += log.size();
}

/// 5: the window's sums are those of a list of everything that is young enough.
inline void sums_are_those_of_the_buckets() {
  base::Rng rng(*rc::gen::arbitrary<uint64_t>());
  Ring<10> ring(1s);

  struct Added {
    int64_t second;
    Tally tally;
  };

  std::vector<Added> all;
  base::Instant now(1h);
  Tally gone;
  Tally added;
  for (int i = 0; i < 60; ++i) {
    now += rng.below(12) == 0 ? -1s * static_cast<int64_t>(rng.below(20))
                              : 100ms * static_cast<int64_t>(rng.below(30));
    gone.add(ring.advance(now));
    const Tally tally{.good = rng.below(9), .bad = rng.below(9), .overload = rng.below(9)};
    ring.add(tally);
    added.add(tally);
    const int64_t second = now.time_since_epoch() / 1s;
    all.push_back(
        {.second = all.empty() ? second : std::max(second, all.back().second), .tally = tally});
    Tally want;
    for (const Added& one : all) {
      if (one.second > all.back().second - 10) {
        want.add(one.tally);
      }
    }
    const Tally sum = ring.sum();
    RC_ASSERT(sum.good == want.good && sum.bad == want.bad && sum.overload == want.overload);
    RC_ASSERT(gone.good + sum.good == added.good);
  }
  played.operations += 60;
}

/// 6
inline void neutral_outcomes_move_nothing() {
  RC_ASSERT(log_of(*schedules(), Twist::kNeutralOnly).empty());
}

/// 7
inline void time_that_goes_back_moves_nothing() {
  const Steps steps = *schedules();
  RC_ASSERT(same(log_of(steps, Twist::kTickTwice), log_of(steps, Twist::kTimeGoesBack)));
}

/// 8: whatever one leaf answers, its siblings and other dependencies, which are well, admit all.
inline void a_leaf_leaves_others_alone() {
  base::Rng rng(*rc::gen::arbitrary<uint64_t>());
  Registry registry(1, rng.next());
  constexpr std::array<std::string_view, 5> kKeys{"dsp/eu/sick", "dsp/eu/well", "dsp/eu/quiet",
                                                  "dsp/us/well", "other/eu/well"};
  std::vector<Guard*> guards;
  base::Instant now(1h);
  for (const std::string_view key : kKeys) {
    guards.push_back(&registry.at(key, {.max_in_flight = 0}, now));
  }
  std::vector<Transition> log;
  const uint64_t bad = 30 + rng.below(71);
  for (int i = 0; i < 150; ++i) {
    const uint64_t which = rng.below(12);
    const size_t at = which < kKeys.size() ? which : 0;
    auto permit = guards[at]->admit(0, {.now = now, .offered = 300ms, .request_hash = rng.next()});
    RC_ASSERT(at == 0 || permit.has_value());
    now += 1ms * static_cast<int64_t>(rng.below(50));
    if (permit) {
      permit->finish(now, at == 0 && rng.below(100) < bad ? Outcome::kServerError : Outcome::kOk);
    }
    if (i % 3 == 0) {
      registry.tick(now, log);
    }
  }
  for (const Transition& moved : log) {
    RC_ASSERT(moved.key == kKeys[0]);
  }
  played.operations += 200;
  played.moves += log.size();
}

/// 12, to eight deviations: a hundred thousand samples must not fail by chance.
inline void the_ramp_admits_no_more_than_its_step() {
  base::Rng rng(*rc::gen::arbitrary<uint64_t>());
  Guard guard("dsp" + std::to_string(rng.next()), {.max_in_flight = 0}, 1, 1, base::Instant(1h));
  std::vector<Transition> log;
  base::Instant now(1h);
  guard.set_mode(now, Mode::kForcedOpen, now + 1s, "test", log);
  now += 1s;
  guard.tick(now, log);
  for (uint64_t i = rng.below(60); i > 0; --i) {
    now += 500ms;
    guard.tick(now, log);
  }
  const double share = guard.peek().admit_ratio;
  int passed = 0;
  for (int i = 0; i < 300; ++i) {
    auto permit = guard.admit(0, {.now = now, .offered = 300ms, .request_hash = rng.next()});
    passed += permit ? 1 : 0;
  }
  RC_ASSERT(passed <= 300 * share + 8 * std::sqrt(300 * share * (1 - share)) + 2);
  played.operations += 360;
}

/// 14: bids or no bids, in time: never opened.
inline void a_good_dependency_is_never_opened() {
  RC_ASSERT(log_of(*schedules(), Twist::kGoodOnly).empty());
}

struct Property {
  int invariant = 0;
  const char* name = "";
  void (*holds)() = nullptr;
};

inline constexpr std::array kAll{
    Property{1, "one probe at a time", accounts_are_exact},
    Property{2, "every permit settles once", accounts_are_exact},
    Property{3, "a stale result moves nothing", a_stale_result_moves_nothing},
    Property{4, "probed within 5 min", the_refused_are_probed_within_five_minutes},
    Property{5, "sums are those of the buckets", sums_are_those_of_the_buckets},
    Property{6, "neutral outcomes move nothing", neutral_outcomes_move_nothing},
    Property{7, "time that goes back moves nothing", time_that_goes_back_moves_nothing},
    Property{8, "a leaf leaves others alone", a_leaf_leaves_others_alone},
    Property{10, "epochs rise with every move", accounts_are_exact},
    Property{11, "in flight is what is held", accounts_are_exact},
    Property{12, "the ramp admits its step", the_ramp_admits_no_more_than_its_step},
    Property{13, "every epoch has its transition", accounts_are_exact},
    Property{14, "a good dependency stays closed", a_good_dependency_is_never_opened},
};

/// Plays `cases` schedules, or as many as RC_PARAMS says. The seed is in the result.
inline rc::detail::TestResult run(const Property& property, int cases, bool shrink = true) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  if (const char* set = std::getenv("RC_PARAMS");
      set == nullptr || std::string_view(set).find("max_success") == std::string_view::npos) {
    params.maxSuccess = cases;
  }
  params.disableShrinking = params.disableShrinking || !shrink;
  const rc::detail::TestMetadata metadata{.id = property.name, .description = property.name};
  return rc::detail::checkTestable([&] { property.holds(); }, metadata, params);
}

}  // namespace spillway::resilience::invariants
