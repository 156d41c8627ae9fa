#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace spillway::net {

/// `Retry-After`: seconds or an IMF-fixdate (against the wall clock), clamped to [0, 5 min]; zero
/// for anything else. Source: RFC 9110, section 10.2.3.
[[nodiscard]] base::Duration retry_after(std::string_view value);

/// `Keep-Alive: timeout=5, max=100`. Source: RFC 2068, section 19.7.1.1.
struct KeepAlive {
  std::optional<uint32_t> timeout_s;
  std::optional<uint32_t> max;
};

[[nodiscard]] KeepAlive keep_alive(std::string_view value);

}  // namespace spillway::net
