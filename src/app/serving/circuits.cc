#include "app/serving/circuits.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/time.h"
#include "observe/log.h"
#include "resilience/guard.h"

namespace spillway::app {

void Circuits::tick(base::Instant now) {
  std::vector<resilience::Transition> transitions;
  registry_.tick(now, transitions);
  tell(transitions);
}

std::string Circuits::set_mode(std::string_view key, base::Instant now, resilience::Mode mode,
                               base::Duration lasting, std::string_view why) {
  const auto until = lasting <= base::Duration::zero() || lasting >= base::kNever - now
                         ? base::kNever
                         : now + lasting;
  std::vector<resilience::Transition> transitions;
  if (!registry_.set_mode(key, now, mode, until, why, transitions)) {
    return fmt::format("key: there is no circuit \"{}\"", key);
  }
  tell(transitions);
  return {};
}

void Circuits::tell(const std::vector<resilience::Transition>& transitions) {
  for (const auto& t : transitions) {
    const bool bad = t.to_state == resilience::State::kOpen && t.from_state != t.to_state;
    log_.event(
        bad ? observe::Level::kWarn : observe::Level::kInfo,
        "event=circuit_transition key={} from={} to={} from_mode={} mode={} epoch={} rule={} "
        "calls={} bad={} open_for_ms={:.0f} reason={}",
        t.key, resilience::to_string(t.from_state), resilience::to_string(t.to_state),
        resilience::to_string(t.from_mode), resilience::to_string(t.to_mode), t.epoch, t.rule,
        t.calls, t.bad, base::to_ms(t.open_for), observe::quoted(t.reason));
  }
}

}  // namespace spillway::app
