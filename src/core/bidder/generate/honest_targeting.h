#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "bidder/generate/zipf.h"
#include "bidder/model.h"

namespace spillway::bidder::generate {

/// The audiences of W2: each dimension is left open, included or excluded with a share of its own,
/// its values those that the corpus of W2 asks for and others that it never does. One thread.
class HonestTargeting {
 public:
  /// What the creatives of a line item are of is drawn elsewhere.
  [[nodiscard]] Targeting draw(base::Rng& rng, Media media);

 private:
  void segments(base::Rng& rng, Lists& lists);

  Zipf segments_{10'000, 1.0};
  std::vector<uint32_t> drawn_;
};

}  // namespace spillway::bidder::generate
