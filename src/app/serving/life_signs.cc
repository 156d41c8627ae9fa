#include "app/serving/life_signs.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include "base/time.h"
#include "observe/supervisor.h"

namespace spillway::app {
namespace {

// A loop turns four times a second by its own timer; one that did not for this long hangs, or has
// no processor.
constexpr base::Duration kStuckAfter = std::chrono::seconds(1);

}  // namespace

void LifeSigns::tell(std::span<const uint64_t> turns, base::Instant now) {
  const auto watchdog = supervisor_.watchdog();
  if (!watchdog) {
    return;
  }
  const bool all_turned =
      turns_seen_.empty() ||
      std::ranges::equal(turns, turns_seen_, [](uint64_t a, uint64_t b) { return a != b; });
  if (all_turned) {
    turns_seen_.assign(turns.begin(), turns.end());
    lively_at_ = now;
  }
  if (now - lively_at_ <= std::max(*watchdog / 2, kStuckAfter)) {
    supervisor_.alive(now);
  }
}

}  // namespace spillway::app
