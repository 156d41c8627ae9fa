#include "bidder/generate/zipf.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/rng.h"

namespace spillway::bidder::generate {

namespace {

constexpr uint32_t kRanksMax = 16'384;

}  // namespace

Zipf::Zipf(uint32_t n, double exponent) {
  SPILLWAY_ASSERT(n > 0 && n < kRanksMax);
  cumulative_.reserve(n);
  double sum = 0;
  for (uint32_t rank = 1; rank <= n; ++rank) {
    sum += std::pow(rank, -exponent);
    cumulative_.push_back(sum);
  }
}

uint32_t Zipf::draw(base::Rng& rng) const {
  const double at = rng.uniform() * cumulative_.back();
  const auto found = std::ranges::upper_bound(cumulative_, at);
  return 1 + static_cast<uint32_t>(std::min<std::ptrdiff_t>(found - cumulative_.begin(),
                                                            std::ssize(cumulative_) - 1));
}

void Zipf::draw_distinct(base::Rng& rng, uint32_t count, std::vector<uint32_t>& out) const {
  SPILLWAY_ASSERT(count <= size());
  std::bitset<kRanksMax> seen;
  out.clear();
  while (out.size() < count) {
    const uint32_t rank = draw(rng);
    if (!seen.test(rank)) {
      seen.set(rank);
      out.push_back(rank);
    }
  }
}

}  // namespace spillway::bidder::generate
