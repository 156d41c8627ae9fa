#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/exchange/bid_alerts.h"
#include "app/exchange/dsp_hosts.h"
#include "app/exchange/notice_desk.h"
#include "app/exchange/rate_source.h"
#include "app/exchange/recorder.h"
#include "app/exchange/stats.h"
#include "app/exchange/worker.h"
#include "base/time.h"
#include "net/server.h"
#include "resilience/guard.h"

namespace spillway::app {

/// Everything one scrape reads; all of it safe to read while it is written.
struct MetricSources {
  const resilience::Registry& registry;
  const EndpointStatsTable& stats;
  const std::vector<std::unique_ptr<Worker>>& workers;
  const net::Server& server;
  const Recorder& recorder;
  const BidAlerts& bid_alerts;
  const NoticeDesk& notices;
  const RateFetches& rates;
  double rates_age_s = -1;  ///< By their own word; -1 without rates.
  const DspHosts& hosts;
  uint64_t ticket_rotations = 0;
  base::Instant now{};
  uint64_t log_dropped = 0;
  uint64_t reloads = 0;
  uint64_t reloads_refused = 0;
};

/// The whole page in Prometheus text: docs/metrics.md lists the names.
[[nodiscard]] std::string metrics_text(const MetricSources& sources);

}  // namespace spillway::app
