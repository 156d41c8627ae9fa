#pragma once

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "adapters/catalog_source.h"
#include "bidder/model.h"
#include "e2e/exchange_process.h"
#include "e2e/sockets.h"

namespace spillway::e2e {

/// A catalog in a SQLite file of its own, or in another store.
class CatalogFile {
 public:
  CatalogFile() : address_("sqlite:" + file_.path()) {}

  explicit CatalogFile(std::string address) : address_(std::move(address)) {}

  void write(const bidder::CatalogRows& rows) const {
    auto store = adapters::open_catalog(address_);
    ASSERT_TRUE(store) << store.error();
    const auto migrated = (*store)->migrate();
    ASSERT_TRUE(migrated) << migrated.error();
    const auto replaced = (*store)->replace(rows, 1'767'225'600, {});
    ASSERT_TRUE(replaced) << replaced.error();
  }

  [[nodiscard]] const std::string& address() const { return address_; }

  /// Of the SQLite file.
  [[nodiscard]] const std::string& path() const { return file_.path(); }

 private:
  TemporaryFile file_;
  std::string address_;
};

/// One advertiser whose campaign `id` (line item 10 id, creative 100 id) bids `cpm` on banners of
/// 300x250, as soon as possible.
inline void add_campaign(bidder::CatalogRows& rows, int64_t id, double cpm,
                         std::vector<bidder::Cap> caps = {}) {
  if (rows.advertisers.empty()) {
    rows.advertisers.push_back({.id = 1,
                                .name = "a",
                                .domain = "shop.example",
                                .categories = {"IAB18"},
                                .time_zone = "UTC"});
  }
  bidder::Campaign campaign;
  campaign.id = id;
  campaign.advertiser = 1;
  campaign.name = "c";
  campaign.goal_value_micros = static_cast<int64_t>(cpm * 1e6);
  campaign.most = {campaign.goal_value_micros};
  campaign.pacing = bidder::Pacing::kAsap;
  campaign.daily_micros = 1'000'000'000;
  campaign.caps = std::move(caps);
  rows.campaigns.push_back(campaign);
  bidder::LineItem item;
  item.id = 10 * id;
  item.campaign = id;
  rows.line_items.push_back(item);
  bidder::Creative creative;
  creative.id = 100 * id;
  creative.line_item = item.id;
  creative.w = 300;
  creative.h = 250;
  creative.markup = R"(<a href="${CLICK_URL}"><img src="https://cdn.example/i.png"></a>)";
  creative.click_url = "https://shop.example/";
  rows.creatives.push_back(creative);
}

inline constexpr std::string_view kBidderKeys =
    "exchanges: [{ name: x, seat: s, keys: [{ id: a, secret: "
    "\"0123456789abcdef0123456789abcdef\" }] }]\n"
    "notices: { public_url: \"http://bidder.example\" }\n";

/// A running `spillway bidder` over a catalog.
class BidderProcess : public ServerProcess {
 public:
  explicit BidderProcess(const bidder::CatalogRows& rows, std::string_view more = "",
                         std::string_view section_keys = "", std::string_view catalog_keys = "")
      : BidderProcess(std::make_unique<CatalogFile>(), rows, more, section_keys, catalog_keys) {}

  BidderProcess(std::unique_ptr<CatalogFile> catalog, const bidder::CatalogRows& rows,
                std::string_view more, std::string_view section_keys, std::string_view catalog_keys)
      : ServerProcess("bidder", config(*catalog, rows, more, catalog_keys), section_keys),
        catalog_(std::move(catalog)) {}

  [[nodiscard]] Message bid(std::string_view body, std::string_view query = "") const {
    return caller().post("/openrtb2/bid" + std::string(query), body);
  }

  /// Until it serves; false when it does not in 20 s.
  [[nodiscard]] bool ready() const {
    return within(std::chrono::seconds(20),
                  [this] { return admin().call("GET", "/readyz").status() == 200; });
  }

  /// Until a series has reached a value.
  [[nodiscard]] bool reaches(const std::string& series, double value) const {
    return within(std::chrono::seconds(20), [&] { return metrics()[series] >= value; });
  }

  /// The sum of all series of a metric that have these labels ('reason="x"').
  [[nodiscard]] double total(std::string_view name,
                             std::initializer_list<std::string_view> labels = {}) const {
    double sum = 0;
    for (const auto& [series, value] : metrics()) {
      const bool is_it = series == name || series.starts_with(std::string(name) + "{");
      if (is_it &&
          std::ranges::all_of(labels, [&](auto label) { return series.contains(label); })) {
        sum += value;
      }
    }
    return sum;
  }

  /// Asks until a total has reached 1; false when it does not in 20 s.
  template <typename Ask>
  [[nodiscard]] bool moves(std::string_view name, std::initializer_list<std::string_view> labels,
                           Ask ask) const {
    return within(std::chrono::seconds(20), [&] {
      ask();
      return total(name, labels) >= 1;
    });
  }

  [[nodiscard]] const CatalogFile& catalog() const { return *catalog_; }

  template <typename Condition>
  static bool within(std::chrono::milliseconds patience, Condition condition) {
    const auto deadline = Clock::now() + patience;
    do {
      if (condition()) {
        return true;
      }
    } while (Clock::now() < deadline);
    return false;
  }

 private:
  static std::string config(const CatalogFile& catalog, const bidder::CatalogRows& rows,
                            std::string_view more, std::string_view catalog_keys) {
    if (!rows.campaigns.empty()) {
      catalog.write(rows);
    }
    const bool has_exchanges = more.contains("exchanges:");
    return fmt::format("catalog: {{ address: \"{}\", refresh: 100ms{} }}\n{}{}", catalog.address(),
                       catalog_keys, has_exchanges ? std::string_view{} : kBidderKeys, more);
  }

  std::unique_ptr<CatalogFile> catalog_;
};

/// A request of a user for one banner of 300x250.
inline std::string request_of(std::string_view user) {
  return fmt::format(
      R"({{"id":"r","tmax":500,"at":1,"site":{{"domain":"n.example"}},"user":{{"id":"{}"}},)"
      R"("imp":[{{"id":"1","banner":{{"w":300,"h":250}}}}]}})",
      user);
}

/// The campaign of an answer's first bid; "" when there is none.
inline std::string winner_of(const Message& answer) {
  constexpr std::string_view kName = R"("cid":")";
  const size_t at = answer.body.find(kName);
  const size_t from = at + kName.size();
  return at == std::string::npos ? ""
                                 : answer.body.substr(from, answer.body.find('"', from) - from);
}

/// The path and query of the first address of this name in an answer, macros filled in.
inline std::string notice_of(const std::string& answer, std::string_view name,
                             std::string_view price, std::string_view loss = "102") {
  const std::string key = fmt::format("\"{}\":\"http://bidder.example", name);
  const size_t begin = answer.find(key);
  if (begin == std::string::npos) {
    return "";
  }
  const size_t from = begin + key.size();
  std::string target = answer.substr(from, answer.find('"', from) - from);
  const auto fill = [&target](std::string_view macro, std::string_view value) {
    if (const size_t at = target.find(macro); at != std::string::npos) {
      target.replace(at, macro.size(), value);
    }
  };
  fill("${AUCTION_PRICE}", price);
  fill("${AUCTION_LOSS}", loss);
  return target;
}

}  // namespace spillway::e2e
