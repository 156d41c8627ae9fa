#include "net/os_clock.h"

#include <chrono>

#include "base/time.h"

namespace spillway::net {

base::Instant OsClock::now() const noexcept { return std::chrono::steady_clock::now(); }

}  // namespace spillway::net
