#include "app/agent/departure.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "adapters/agent_check.h"
#include "base/time.h"

namespace spillway::app::agent {

using adapters::AgentWord;

std::string_view to_string(DrainReason reason) {
  constexpr std::array<std::string_view, kDrainReasons> kNames{
      "none", "signal", "spot_interruption", "rebalance", "operator"};
  return kNames.at(static_cast<size_t>(reason));
}

void Departure::drain(base::Instant now, DrainReason reason) {
  if (!draining()) {
    since_ = now;
  }
  reason_ = reason;
}

void Departure::leave(base::Instant now) {
  drain(now, DrainReason::kSignal);
  leaving_ = true;
}

void Departure::come_back(base::Instant now) {
  if (draining() && !leaving_) {
    reason_ = DrainReason::kNone;
    ready_until_ = now + settings_.ready_for;
  }
}

void Departure::resume_drained(base::Instant now) { ready_until_ = now + settings_.ready_for; }

AgentWord Departure::word(base::Instant now) const {
  if (draining()) {
    return AgentWord::kDrain;
  }
  return now < ready_until_ ? AgentWord::kReadyUp : AgentWord::kUp;
}

bool Departure::is_over(base::Instant now, bool is_quiet) const {
  return leaving_ &&
         (now >= since_ + settings_.wait || (is_quiet && now >= since_ + settings_.announce));
}

}  // namespace spillway::app::agent
