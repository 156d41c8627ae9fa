#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/currency_config.h"
#include "app/config/notice_config.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "base/time.h"
#include "exchange/snapshot.h"

namespace spillway::app {

/// The auction log.
struct RecorderSettings {
  std::string path;           ///< Empty: nothing is recorded.
  double sample_ratio = 1.0;  ///< Share of the auctions.
  uint32_t queue = 1'024;  ///< Records waiting for the writer, a worker; beyond: dropped, counted.
};

/// What an operator expects of a DSP, for the connection plan alone.
struct ExpectedTraffic {
  uint32_t qps = 0;  ///< 0: not said.
  base::Duration latency = std::chrono::milliseconds(80);
};

/// One whole configuration of `spillway exchange`: docs/configuration.md has every key.
struct ExchangeConfig : ServerConfig {
  RecorderSettings recorder;
  NoticeConfig notices;
  RateFeed rates;
  std::vector<ExpectedTraffic> expected;  ///< Beside snapshot.dsps.
  exchange::Snapshot snapshot;
};

/// Reads `text`; everything wrong is appended to `problems`, and the result may be used only when
/// there is nothing. `asked`, when given, collects every key read
/// (ConfigReader::record_asked).
[[nodiscard]] ExchangeConfig read_exchange_config(std::string_view text,
                                                  std::vector<ConfigProblem>& problems,
                                                  std::vector<AskedKey>* asked = nullptr);

}  // namespace spillway::app
