#include "base/recent_quantile.h"

#include <cstddef>
#include <cstdint>

#include "base/histogram.h"
#include "base/time.h"

namespace spillway::base {

Duration RecentQuantile::quantile(Instant now, const Histogram& all, double ratio) {
  if (!begun_ || now - next_at_ >= window_) {
    from_ = next_;
    for (size_t i = 0; i < Histogram::kBuckets; ++i) {
      next_[i] = all.count(i);
    }
    next_at_ = now;
    begun_ = true;
  }
  Histogram recent;
  for (size_t i = 0; i < Histogram::kBuckets; ++i) {
    const uint64_t count = all.count(i);
    recent.add(i, count > from_[i] ? count - from_[i] : 0);
  }
  return recent.quantile(ratio);
}

}  // namespace spillway::base
