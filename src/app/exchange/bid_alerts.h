#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/exchange/stats.h"
#include "base/time.h"
#include "exchange/bid_watch.h"
#include "observe/log.h"

namespace spillway::app {

/// [worker][guard key]: what each worker counts of each endpoint.
using EndpointStatsTable = std::vector<std::map<std::string, std::unique_ptr<EndpointStats>>>;

/// An exchange::BidWatch for every endpoint, fed with the workers' counts; changes become events
/// `event=dsp_alert`. One thread, the control thread.
class BidAlerts {
 public:
  /// Once a second; calls in between do nothing.
  void tick(base::Instant now, const EndpointStatsTable& stats, observe::Log& log);

  /// Its endpoint is gone.
  void forget(const std::string& key) { watches_.erase(key); }

  /// Null before the first tick that saw the key.
  [[nodiscard]] const exchange::BidWatch* find(const std::string& key) const;

 private:
  std::map<std::string, exchange::BidWatch> watches_;
  base::Instant next_{};
};

}  // namespace spillway::app
