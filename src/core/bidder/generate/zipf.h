#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace spillway::bidder::generate {

/// Ranks 1 to n, rank r with weight r^-exponent. Immutable; any thread. Memory: 8 n bytes; a draw
/// costs about 30 ns.
class Zipf {
 public:
  Zipf(uint32_t n, double exponent);

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(cumulative_.size()); }

  [[nodiscard]] uint32_t draw(base::Rng& rng) const;

  /// `count` different ranks in the order of their drawing. Draws until
  /// there are so many. Requires count well below n.
  void draw_distinct(base::Rng& rng, uint32_t count, std::vector<uint32_t>& out) const;

 private:
  std::vector<double> cumulative_;
};

}  // namespace spillway::bidder::generate
