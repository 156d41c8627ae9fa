#include "bidder/generate/users.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/rng.h"
#include "bidder/generate/zipf.h"

namespace spillway::bidder::generate {

Users::Users(uint64_t seed, uint64_t count, Zipf zipf, Law law)
    : seed_(seed), count_(count), zipf_(std::move(zipf)), law_(law) {}

Users Users::parity(uint64_t seed) {
  return {seed, 100'000, Zipf(1'000, 1.1), {.fewest = 50, .most = 200}};
}

Users Users::honest(uint64_t seed) {
  return {
      seed,
      100'000'000,
      Zipf(10'000, 1.0),
      {.fewest = 1, .most = 120, .unknown_ratio = 0.05, .without_ratio = 0.10, .id_prefix = "u-"}};
}

bool Users::segments(uint64_t user, std::vector<uint32_t>& out) const {
  out.clear();
  base::Rng rng(base::combine64(seed_, user));
  if (user == 0 || user > count_ || rng.uniform() < law_.unknown_ratio) {
    return false;
  }
  if (rng.uniform() >= law_.without_ratio) {
    const auto count = static_cast<uint32_t>(law_.fewest + rng.below(law_.most - law_.fewest + 1));
    zipf_.draw_distinct(rng, count, out);
  }
  return true;
}

std::string Users::id(uint64_t user) const {
  return std::string(law_.id_prefix) + std::to_string(user);
}

}  // namespace spillway::bidder::generate
