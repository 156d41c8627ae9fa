#include "capacity/zone_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "capacity/sample.h"
#include "capacity/weight.h"

namespace spillway::capacity {

namespace {

constexpr std::array<std::string_view, kSampleErrcs> kSampleErrcNames = {
    "bad_name",    "not_a_number", "out_of_range", "older",
    "from_future", "too_old",      "not_a_member", "full",
};
constexpr std::array<std::string_view, 4> kMembersErrcNames = {"empty", "fewer_than_half",
                                                               "too_many", "bad_name"};

constexpr double kMostCores = 1e5;
/// One peer's capacity counts as at most this many times the zone's median: a single lie must not
/// scale everybody else's weight to the bottom.
constexpr double kOutlier = 16;
/// Utilization below which successes a unit of it say nothing.
constexpr double kWorking = 0.05;

/// Reorders `values`. 0 when empty; of an even number the mean of the middle two.
double median(std::vector<double>& values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool takes_traffic(const Sample& sample) {
  return sample.state == ServerState::kServing || sample.state == ServerState::kFrozen;
}

double failure_share(const Sample& sample) {
  const double answers = sample.successes_per_second + sample.failures_per_second;
  return answers > 0 ? sample.failures_per_second / answers : 0;
}

bool good_name(std::string_view name) { return !name.empty() && name.size() <= kLongestName; }

}  // namespace

std::string_view to_string(SampleErrc errc) { return kSampleErrcNames[static_cast<size_t>(errc)]; }

std::string_view to_string(MembersErrc errc) {
  return kMembersErrcNames[static_cast<size_t>(errc)];
}

base::Result<void, SampleErrc> plausible(const Sample& sample) {
  if (!good_name(sample.id) || sample.zone.size() > kLongestName ||
      sample.server_class.size() > kLongestName) {
    return std::unexpected(SampleErrc::kBadName);
  }

  struct Bounded {
    double value;
    double most;
  };

  const Bounded numbers[] = {
      {sample.capacity, kMostPerSecond},
      {sample.utilization, 1},
      {sample.successes_per_second, kMostPerSecond},
      {sample.requests_per_second, kMostPerSecond},
      {sample.failures_per_second, kMostPerSecond},
      {sample.weight, kMostWeight},
      {sample.throttled_share, 1},
      {sample.pressure, 1},
      {sample.p95_ms, kMostMs},
      {sample.cores, kMostCores},
  };
  for (const auto& number : numbers) {
    if (!std::isfinite(number.value)) {
      return std::unexpected(SampleErrc::kNotANumber);
    }
  }
  for (const auto& number : numbers) {
    if (number.value < 0 || number.value > number.most) {
      return std::unexpected(SampleErrc::kOutOfRange);
    }
  }
  if (sample.window < base::Duration::zero() || sample.serving_for < base::Duration::zero()) {
    return std::unexpected(SampleErrc::kOutOfRange);
  }
  return {};
}

base::Result<void, MembersErrc> ZoneView::set_members(std::span<const std::string> ids,
                                                      bool confirmed) {
  const auto refuse = [&](MembersErrc errc) {
    ++memberships_refused_;
    return std::unexpected(errc);
  };
  if (!std::all_of(ids.begin(), ids.end(), good_name)) {
    return refuse(MembersErrc::kBadName);
  }
  std::set<std::string, std::less<>> members(ids.begin(), ids.end());
  if (members.size() > settings_.max_servers) {
    return refuse(MembersErrc::kTooMany);
  }
  if (members.empty() && !confirmed) {
    return refuse(MembersErrc::kEmpty);
  }
  const size_t known = registered_ ? members_.size() : samples_.size();
  if (2 * members.size() < known && !confirmed) {
    return refuse(MembersErrc::kFewerThanHalf);
  }
  members_.swap(members);
  registered_ = true;
  std::erase_if(samples_, [&](const auto& entry) { return !members_.contains(entry.first); });
  return {};
}

base::Result<void, SampleErrc> ZoneView::judge(base::Instant now, const Sample& sample) const {
  if (auto sound = plausible(sample); !sound) {
    return sound;
  }
  if (sample.taken_at > now + settings_.clock_error) {
    return std::unexpected(SampleErrc::kFromFuture);
  }
  if (now - sample.taken_at > settings_.forget_after) {
    return std::unexpected(SampleErrc::kTooOld);
  }
  if (registered_ && !members_.contains(sample.id)) {
    return std::unexpected(SampleErrc::kNotAMember);
  }
  const auto known = samples_.find(sample.id);
  if (known == samples_.end()) {
    if (samples_.size() >= settings_.max_servers) {
      return std::unexpected(SampleErrc::kFull);
    }
    return {};
  }
  // A process whose clock went back is heard once its predecessor has been silent long enough.
  const auto age = [](const Sample& of) { return std::tie(of.started_at_ms, of.sequence); };
  if (age(sample) <= age(known->second) &&
      (sample.started_at_ms == known->second.started_at_ms || is_live(now, known->second))) {
    return std::unexpected(SampleErrc::kOlder);
  }
  return {};
}

base::Result<void, SampleErrc> ZoneView::put(base::Instant now, const Sample& sample) {
  forget_old(now);
  if (auto sound = judge(now, sample); !sound) {
    ++refused_[static_cast<size_t>(sound.error())];
    return sound;
  }
  samples_.insert_or_assign(sample.id, sample);
  return {};
}

void ZoneView::forget_old(base::Instant now) {
  if (now - looked_for_old_at_ < settings_.stale_after && now >= looked_for_old_at_) {
    return;
  }
  looked_for_old_at_ = now;
  std::erase_if(samples_, [&](const auto& entry) {
    return now - entry.second.taken_at > settings_.forget_after;
  });
}

namespace {

/// Numbers of several peers whose medians are wanted.
struct Columns {
  std::vector<double> capacities;
  std::vector<double> of_class_here;
  std::vector<double> of_class_anywhere;
  std::vector<double> class_readings;
  std::vector<double> failure_shares;
  std::vector<double> p95s_ms;
};

void add_live(const Sample& peer, ZoneSummary& zone, Columns& columns) {
  ++zone.live;
  if (peer.sensor_alive) {
    zone.utilization_sum += peer.utilization;
    ++zone.sensing;
  }
  zone.weight_sum += peer.weight;
  zone.max_weight = std::max(zone.max_weight, peer.weight);
  if (peer.capacity > 0) {
    columns.capacities.push_back(peer.capacity);
  }
  columns.failure_shares.push_back(failure_share(peer));
  if (peer.p95_ms > 0) {
    columns.p95s_ms.push_back(peer.p95_ms);
  }
}

void add_of_class(const Sample& peer, bool here, Columns& columns) {
  if (peer.capacity > 0) {
    (here ? columns.of_class_here : columns.of_class_anywhere).push_back(peer.capacity);
  }
  if (peer.sensor_alive && peer.utilization >= kWorking && peer.successes_per_second > 0) {
    columns.class_readings.push_back(peer.successes_per_second / peer.utilization);
  }
}

}  // namespace

ZoneSummary ZoneView::summary(base::Instant now, std::string_view id, std::string_view zone_name,
                              std::string_view server_class) const {
  ZoneSummary zone;
  Columns columns;
  columns.capacities.reserve(samples_.size());
  columns.failure_shares.reserve(samples_.size());
  base::Duration ages{};
  for (const auto& [peer_id, peer] : samples_) {
    if (peer_id == id || !is_live(now, peer) || !takes_traffic(peer)) {
      continue;
    }
    const bool here = peer.zone == zone_name;
    if (here) {
      add_live(peer, zone, columns);
      ages += std::max(now - peer.taken_at, base::Duration::zero());
    }
    if (peer.server_class == server_class) {
      add_of_class(peer, here, columns);
    }
  }
  zone.median_capacity = median(columns.capacities);
  for (const double capacity : columns.capacities) {
    const double limited = std::min(capacity, kOutlier * zone.median_capacity);
    zone.capacity_sum += limited;
    zone.max_capacity = std::max(zone.max_capacity, limited);
  }
  zone.estimating = static_cast<uint32_t>(columns.capacities.size());
  auto& of_class =
      columns.of_class_here.empty() ? columns.of_class_anywhere : columns.of_class_here;
  zone.class_capacity = median(of_class);
  zone.class_reading = median(columns.class_readings);
  zone.class_peers = static_cast<uint32_t>(of_class.size());
  zone.median_failure_share = median(columns.failure_shares);
  zone.median_p95_ms = median(columns.p95s_ms);
  zone.mean_age = zone.live > 0 ? ages / zone.live : base::Duration::zero();
  zone.members =
      static_cast<uint32_t>(registered_ ? members_.size() - (members_.contains(id) ? 1 : 0)
                                        : samples_.size() - (samples_.contains(id) ? 1 : 0));
  return zone;
}

double ZoneView::median_capacity(base::Instant now, std::string_view zone,
                                 std::string_view server_class) const {
  std::vector<double> capacities;
  for (const auto& [id, sample] : samples_) {
    if (sample.zone == zone && sample.server_class == server_class && sample.capacity > 0 &&
        is_live(now, sample) && takes_traffic(sample)) {
      capacities.push_back(sample.capacity);
    }
  }
  return median(capacities);
}

const Sample* ZoneView::find(std::string_view id) const {
  const auto found = samples_.find(id);
  return found == samples_.end() ? nullptr : &found->second;
}

}  // namespace spillway::capacity
