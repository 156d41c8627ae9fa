#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/bidder/event_log.h"
#include "app/bidder/redis_stores.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "base/rates.h"
#include "base/time.h"
#include "bidder/caps/cache.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/table.h"
#include "bidder/notice.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "bidder/scoring/model_set.h"

namespace spillway::app::bidding {

/// Where the catalog comes from, and how often it is asked.
struct CatalogSettings {
  std::string address;                                 ///< "sqlite:FILE" or "postgres://…".
  base::Duration refresh = std::chrono::seconds(60);   ///< Larger: changes serve later.
  base::Duration patience = std::chrono::seconds(30);  ///< With one reading.
  std::string geo_file;                                ///< MaxMind's format; empty: none.
};

/// Where what was spent outlives the process.
struct SpendFileSettings {
  std::string file;  ///< Empty: nowhere.
  base::Duration every =
      std::chrono::seconds(5);  ///< Between writings; larger: a crash loses more.
};

/// Where exchanges call us.
struct NoticeSettings {
  std::string public_url;       ///< Empty: bids name no addresses, and nothing is learnt of them.
  uint32_t recent = 1'000'000;  ///< Impressions recognised when their notice comes again.
};

/// One whole configuration of `spillway bidder`: docs/bidder_configuration.md has every key.
struct BidderConfig : ServerConfig {
  BidderConfig() {
    listen = "127.0.0.1:8090";
    admin_listen = "127.0.0.1:9911";
  }

  std::vector<bidder::ExchangeTerms> exchanges;
  std::vector<bidder::NoticeSigner::Exchange> keys;  ///< Beside exchanges.
  NoticeSettings notices;
  bidder::PipelineSettings pipeline;
  CatalogSettings catalog;
  bidder::LocalGrantSettings budget;
  bidder::PacerSettings pacing;
  bidder::ScoringSettings scoring;
  double shade_keep_ratio = 1;  ///< Of the surplus over the floor, in first-price sales.
  bidder::caps::CapTableSettings caps;
  bidder::caps::CapCacheSettings cap_cache;  ///< Routing::kNone: off.
  bidder::caps::SegmentCacheSettings segments;
  EventSettings events;
  SpendFileSettings spend;
  std::optional<RedisConfig> redis;  ///< None: this process is all there is.
  base::Rates rates;
};

/// Reads `text`; everything wrong is appended to `problems`, and the result may be used only when
/// there is nothing. `asked`: see ConfigReader::record_asked.
[[nodiscard]] BidderConfig read_bidder_config(std::string_view text,
                                              std::vector<ConfigProblem>& problems,
                                              std::vector<AskedKey>* asked = nullptr);

/// Keys that a reload cannot change, and differ.
[[nodiscard]] std::vector<std::string> fixed_keys(const BidderConfig& a, const BidderConfig& b);

}  // namespace spillway::app::bidding
