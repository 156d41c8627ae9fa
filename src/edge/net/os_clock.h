#pragma once

#include "base/time.h"

namespace spillway::net {

/// The operating system's monotonic clock (CLOCK_MONOTONIC). Any thread; about 32 ns a reading.
class OsClock final : public base::Clock {
 public:
  [[nodiscard]] base::Instant now() const noexcept override;
};

}  // namespace spillway::net
