#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bidder/model.h"

namespace spillway::bidder::caps {

/// One limit for one user: what is counted, over which window. `offset_s` is the advertiser's
/// offset from UTC now (positive east), in [-14 h, 14 h]; it matters to calendar windows only.
struct CapKey {
  CapScope scope = CapScope::kCampaign;
  CapWindow window = CapWindow::kDay;
  CapKind kind = CapKind::kCalendar;
  int64_t id = 0;  ///< Of the campaign, creative or advertiser.
  int32_t offset_s = 0;

  /// The same counter, whatever the offset of the day.
  [[nodiscard]] bool same_counter(const CapKey& other) const {
    return scope == other.scope && window == other.window && kind == other.kind && id == other.id;
  }
};

/// A limit to be kept.
struct CapLimit {
  CapKey key;
  uint32_t most = 0;  ///< 0: nothing is shown. Above 65 534 it is 65 534.
};

/// Number of the bucket that `unix_s` falls into. Calendar windows have one bucket an hour, day or
/// week (Monday first) of the advertiser's zone; hours follow the part of the offset below one
/// hour, so that the hour a clock is set back is two windows and not one. Sliding windows have one
/// a twelfth of their length. Lifetime is bucket 0. Never decreases with time at one offset, nor
/// across a change to daylight saving time or back. Times before 1970 count as 1970.
[[nodiscard]] uint32_t bucket_at(const CapKey& key, int64_t unix_s);

/// Buckets that count at once: 1, and 13 of a sliding window: the last twelve and the present one,
/// so that nothing of the last hour (day, week) is ever missed, and at most a twelfth more counts.
[[nodiscard]] size_t buckets_of(const CapKey& key);

/// For how long a count matters after it was made: the window and one bucket; 400 days for
/// lifetime, which is what "lifetime" means here.
[[nodiscard]] int64_t kept_s(const CapKey& key);

/// What was shown to one user under one key, by bucket. Rolls by itself: whoever reads or adds says
/// the present bucket. A bucket older than the newest seen is the newest: a clock that steps back
/// makes no counts vanish. Each count saturates at 65 535.
///
/// A value of 32 bytes; text form "bucket:count" joined by commas, newest first, empty for none.
class CapCounts {
 public:
  static constexpr size_t kMost = 13;

  /// Shown within the window that ends in `bucket`.
  [[nodiscard]] uint32_t total(uint32_t bucket, size_t buckets) const;

  void add(uint32_t bucket, uint32_t shown);

  /// For each bucket the larger of both: two views of the same truth, neither of which invents.
  void merge_max(const CapCounts& other);

  /// Reads the text form; unreadable text, which somebody else wrote, is false and changes nothing.
  [[nodiscard]] bool parse(std::string_view text);
  void append(std::string& out) const;

  bool operator==(const CapCounts&) const = default;

 private:
  void roll(uint32_t bucket);

  uint32_t newest_ = 0;
  std::array<uint16_t, kMost> shown_{};  ///< Of newest_, newest_ - 1, …
};

}  // namespace spillway::bidder::caps
