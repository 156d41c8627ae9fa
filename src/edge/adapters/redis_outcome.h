#pragma once

#include <string_view>

#include "adapters/redis_client.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::adapters {

/// How one call, or one leg of it, ended.
struct RedisEnd {
  bool answered = false;
  RedisErrc error = RedisErrc::kTimeout;  ///< When not answered, or kErrorReply.
  std::string_view error_text{};          ///< With kErrorReply: "WORD what it means".
  base::Duration elapsed{};
};

/// The one outcome of a call to Redis: DESIGN 3's table, total over every input. `terms` are those
/// of the permit.
[[nodiscard]] resilience::Outcome classify(const RedisEnd& end, const resilience::Terms& terms);

/// Whether an error says that the server takes no writes: it is, or has become, a replica.
[[nodiscard]] bool is_read_only(std::string_view error_text);

}  // namespace spillway::adapters
