#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "observe/log.h"
#include "resilience/guard.h"

namespace spillway::app {

/// A program's circuits as its operators meet them: their orders, and every move in the log.
/// The control thread's.
class Circuits {
 public:
  /// Both outlive it.
  Circuits(resilience::Registry& registry, observe::Log& log) : registry_(registry), log_(log) {}

  /// What is due by now.
  void tick(base::Instant now);

  /// An operator's override; `lasting` zero or less: for ever. What is wrong with it, empty when
  /// nothing is.
  [[nodiscard]] std::string set_mode(std::string_view key, base::Instant now, resilience::Mode mode,
                                     base::Duration lasting, std::string_view why);

 private:
  void tell(const std::vector<resilience::Transition>& transitions);

  resilience::Registry& registry_;
  observe::Log& log_;
};

}  // namespace spillway::app
