#include "app/exchange/bid_alerts.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/exchange/stats.h"
#include "base/time.h"
#include "exchange/bid_watch.h"
#include "observe/log.h"
#include "resilience/outcome.h"

namespace spillway::app {
namespace {

constexpr base::Duration kEvery = std::chrono::seconds(1);

exchange::BidCounts sums_of(const EndpointStatsTable& stats, const std::string& key) {
  using resilience::Outcome;
  exchange::BidCounts sums;
  for (const auto& worker : stats) {
    const auto found = worker.find(key);
    if (found == worker.end()) {
      continue;
    }
    const EndpointStats& s = *found->second;
    sums.answers += s.outcomes[static_cast<size_t>(Outcome::kOk)].value() +
                    s.outcomes[static_cast<size_t>(Outcome::kSlow)].value();
    sums.bidding += s.answers_bidding.value();
    sums.useless += s.answers_useless.value();
  }
  return sums;
}

std::string_view dsp_of(std::string_view key) { return key.substr(0, key.find('/')); }

void log_change(const std::string& key, const exchange::BidAlertChange& change, observe::Log& log) {
  log.event(change.raised ? observe::Level::kWarn : observe::Level::kInfo,
            "event=dsp_alert dsp={} key={} kind={} state={} {}={} of={} usual_ratio={:.3f}",
            dsp_of(key), key, to_string(change.alert), change.raised ? "raised" : "cleared",
            change.alert == exchange::BidAlert::kUselessBids ? "useless" : "bidding", change.count,
            change.of, change.usual_ratio);
}

}  // namespace

void BidAlerts::tick(base::Instant now, const EndpointStatsTable& stats, observe::Log& log) {
  if (now < next_ || stats.empty()) {
    return;
  }
  next_ = now + kEvery;
  std::vector<exchange::BidAlertChange> changes;
  for (const auto& [key, unused] : stats.front()) {
    changes.clear();
    watches_[key].tick(now, sums_of(stats, key), changes);
    for (const auto& change : changes) {
      log_change(key, change, log);
    }
  }
}

const exchange::BidWatch* BidAlerts::find(const std::string& key) const {
  const auto found = watches_.find(key);
  return found == watches_.end() ? nullptr : &found->second;
}

}  // namespace spillway::app
