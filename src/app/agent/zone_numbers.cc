#include "app/agent/zone_numbers.h"

#include <algorithm>

#include "base/time.h"
#include "capacity/law.h"
#include "capacity/sample.h"
#include "capacity/zone_view.h"

namespace spillway::app::agent {
namespace {

bool takes_traffic(const capacity::Sample& sample) {
  return sample.state == capacity::ServerState::kServing ||
         sample.state == capacity::ServerState::kFrozen;
}

}  // namespace

ZoneNumbers zone_numbers(const capacity::ZoneView& view, base::Instant now,
                         const capacity::Decision& own) {
  ZoneNumbers out;
  double lowest = 1;
  double highest = 0;
  double requests = 0;
  double weights = 0;
  bool senses = false;
  const auto count = [&](const capacity::Sample& sample) {
    if (!takes_traffic(sample)) {
      return;
    }
    ++out.live;
    weights += sample.weight;
    if (sample.capacity > 0) {
      out.capacity += sample.capacity;
      requests += sample.requests_per_second;
    }
    if (sample.sensor_alive) {
      senses = true;
      lowest = std::min(lowest, sample.utilization);
      highest = std::max(highest, sample.utilization);
      out.saturated += sample.utilization > kSaturated ? 1 : 0;
    }
  };
  count(own.sample);
  for (const auto& [id, sample] : view.samples()) {
    ++out.known;
    if (id != own.sample.id && sample.zone == own.sample.zone && view.is_live(now, sample)) {
      count(sample);
    }
  }
  out.spread_ratio = senses ? highest - lowest : 0;
  out.demand_ratio = out.capacity > 0 ? requests / out.capacity : 0;
  out.share_ratio = takes_traffic(own.sample) && weights > 0 ? own.sample.weight / weights : 0;
  return out;
}

}  // namespace spillway::app::agent
