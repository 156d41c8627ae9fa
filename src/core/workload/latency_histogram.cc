#include "workload/latency_histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

#include "base/result.h"
#include "base/time.h"

namespace spillway::workload {

namespace {

constexpr size_t kSub = size_t{1} << LatencyBuckets::kSubBits;
constexpr int64_t kUnitNs = 100;
constexpr std::string_view kTitle = "low_ns,high_ns,count";

base::Duration lower(size_t bucket) {
  return bucket == 0 ? base::Duration{} : LatencyBuckets::upper(bucket - 1);
}

}  // namespace

size_t LatencyBuckets::of(base::Duration value) {
  const int64_t units = value.count() / kUnitNs;
  if (units <= 0) {
    return 0;
  }
  const auto v = static_cast<uint64_t>(units);
  if (v < kSub) {
    return static_cast<size_t>(v);
  }
  const auto exponent = static_cast<size_t>(std::bit_width(v)) - kSubBits;
  return std::min(exponent * kSub + static_cast<size_t>(v >> (exponent - 1)) - kSub, kCount - 1);
}

base::Duration LatencyBuckets::upper(size_t bucket) {
  if (bucket < kSub) {
    return base::Duration(static_cast<int64_t>(bucket + 1) * kUnitNs);
  }
  const size_t exponent = bucket / kSub;
  return base::Duration(static_cast<int64_t>((bucket % kSub + kSub + 1) << (exponent - 1)) *
                        kUnitNs);
}

base::Duration LatencyBuckets::middle(size_t bucket) { return (lower(bucket) + upper(bucket)) / 2; }

uint64_t quantile_rank(double ratio, uint64_t total) {
  return std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(ratio * static_cast<double>(total) - 1e-9)));
}

LatencyHistogram& LatencyHistogram::operator=(const LatencyHistogram& other) {
  if (this != &other) {
    for (size_t i = 0; i < counts_.size(); ++i) {
      counts_[i].set(other.counts_[i].value());
    }
  }
  return *this;
}

uint64_t LatencyHistogram::total() const {
  uint64_t sum = 0;
  for (const auto& count : counts_) {
    sum += count.value();
  }
  return sum;
}

base::Duration LatencyHistogram::quantile(double ratio) const {
  const uint64_t all = total();
  if (all == 0) {
    return {};
  }
  const uint64_t rank = quantile_rank(ratio, all);
  uint64_t seen = 0;
  size_t bucket = 0;
  for (; bucket + 1 < counts_.size(); ++bucket) {
    seen += counts_[bucket].value();
    if (seen >= rank) {
      break;
    }
  }
  return LatencyBuckets::middle(bucket);
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) {
    counts_[i].add(other.counts_[i].value());
  }
}

std::string LatencyHistogram::dump() const {
  std::string out = std::string(kTitle) + "\n";
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (const uint64_t count = counts_[i].value(); count > 0) {
      out += std::to_string(lower(i).count()) + "," +
             std::to_string(LatencyBuckets::upper(i).count()) + "," + std::to_string(count) + "\n";
    }
  }
  return out;
}

base::Result<LatencyHistogram, int> LatencyHistogram::parse(std::string_view dump) {
  LatencyHistogram made;
  int line_number = 1;
  if (!dump.starts_with(kTitle)) {
    return std::unexpected(line_number);
  }
  dump.remove_prefix(std::min(dump.find('\n'), dump.size() - 1) + 1);
  while (!dump.empty()) {
    ++line_number;
    std::string_view line = dump.substr(0, dump.find('\n'));
    dump.remove_prefix(std::min(line.size() + 1, dump.size()));
    std::array<int64_t, 3> fields{};
    for (size_t i = 0; i < fields.size(); ++i) {
      const auto [end, error] =
          std::from_chars(line.data(), line.data() + line.size(), fields.at(i));
      line.remove_prefix(static_cast<size_t>(end - line.data()));
      const bool last = i + 1 == fields.size();
      if (error != std::errc{} || fields.at(i) < 0 || line.starts_with(',') == last ||
          (last && !line.empty())) {
        return std::unexpected(line_number);
      }
      line.remove_prefix(last ? 0 : 1);
    }
    const size_t bucket = LatencyBuckets::of(base::Duration(fields[0]));
    if (lower(bucket).count() != fields[0] || LatencyBuckets::upper(bucket).count() != fields[1]) {
      return std::unexpected(line_number);
    }
    made.add(bucket, static_cast<uint64_t>(fields[2]));
  }
  return made;
}

}  // namespace spillway::workload
