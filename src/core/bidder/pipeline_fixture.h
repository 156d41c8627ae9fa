#pragma once

// For tests only: a small world to run requests in, and a driver that plays the outside.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "base/rates.h"
#include "base/time.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/table.h"
#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/notice.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "bidder/pricing.h"
#include "bidder/scoring/model_set.h"
#include "bidder/stages.h"
#include "bidder/time_zone.h"
#include "openrtb/document.h"

namespace spillway::bidder::testing {

constexpr int64_t kNowS = 1'767'225'600;  // 1 January 2026, a Thursday.
constexpr int64_t kUnit = 1'000'000;

inline Creative banner(int64_t id, int64_t line_item, uint16_t w = 300, uint16_t h = 250) {
  Creative creative;
  creative.id = id;
  creative.line_item = line_item;
  creative.w = w;
  creative.h = h;
  creative.markup = "<a href=\"${CLICK_URL}\">ad</a>";
  creative.click_url = "https://shop.example/";
  return creative;
}

/// One advertiser; campaign n has line item 10 n and creative 100 n, a banner of 300x250.
class Rows {
 public:
  Rows() {
    rows_.advertisers.push_back({.id = 1,
                                 .name = "a",
                                 .domain = "shop.example",
                                 .categories = {"IAB18"},
                                 .time_zone = "UTC"});
  }

  Campaign& campaign(int64_t id, double cpm) {
    auto& campaign = rows_.campaigns.emplace_back();
    campaign.id = id;
    campaign.advertiser = 1;
    campaign.name = "c";
    campaign.goal_value_micros = static_cast<int64_t>(cpm * kUnit);
    campaign.most = {100 * kUnit};
    campaign.pacing = Pacing::kAsap;
    auto& item = rows_.line_items.emplace_back();
    item.id = 10 * id;
    item.campaign = id;
    rows_.creatives.push_back(banner(100 * id, 10 * id));
    return campaign;
  }

  [[nodiscard]] CatalogRows& rows() { return rows_; }

 private:
  CatalogRows rows_;
};

/// Everything a pipeline needs, and the outside that answers it.
class Market {
 public:
  explicit Market(const CatalogRows& rows, std::vector<TimeZone> zones = {})
      : catalog(rows, std::move(zones), 1),
        signer("https://b.example", {{"x", {{"k", std::string(32, 's')}}}}) {
    std::vector<CampaignBudget> budgets;
    std::vector<PacedCampaign> paced;
    for (const auto& campaign : catalog.campaigns()) {
      terms.push_back(terms_of(campaign));
      budgets.push_back({.campaign = campaign.id,
                         .daily = base::money_of_micros(campaign.daily_micros),
                         .lifetime = base::money_of_micros(campaign.lifetime_micros)});
      paced.push_back({.campaign = campaign.id, .pacing = campaign.pacing});
    }
    (void)grant.refresh(budgets, kNowS);
    pacer.refresh(paced);
    auto set = ModelSet::build({}, [](const std::string&) { return std::nullopt; });
    models = std::move(*set);
  }

  [[nodiscard]] World world() {
    return {.settings = &settings,
            .exchanges = exchanges,
            .catalog = &catalog,
            .terms = terms,
            .models = models.get(),
            .rates = &rates,
            .signer = &signer,
            .caps = &caps,
            .grant = &grant,
            .pacer = &pacer,
            .scratch = &scratch,
            .geo = {},
            .shading = shading,
            .asks_segments = segments != nullptr,
            .asks_caps = counts != nullptr};
  }

  void begin(Pipeline& pipeline, std::string_view request) {
    body = request;
    body.append(openrtb::Document::kPadding, ' ');
    begin_padded(pipeline, std::string_view(body).substr(0, request.size()));
  }

  /// `request` outlives it, and has the padding that a document wants.
  void begin_padded(Pipeline& pipeline, std::string_view request) {
    pipeline.begin(world(), {.now = now,
                             .time_zero = now,
                             .unix_s = kNowS,
                             .bid_key = ++keys,
                             .shed = shed,
                             .debug = false,
                             .exchange = 0,
                             .body = request});
  }

  /// Each step takes `step_takes`.
  void finish(Pipeline& pipeline) {
    for (auto next = Pipeline::Next::kMore; next != Pipeline::Next::kDone;) {
      now += step_takes;
      next = pipeline.step(now);
      if (next == Pipeline::Next::kAsk) {
        answer(pipeline);
      }
    }
  }

  void run(Pipeline& pipeline, std::string_view request) {
    begin(pipeline, request);
    finish(pipeline);
  }

  void answer(Pipeline& pipeline) {
    const auto& ask = pipeline.ask();
    ++asked;
    if (ask.what == Ask::What::kSegments) {
      pipeline.on_segments(segments(ask));
    } else {
      pipeline.on_counts(counts(ask));
    }
  }

  using Counts = std::optional<std::span<const caps::CapCounts>>;

  PipelineSettings settings;
  std::vector<ExchangeTerms> exchanges{{.name = "x", .seat = "s"}};
  Catalog catalog;
  std::vector<CampaignTerms> terms;
  std::unique_ptr<const ModelSet> models;
  base::Rates rates;
  Shading shading;
  NoticeSigner signer;
  caps::CapTable caps{{.bytes = 1 << 20, .pending_s = 60}};
  LocalGrant grant{{.accounts = 131'072, .open_bids = 65'536}};
  Pacer pacer{{}};
  Scratch scratch{4096};
  std::function<caps::Segments(const Ask&)> segments;
  std::function<Counts(const Ask&)> counts;
  PipelineStats stats;
  base::Instant now{std::chrono::hours(1)};
  base::Duration step_takes{std::chrono::microseconds(10)};
  bool shed = false;
  uint64_t keys = 0;
  int asked = 0;
  std::string body;
};

/// A request of user "u" with so many banner imps of 300x250, and what else it says at its top.
inline std::string request(int imps = 1, std::string_view more = "",
                           std::string_view user = R"("id":"u")") {
  std::string out = R"({"id":"r","tmax":200,"at":1,"site":{"domain":"n.example"},"user":{)";
  out += user;
  out += "}";
  out += more;
  out += R"(,"imp":[)";
  for (int i = 1; i <= imps; ++i) {
    out += (i == 1 ? "" : ",");
    out += R"({"id":")" + std::to_string(i) + R"(","banner":{"w":300,"h":250}})";
  }
  return out + "]}";
}

}  // namespace spillway::bidder::testing
