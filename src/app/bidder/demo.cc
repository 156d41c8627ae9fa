#include "app/bidder/demo.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include "adapters/catalog_source.h"
#include "bidder/model.h"

namespace spillway::app::bidding {
namespace {

using bidder::Dimension;

constexpr int64_t kUnit = 1'000'000;

bidder::Creative banner(int64_t id, int64_t line_item, uint16_t w, uint16_t h) {
  bidder::Creative creative;
  creative.id = id;
  creative.line_item = line_item;
  creative.w = w;
  creative.h = h;
  creative.markup = fmt::format(
      R"(<a href="${{CLICK_URL}}"><img src="https://cdn.demo.example/{}x{}.png" width="{}" height="{}"></a>)",
      w, h, w, h);
  creative.click_url = "https://shop.demo.example/?from=spillway";
  return creative;
}

void add(bidder::CatalogRows& rows, bidder::Campaign campaign, bidder::LineItem item) {
  item.campaign = campaign.id;
  rows.campaigns.push_back(std::move(campaign));
  rows.line_items.push_back(std::move(item));
}

bidder::Campaign campaign(int64_t id, int64_t advertiser, std::string name, int64_t value_micros) {
  bidder::Campaign out;
  out.id = id;
  out.advertiser = advertiser;
  out.name = std::move(name);
  out.goal_value_micros = value_micros;
  out.most = {value_micros};
  out.daily_micros = 50 * kUnit;
  out.pacing = bidder::Pacing::kAsap;
  return out;
}

void add_shoes(bidder::CatalogRows& rows) {
  rows.advertisers.push_back({.id = 1,
                              .name = "Shoes",
                              .domain = "shoes.demo.example",
                              .categories = {"IAB18"},
                              .time_zone = "UTC"});
  auto shoes = campaign(11, 1, "Shoes everywhere", 2 * kUnit);
  shoes.margin_ratio = 0.1;
  shoes.cap_failure = bidder::CapFailure::kOpen;
  shoes.caps = {
      {.scope = bidder::CapScope::kCampaign, .window = bidder::CapWindow::kDay, .most = 3}};
  bidder::LineItem item;
  item.id = 111;
  add(rows, std::move(shoes), std::move(item));
  rows.creatives.push_back(banner(1111, 111, 300, 250));
  rows.creatives.push_back(banner(1112, 111, 728, 90));
  rows.creatives.push_back(banner(1113, 111, 320, 50));
}

void add_travel(bidder::CatalogRows& rows) {
  rows.advertisers.push_back({.id = 2,
                              .name = "Travel",
                              .domain = "travel.demo.example",
                              .categories = {"IAB20"},
                              .time_zone = "UTC"});
  auto travel = campaign(21, 2, "Flights for those in the United States", 4 * kUnit);
  travel.cap_failure = bidder::CapFailure::kStrict;
  travel.caps = {
      {.scope = bidder::CapScope::kAdvertiser, .window = bidder::CapWindow::kHour, .most = 1}};
  bidder::LineItem item;
  item.id = 211;
  item.targeting.of(Dimension::kCountry).include = {"USA"};
  add(rows, std::move(travel), std::move(item));
  rows.creatives.push_back(banner(2111, 211, 300, 250));
  auto trailer = banner(2112, 211, 640, 480);
  trailer.media = bidder::Media::kVideo;
  trailer.duration_s = 15;
  trailer.mime = "video/mp4";
  trailer.protocols = {3};
  trailer.markup = "https://cdn.demo.example/flights.mp4";
  rows.creatives.push_back(std::move(trailer));
}

void add_games(bidder::CatalogRows& rows) {
  rows.advertisers.push_back({.id = 3,
                              .name = "Games",
                              .domain = "games.demo.example",
                              .categories = {"IAB9"},
                              .time_zone = "UTC"});
  auto games = campaign(31, 3, "A click on a game", 0);
  games.goal = bidder::Goal::kCpc;
  games.goal_value_micros = kUnit;
  games.most = {5 * kUnit};
  bidder::LineItem item;
  item.id = 311;
  item.targeting.of(Dimension::kDeviceType).include = {"1", "4"};
  item.targeting.of(Dimension::kSegment).exclude = {"no-games"};
  add(rows, std::move(games), std::move(item));
  rows.creatives.push_back(banner(3111, 311, 320, 50));
  rows.creatives.push_back(banner(3112, 311, 300, 250));
}

}  // namespace

std::string demo_config() {
  return R"(
bidder: { listen: "127.0.0.1:8090", drain_announce: 0s }
admin: { listen: "127.0.0.1:9911" }
exchanges:
  - { name: demo, seat: demo, keys: [{ id: a, secret: "the demo's secret is no secret, is it" }] }
notices: { public_url: "http://127.0.0.1:8090" }
catalog: { address: "sqlite:demo" }
)";
}

DemoFile::DemoFile(std::string path) : path_(std::move(path)) {
  int fd = -1;
  if (path_.empty()) {
    path_ = "/tmp/spillway-bidder-demo-XXXXXX";
    fd = ::mkstemp(path_.data());
  } else {
    constexpr mode_t kOwnersAlone = 0600;
    fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnersAlone);
  }
  if (fd < 0) {
    error_ = fmt::format("--demo-file: {}: {}", path_, std::generic_category().message(errno));
    return;
  }
  ::close(fd);
}

DemoFile::~DemoFile() {
  if (!error_.empty()) {
    return;
  }
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    (void)::unlink((path_ + suffix).c_str());
  }
}

bidder::CatalogRows demo_catalog() {
  bidder::CatalogRows rows;
  add_shoes(rows);
  add_travel(rows);
  add_games(rows);
  return rows;
}

std::string write_demo_catalog(const std::string& address, int64_t now_s) {
  auto store = adapters::open_catalog(address);
  if (!store) {
    return store.error();
  }
  if (const auto migrated = (*store)->migrate(); !migrated) {
    return migrated.error();
  }
  const auto replaced = (*store)->replace(demo_catalog(), now_s, {});
  return replaced ? std::string() : replaced.error();
}

}  // namespace spillway::app::bidding
