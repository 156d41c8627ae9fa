#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "capacity/sample.h"

namespace spillway::capacity {

/// Why a sample was not taken.
enum class SampleErrc : uint8_t {
  kBadName,     ///< An empty id, or a name longer than kLongestName.
  kNotANumber,  ///< NaN or infinite.
  kOutOfRange,  ///< Negative, or above what any server can be.
  kOlder,       ///< Not newer than the one known, of the same process or an earlier one.
  kFromFuture,  ///< Taken later than now, and more than clocks differ.
  kTooOld,      ///< Would be forgotten at once.
  kNotAMember,  ///< There is a registry and it does not name the server.
  kFull,        ///< `max_servers` are known.
};
inline constexpr size_t kSampleErrcs = 8;

/// Why a membership was not taken.
enum class MembersErrc : uint8_t {
  kEmpty,          ///< Nobody: a registry that lost its data, until someone confirms.
  kFewerThanHalf,  ///< Of those known, and not confirmed.
  kTooMany,        ///< More than `max_servers`.
  kBadName,        ///< An id empty or longer than kLongestName.
};

[[nodiscard]] std::string_view to_string(SampleErrc errc);
[[nodiscard]] std::string_view to_string(MembersErrc errc);

struct ZoneViewSettings {
  base::Duration stale_after = std::chrono::seconds(6);  ///< A sample older than that is not live.
  base::Duration forget_after = std::chrono::minutes(10);
  base::Duration clock_error = std::chrono::seconds(2);  ///< How far in the future is believed.
  size_t max_servers = 1024;                             ///< Memory: about 1 KiB each.
};

/// What one server sees of its peers at a moment: live ones of its zone that serve, itself left
/// out.
struct ZoneSummary {
  uint32_t members = 0;        ///< Peers that should be there, live or not.
  uint32_t live = 0;           ///< Peers with a live sample that take traffic.
  double utilization_sum = 0;  ///< Over the `sensing` ones.
  uint32_t sensing = 0;        ///< Live ones whose sensor lives.
  double weight_sum = 0;       ///< Over live ones.
  double max_weight = 0;       ///< Of live ones.
  double capacity_sum = 0;     ///< Over the `estimating` ones, outliers limited.
  double max_capacity = 0;     ///< Of the same.
  uint32_t estimating = 0;     ///< Live ones that know their capacity.
  double class_capacity = 0;   ///< Median of this class: in the zone, else anywhere; 0: unknown.
  double class_reading = 0;    ///< Median of what they just read, unsmoothed; 0: unknown.
  uint32_t class_peers = 0;    ///< How many that median is of.
  double median_capacity = 0;  ///< Of the zone; 0: unknown.
  double median_failure_share = 0;  ///< Of what live ones answered, their failures.
  double median_p95_ms = 0;         ///< 0: nobody knows.
  base::Duration mean_age{};        ///< Of the live samples.
};

/// What one process knows of a fleet. Membership (slow, from a registry, or learned from samples)
/// and samples (fast, from peers) come on channels of their own, so that a store that fails takes
/// neither the weights nor the members with it. May hold several zones, and the owner's own
/// samples.
///
/// One thread. Bounded by max_servers; put() is a map look-up, summary() one pass and two medians.
class ZoneView {
 public:
  explicit ZoneView(ZoneViewSettings settings = {}) : settings_(settings) {}

  /// The registry's list of all servers of the fleet, in any order. Those not in it are forgotten
  /// with their samples. A list of nobody, or of fewer than half of those known, changes nothing
  /// until `confirmed` (by an operator, or by the registry saying the same long enough).
  base::Result<void, MembersErrc> set_members(std::span<const std::string> ids, bool confirmed);

  /// There is no registry (any more): who sends samples is a member until forget_after passed.
  void learn_members() { registered_ = false; }

  /// One sample of any server. A refusal is counted and changes nothing.
  base::Result<void, SampleErrc> put(base::Instant now, const Sample& sample);

  /// Of `zone` for the server `id` of `server_class`, which is left out of it.
  [[nodiscard]] ZoneSummary summary(base::Instant now, std::string_view id, std::string_view zone,
                                    std::string_view server_class) const;

  /// Median capacity of the live serving ones of a class in a zone; 0 when none knows.
  [[nodiscard]] double median_capacity(base::Instant now, std::string_view zone,
                                       std::string_view server_class) const;

  /// The last sample of a server, live or not; null when there is none. Valid until the next
  /// change.
  [[nodiscard]] const Sample* find(std::string_view id) const;

  [[nodiscard]] bool is_live(base::Instant now, const Sample& sample) const {
    return now - sample.taken_at <= settings_.stale_after;
  }

  /// Every known sample in the order of ids.
  [[nodiscard]] const std::map<std::string, Sample, std::less<>>& samples() const {
    return samples_;
  }

  /// The registry's members; empty while they are learned.
  [[nodiscard]] const std::set<std::string, std::less<>>& members() const { return members_; }

  [[nodiscard]] uint64_t refused(SampleErrc errc) const {
    return refused_[static_cast<size_t>(errc)];
  }

  [[nodiscard]] uint64_t memberships_refused() const { return memberships_refused_; }

 private:
  [[nodiscard]] base::Result<void, SampleErrc> judge(base::Instant now, const Sample& sample) const;
  void forget_old(base::Instant now);

  ZoneViewSettings settings_;
  bool registered_ = false;
  base::Instant looked_for_old_at_{};
  std::set<std::string, std::less<>> members_;
  std::map<std::string, Sample, std::less<>> samples_;
  std::array<uint64_t, kSampleErrcs> refused_{};
  uint64_t memberships_refused_ = 0;
};

/// Whether the numbers and names of a sample can be of a server at all; does not look at its time.
[[nodiscard]] base::Result<void, SampleErrc> plausible(const Sample& sample);

}  // namespace spillway::capacity
