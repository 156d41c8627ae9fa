#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/dsp/farm_config.h"
#include "app/dsp/farm_dsp.h"
#include "base/time.h"
#include "net/http.h"
#include "net/reactor.h"
#include "net/server.h"

namespace spillway::app {

/// All fake DSPs of one process, and what the admin listener shows and does:
///
///   GET  /admin/dsps                    state and exact account of each
///   POST /admin/fault?dsp=NAME          {"kind": "slow", "for": "20s", "added": "300ms"}
///   POST /admin/clear?dsp=NAME          ends what was added; &schedule=1 the schedule too
///   GET  /healthz, /metrics
///
/// NAME may be `*`. One thread: the reactor's.
class Farm {
 public:
  Farm(net::Reactor& reactor, const FarmConfig& config, base::Instant start);

  /// Empty, or why a DSP does not listen.
  [[nodiscard]] std::string error() const;

  [[nodiscard]] const std::vector<std::unique_ptr<FarmDsp>>& dsps() const { return dsps_; }

  /// Answers one admin request.
  [[nodiscard]] net::Response answer(const net::Request& request);

  [[nodiscard]] std::string state_json() const;
  [[nodiscard]] std::string metrics_text() const;

 private:
  [[nodiscard]] std::vector<FarmDsp*> named(std::string_view query, std::string& error) const;
  [[nodiscard]] net::Response change(const net::Request& request);

  net::Reactor& reactor_;
  std::vector<std::unique_ptr<FarmDsp>> dsps_;
};

}  // namespace spillway::app
