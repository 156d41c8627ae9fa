#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "base/time.h"
#include "capacity/law.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {

/// What an operator's hand was, as a recording tells it: held weights are pinned to what they were.
[[nodiscard]] Orders orders_of(const Sample& recorded);

/// Takes the decisions of a recorded run again: of the same law and settings they are the same, to
/// the last bit. Every server reads what it read then, and hears of its peers what they published
/// then, `publish_delay` later.
///
/// One thread. Bounded by the view's max_servers; lines of more servers are left out.
class Replay {
 public:
  struct Settings {
    LawSettings law;
    base::Duration publish_delay{};
    ZoneViewSettings view;
  };

  explicit Replay(Settings settings);

  /// One line, in the order of the recording. Null when max_servers have been seen; else valid
  /// until the next line.
  const Decision* on_sample(const Sample& recorded);

 private:
  Law& law_of(const Sample& recorded);

  Settings settings_;
  ZoneView view_;
  std::map<std::string, Law, std::less<>> laws_;
  std::deque<Sample> under_way_;  ///< Published, not heard of yet. At most publish_delay's worth.
  Decision last_;
};

}  // namespace spillway::capacity
