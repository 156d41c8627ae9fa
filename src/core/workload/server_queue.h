#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/time.h"

namespace spillway::workload {

/// A queue in front of k equal servers, first come first served: why a partner gets slower the more
/// it is asked. Work that began is done to its end, whether or not its caller still waits; that is
/// what makes an overloaded partner stay slow when nobody backs off.
///
/// One thread owns it. Memory: one instant a server. Cost: linear in the servers.
class ServerQueue {
 public:
  /// How long a call that comes at `now` and keeps a server for `service` takes, waiting included;
  /// nothing, and no server is used, when it would wait longer than `longest_wait`. Calls come in
  /// the order of `now`. `servers` is at least 1; another number than before empties the queue.
  [[nodiscard]] std::optional<base::Duration> enter(base::Instant now, base::Duration service,
                                                    size_t servers, base::Duration longest_wait);

 private:
  std::vector<base::Instant> free_at_;
};

}  // namespace spillway::workload
