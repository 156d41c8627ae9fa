#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spillway::relay_floor {

/// The request every auction of the bench sends, whole.
[[nodiscard]] std::string auction_request();

/// Bounded load on one server over kept-alive connections.
struct Load {
  uint16_t port = 0;
  size_t auctions = 0;
  double rate_per_s = 0;  ///< Evenly spaced arrivals, not waiting for answers; 0: as fast as
                          ///< answers come.
  size_t connections = 16;
};

struct LoadResult {
  size_t answered = 0;  ///< With status 200; the run ends early after 10 s of silence.
  size_t failed = 0;    ///< With another status.
  size_t delayed = 0;   ///< Arrivals that found every connection busy and had to wait.
  uint64_t answer_bytes = 0;
  double seconds = 0;
  std::string last_answer;  ///< Whole.
};

/// Runs it on this thread.
[[nodiscard]] LoadResult drive(const Load& load);

}  // namespace spillway::relay_floor
