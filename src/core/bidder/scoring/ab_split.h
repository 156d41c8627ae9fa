#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spillway::bidder {

/// Which side of an experiment a user is on. Every event of a bid carries it.
enum class Arm : uint8_t { kControl, kTest };

inline constexpr size_t kArms = 2;

/// "control" or "test".
[[nodiscard]] std::string_view to_string(Arm arm);

/// Splits users in two by a stable hash of seed and user: the same user is on the same side on
/// every machine, in every release, for as long as the seed stays; another seed draws anew, and a
/// larger share keeps all who were in the test.
struct AbSplit {
  std::string seed;
  double test_ratio = 0;  ///< Share of users in the test; [0, 1].

  /// A user without an id is in the control: it could not be kept on one side.
  [[nodiscard]] Arm arm_of(std::string_view user) const;
};

}  // namespace spillway::bidder
