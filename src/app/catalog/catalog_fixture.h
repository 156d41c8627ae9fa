#pragma once

// For tests alone.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "app/config/command_fixture.h"
#include "bidder/model.h"

namespace spillway::app::catalog::testing {

/// A folder of one's own, deleted at the end.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "spillway_cat_XXXXXX").string();
    path_ = ::mkdtemp(path.data()) == nullptr ? "" : path;
  }

  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }

 private:
  std::string path_;
};

using app::testing::Ended;

/// Runs `spillway catalog …` to its end.
inline Ended run_catalog(const std::string& args) {
  return app::testing::run_command("catalog", args);
}

/// Rows with everything that is hard to write down, and without problems.
inline bidder::CatalogRows awkward_rows() {
  bidder::CatalogRows rows;
  rows.advertisers = {{.id = 1,
                       .name = "Käse & \"Co\", \r\n\t;'",
                       .domain = "a.example",
                       .categories = {"IAB1", "IAB2-3"},
                       .time_zone = "Asia/Kolkata"}};
  bidder::Campaign campaign{.id = 5, .advertiser = 1, .name = "\xf0\x9f\x99\x82"};
  campaign.start_s = 1'700'000'000;
  campaign.currency = {{'E', 'U', 'R'}};
  campaign.goal = bidder::Goal::kCpa;
  campaign.goal_value_micros = 12'345'678;
  campaign.most.micros = 1;
  campaign.margin_ratio = 0.1;
  campaign.pacing = bidder::Pacing::kFrontLoaded;
  campaign.caps = {{.window = bidder::CapWindow::kHour, .most = 0},
                   {.scope = bidder::CapScope::kAdvertiser,
                    .window = bidder::CapWindow::kLifetime,
                    .kind = bidder::CapKind::kSliding,
                    .most = 7}};
  rows.campaigns = {campaign};
  bidder::LineItem always{.id = 7, .campaign = 5};
  bidder::LineItem item{.id = 8, .campaign = 5, .end_s = 1'900'000'000};
  item.targeting.hours = bidder::DayParts();
  item.targeting.hours->set(167);
  item.targeting.of(bidder::Dimension::kSegment) = {.include = {"a,b", "c\"d"}, .exclude = {"ü"}};
  item.targeting.radii = {{.lat = 0.1 + 0.2, .lon = -1e-9, .km = 5},
                          {.lat = 1, .lon = 2, .km = 3, .exclude = true}};
  rows.line_items = {always, item};
  rows.creatives = {{.id = 3,
                     .line_item = 8,
                     .media = bidder::Media::kVideo,
                     .w = 640,
                     .h = 360,
                     .duration_s = 15,
                     .secure = false,
                     .mime = "video/mp4",
                     .attributes = {1, 16},
                     .apis = {7},
                     .protocols = {2, 3},
                     .language = "en",
                     .markup = "<VAST version=\"3.0\">\r\n${AUCTION_PRICE}</VAST>"}};
  return rows;
}

}  // namespace spillway::app::catalog::testing
