#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bidder/generate/zipf.h"

namespace spillway::bidder::generate {

/// The audience of a workload: the segments of user n, computed for each one alone, so that a
/// hundred million need no memory. Immutable; any thread. Memory: 8 bytes a segment.
class Users {
 public:
  /// W1: users 1 to 100,000 are known, with 50 to 200 segments each, drawn by a Zipf law of
  /// exponent 1.1 over segments 1 to 1,000. Nobody else is known.
  [[nodiscard]] static Users parity(uint64_t seed = 42);

  /// W2: of users 1 to 100,000,000, one in twenty is not known and one in ten of the others has no
  /// segments; the rest have 1 to 120 of 10,000, by a Zipf law of exponent 1.0.
  [[nodiscard]] static Users honest(uint64_t seed = 42);

  /// Those that may be known have the ids 1 to count().
  [[nodiscard]] uint64_t count() const { return count_; }

  /// Fills `out` with the segments of a user, each once, in no order; false when the user is not
  /// known. Reuses the memory of `out`. Cost: about 17 us in W1, 5 us in W2
  /// (bidder_bench --benchmark_filter=make_).
  [[nodiscard]] bool segments(uint64_t user, std::vector<uint32_t>& out) const;

  /// The id that the workload's requests carry for a user: "17" in W1, "u-17" in W2.
  [[nodiscard]] std::string id(uint64_t user) const;

 private:
  struct Law {
    uint32_t fewest = 0;
    uint32_t most = 0;
    double unknown_ratio = 0;
    double without_ratio = 0;
    std::string_view id_prefix{};
  };

  Users(uint64_t seed, uint64_t count, Zipf zipf, Law law);

  uint64_t seed_;
  uint64_t count_;
  Zipf zipf_;
  Law law_;
};

}  // namespace spillway::bidder::generate
