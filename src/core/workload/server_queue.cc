#include "workload/server_queue.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/time.h"

namespace spillway::workload {

std::optional<base::Duration> ServerQueue::enter(base::Instant now, base::Duration service,
                                                 size_t servers, base::Duration longest_wait) {
  if (free_at_.size() != servers) {
    free_at_.assign(servers, now);
  }
  const auto first = std::ranges::min_element(free_at_);
  const base::Instant begins = std::max(now, *first);
  if (begins - now > longest_wait) {
    return std::nullopt;
  }
  *first = begins + service;
  return *first - now;
}

}  // namespace spillway::workload
