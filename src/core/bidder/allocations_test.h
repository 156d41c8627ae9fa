#pragma once

#include <cstddef>

namespace spillway::bidder {

/// Allocations of this test program so far, by any thread.
[[nodiscard]] size_t allocations();

}  // namespace spillway::bidder
