#include "base/histogram.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace spillway::base {

namespace {

constexpr size_t kSub = size_t{1} << Histogram::kSubBits;

}  // namespace

size_t Histogram::bucket_of(Duration value) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(value).count();
  if (us <= 0) {
    return 0;
  }
  const auto v = static_cast<uint64_t>(us);
  if (v < kSub) {
    return static_cast<size_t>(v);
  }
  const auto exponent = static_cast<size_t>(std::bit_width(v)) - kSubBits;
  return std::min(exponent * kSub + static_cast<size_t>(v >> (exponent - 1)) - kSub, kBuckets - 1);
}

uint64_t Histogram::upper_us(size_t bucket) {
  if (bucket < kSub) {
    return bucket + 1;
  }
  const size_t exponent = bucket / kSub;
  return (uint64_t{bucket % kSub} + kSub + 1) << (exponent - 1);
}

uint64_t Histogram::total() const {
  uint64_t sum = 0;
  for (const auto& count : counts_) {
    sum += count.value();
  }
  return sum;
}

uint64_t Histogram::count_at_most(Duration bound) const {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(bound).count();
  uint64_t sum = 0;
  for (size_t i = 0; i < kBuckets && upper_us(i) <= static_cast<uint64_t>(std::max<int64_t>(us, 0));
       ++i) {
    sum += counts_[i].value();
  }
  return sum;
}

Duration Histogram::quantile(double ratio) const {
  const uint64_t all = total();
  if (all == 0) {
    return Duration::zero();
  }
  const auto rank = static_cast<uint64_t>(std::ceil(ratio * static_cast<double>(all)));
  uint64_t seen = 0;
  size_t i = 0;
  for (; i + 1 < kBuckets; ++i) {
    seen += counts_[i].value();
    if (seen >= std::max<uint64_t>(rank, 1)) {
      break;
    }
  }
  const uint64_t low = i == 0 ? 0 : upper_us(i - 1);
  return std::chrono::nanoseconds((low + upper_us(i)) * 500);
}

void Histogram::merge(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) {
    counts_[i].add(other.counts_[i].value());
  }
  sum_nanos_.add(other.sum_nanos_.value());
}

}  // namespace spillway::base
