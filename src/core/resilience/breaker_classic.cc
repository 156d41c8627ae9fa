#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "resilience/breaker.h"
#include "resilience/classic.h"
#include "resilience/guard.h"
#include "resilience/sentence.h"
#include "resilience/window.h"

// What `rules: classic` changes about a guard's breaker.

namespace spillway::resilience {

void Breaker::take_in_classic(const Fold& fold) {
  if (!classic_) {
    classic_.emplace(settings_.classic);
  }
  classic_->advance(now_);
  // Of a tick that fills a whole count window, each kind keeps its share.
  const uint64_t calls = fold.good + fold.bad + fold.overload;
  const uint64_t most = std::max<uint64_t>(calls, classic_->size());
  const auto record = [&](uint64_t count, ClassicTally call) {
    classic_->record(now_, call, static_cast<uint32_t>(count * classic_->size() / most));
  };
  const uint64_t slow_failures = fold.slow - fold.slow_only;
  record(fold.good - fold.over_p99, {.calls = 1});
  record(fold.over_p99, {.calls = 1, .over_p99 = 1});
  // The ceiling is no more than what is slow.
  record(fold.slow_only, {.calls = 1, .slow = 1, .over_p99 = 1});
  record(slow_failures, {.calls = 1, .failed = 1, .slow = 1, .over_p99 = 1});
  record(fold.bad - fold.slow + fold.overload, {.calls = 1, .failed = 1});
}

/// `fine`: the rule of the move to closed; empty when that is where it is.
std::optional<Move> Breaker::decide_classic(std::string_view fine, std::string_view too_bad) {
  if (!classic_) {
    return std::nullopt;
  }
  const auto says = classic_->says(settings_.classic);
  if (says == ClassicWindow::Says::kTooFew ||
      (says == ClassicWindow::Says::kFine && fine.empty())) {
    return std::nullopt;
  }
  const ClassicTally seen = classic_->total();
  const Evidence evidence{.calls = seen.calls, .bad = std::max(seen.failed, seen.slow)};
  Sentence counted;
  counted.number(seen.failed).text(" failed and ").number(seen.slow).text(" slow");
  if (settings_.classic.p99_ceiling > base::Duration{}) {
    counted.text(" and ").number(seen.over_p99).text(" over the p99 ceiling");
  }
  const auto what = counted.text(" of ").number(seen.calls).text(" calls").str();
  if (says == ClassicWindow::Says::kTooBad) {
    return open(too_bad, evidence, what, After::kRelapse);
  }
  Move move = move_to(State::kClosed, mode_, fine, what + ": closed");
  move.calls = evidence.calls;
  move.bad = evidence.bad;
  return move;
}

}  // namespace spillway::resilience
