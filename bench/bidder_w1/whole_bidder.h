#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/rates.h"
#include "base/time.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/table.h"
#include "bidder/caps/window.h"
#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/notice.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "bidder/pricing.h"
#include "bidder/scoring/model_set.h"

namespace spillway::bench {

/// The bidder without its sockets: one worker's pipeline over a catalog, caps and budgets in this
/// process, and notices that move them as the program's do.
class WholeBidder {
 public:
  WholeBidder(const bidder::CatalogRows& rows, std::vector<bidder::TimeZone> zones, int64_t unix_s);

  /// From now on counts of caps are asked for, and answered at once: nothing was shown elsewhere.
  void ask_caps() { asks_caps_ = true; }

  /// Decides a request; `segments` are its user's. How many bids went out: their answer is body().
  size_t ask(std::string_view padded, const bidder::caps::Segments& segments);

  [[nodiscard]] std::string_view body() const { return pipeline_.body(); }

  [[nodiscard]] bidder::NoBidReason reason() const { return pipeline_.reason(); }

  /// What follows "/notice/": kind and query. False: it was not believed.
  bool notice(std::string_view kind, std::string_view query);

  /// So much later: bids without a notice are given back.
  void pass(base::Duration time);

  [[nodiscard]] const bidder::Catalog& catalog() const { return catalog_; }

  [[nodiscard]] bidder::LocalGrant::Counts money() const { return grant_.counts(); }

  [[nodiscard]] bidder::caps::CapTableCounters caps() const { return caps_.counters(); }

 private:
  bidder::Catalog catalog_;
  std::vector<bidder::CampaignTerms> terms_;
  std::unique_ptr<const bidder::ModelSet> models_;
  std::vector<bidder::ExchangeTerms> exchanges_{{.name = "x", .seat = "s"}};
  bidder::PipelineSettings settings_;
  base::Rates rates_;
  bidder::NoticeSigner signer_;
  bidder::caps::CapTable caps_{{.bytes = uint64_t{256} << 20}};
  bidder::LocalGrant grant_{{.accounts = 262'144}};
  bidder::Pacer pacer_{{}};
  bidder::Scratch scratch_{4096};
  bidder::PipelineStats stats_;
  bidder::Pipeline pipeline_{stats_};
  std::vector<bidder::caps::CapLimit> limits_;
  std::vector<bidder::caps::CapKey> keys_;
  base::Instant now_{std::chrono::hours(1)};
  int64_t unix_s_;
  uint64_t requests_ = 0;
  bool asks_caps_ = false;
  std::vector<bidder::caps::CapCounts> nothing_shown_;
};

}  // namespace spillway::bench
