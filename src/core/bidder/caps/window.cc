#include "bidder/caps/window.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "bidder/model.h"

namespace spillway::bidder::caps {

namespace {

constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;
constexpr int64_t kLifetimeDays = 400;
constexpr int64_t kParts = 12;  ///< Of a sliding window.
constexpr uint16_t kFull = std::numeric_limits<uint16_t>::max();

int64_t length_s(CapWindow window) {
  switch (window) {
    case CapWindow::kHour:
      return kHour;
    case CapWindow::kDay:
      return kDay;
    case CapWindow::kWeek:
      return 7 * kDay;
    case CapWindow::kLifetime:
      break;
  }
  return kLifetimeDays * kDay;
}

/// Takes a number and what follows it when that is `mark`; false when there is no number.
bool take_number(std::string_view& text, char mark, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) {
    return false;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty()) {
    if (text.front() != mark) {
      return false;
    }
    text.remove_prefix(1);
  }
  return true;
}

}  // namespace

uint32_t bucket_at(const CapKey& key, int64_t unix_s) {
  if (key.window == CapWindow::kLifetime) {
    return 0;
  }
  if (key.kind == CapKind::kSliding) {
    return static_cast<uint32_t>(std::max<int64_t>(0, unix_s) / (length_s(key.window) / kParts));
  }
  // Division by a constant each: the compiler multiplies.
  const auto local = [unix_s](int64_t offset_s) { return std::max<int64_t>(0, unix_s + offset_s); };
  switch (key.window) {
    case CapWindow::kHour:
      return static_cast<uint32_t>(local(key.offset_s % kHour) / kHour);
    case CapWindow::kWeek:
      return static_cast<uint32_t>((local(key.offset_s) / kDay + 3) / 7);  // 1970: on a Thursday.
    default:
      return static_cast<uint32_t>(local(key.offset_s) / kDay);
  }
}

size_t buckets_of(const CapKey& key) {
  const bool slides = key.kind == CapKind::kSliding && key.window != CapWindow::kLifetime;
  return slides ? kParts + 1 : 1;
}

int64_t kept_s(const CapKey& key) {
  const int64_t length = length_s(key.window);
  return buckets_of(key) > 1 ? length + length / kParts : length;
}

uint32_t CapCounts::total(uint32_t bucket, size_t buckets) const {
  const uint32_t now = std::max(bucket, newest_);
  if (buckets == 1) {
    return now == newest_ ? shown_[0] : 0;
  }
  uint32_t sum = 0;
  for (size_t i = 0; i < kMost; ++i) {
    const uint64_t age = uint64_t{now} - newest_ + i;
    sum += age < buckets ? shown_[i] : 0U;
  }
  return sum;
}

void CapCounts::roll(uint32_t bucket) {
  if (bucket <= newest_) {
    return;
  }
  const size_t steps = std::min<size_t>(bucket - newest_, kMost);
  std::ranges::copy_backward(shown_.begin(), shown_.end() - static_cast<std::ptrdiff_t>(steps),
                             shown_.end());
  std::fill_n(shown_.begin(), steps, uint16_t{0});
  newest_ = bucket;
}

void CapCounts::add(uint32_t bucket, uint32_t shown) {
  roll(bucket);
  shown_[0] = static_cast<uint16_t>(std::min<uint64_t>(uint64_t{shown_[0]} + shown, kFull));
}

void CapCounts::merge_max(const CapCounts& other) {
  roll(other.newest_);
  const size_t behind = newest_ - other.newest_;
  for (size_t i = behind; i < kMost; ++i) {
    shown_[i] = std::max(shown_[i], other.shown_[i - behind]);
  }
}

bool CapCounts::parse(std::string_view text) {
  CapCounts read;
  bool first = true;
  uint32_t last = 0;
  while (!text.empty()) {
    uint32_t bucket = 0;
    uint32_t shown = 0;
    if (!take_number(text, ':', bucket) || text.empty() || !take_number(text, ',', shown) ||
        (!first && bucket >= last)) {
      return false;
    }
    read.newest_ = first ? bucket : read.newest_;
    if (const size_t age = read.newest_ - bucket; age < kMost) {
      read.shown_[age] = static_cast<uint16_t>(std::min<uint32_t>(shown, kFull));
    }
    first = false;
    last = bucket;
  }
  *this = read;
  return true;
}

void CapCounts::append(std::string& out) const {
  bool first = true;
  for (size_t i = 0; i < kMost; ++i) {
    if (shown_[i] == 0) {
      continue;
    }
    out += first ? "" : ",";
    out += std::to_string(newest_ - i);
    out += ':';
    out += std::to_string(shown_[i]);
    first = false;
  }
}

}  // namespace spillway::bidder::caps
