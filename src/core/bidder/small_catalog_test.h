#pragma once

// Small catalogs and requests for tests, row by row.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/retrieval.h"
#include "bidder/time_zone.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::bidder {

inline constexpr int64_t kWednesdayNoonS = 1'791'979'200;  // 14 October 2026, 12:00 UTC.

/// One advertiser (1), a campaign a line item with the same id, one 300x250 banner each with that
/// id too. Worth falls with the id.
class SmallCatalog {
 public:
  SmallCatalog() {
    Advertiser advertiser;
    advertiser.id = 1;
    advertiser.domain = "brand.example";
    rows.advertisers.push_back(advertiser);
  }

  /// The line item's targeting, to be filled.
  Targeting& add(int64_t id) {
    Campaign campaign;
    campaign.id = id;
    campaign.advertiser = 1;
    campaign.goal_value_micros = 1'000'000;
    campaign.goal = Goal::kCpc;
    campaign.most.micros = 1'000'000 - id;
    rows.campaigns.push_back(campaign);
    Creative creative;
    creative.id = id;
    creative.line_item = id;
    creative.w = 300;
    creative.h = 250;
    creative.markup = "<a></a>";
    rows.creatives.push_back(creative);
    LineItem line_item;
    line_item.id = id;
    line_item.campaign = id;
    return rows.line_items.emplace_back(line_item).targeting;
  }

  [[nodiscard]] Catalog compile(uint64_t version = 1) const { return {rows, zones, version}; }

  CatalogRows rows;
  std::vector<TimeZone> zones;
};

/// Facts with what they point into.
struct Said {
  explicit Said(std::string_view json) : text(json) {
    EXPECT_TRUE(document.walk(text.view())) << json;
    facts.read(document);
  }

  openrtb::Padded text;
  openrtb::Document document;
  RequestFacts facts;
};

/// A request with one 300x250 banner and `members` beside it ("" or `,"device":{...}`).
inline std::string banner_request(std::string_view members = "") {
  return R"({"id":"r","imp":[{"id":"1","banner":{"w":300,"h":250}}])" + std::string(members) + "}";
}

/// The ids of the line items that an imp may be served by, best first.
inline std::vector<int64_t> served(const Catalog& catalog, const RequestFacts& facts,
                                   int64_t now_s = kWednesdayNoonS, size_t imp = 0) {
  Retrieval retrieval;
  retrieval.begin(catalog, facts, now_s, "ours");
  retrieval.begin_imp(imp);
  std::vector<Candidate> candidates(1000);
  candidates.resize(retrieval.next(candidates));
  std::vector<int64_t> out;
  out.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    out.push_back(catalog.items()[candidate.item].id);
  }
  return out;
}

inline std::vector<int64_t> served(const SmallCatalog& small, std::string_view json,
                                   int64_t now_s = kWednesdayNoonS) {
  const Said said(json);
  return served(small.compile(), said.facts, now_s);
}

using Ids = std::vector<int64_t>;

}  // namespace spillway::bidder
