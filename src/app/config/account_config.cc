#include "app/config/account_config.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/currency_config.h"
#include "app/config/reader.h"
#include "base/money.h"
#include "exchange/clearing/margin.h"
#include "exchange/privacy.h"
#include "exchange/snapshot.h"
#include "resilience/shedder.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

void read_fallback(ConfigReader& reader, std::string_view key, exchange::Fallback& out) {
  auto choice = static_cast<size_t>(out);
  reader.read_choice(key, {"pass", "house"}, choice);
  out = static_cast<exchange::Fallback>(choice);
}

void read_privacy_action(ConfigReader& reader, std::string_view key, exchange::PrivacyAction& out) {
  auto choice = static_cast<size_t>(out);
  reader.read_choice(key, {"scrub", "no_call"}, choice);
  out = static_cast<exchange::PrivacyAction>(choice);
}

void read_privacy_policy(ConfigReader reader, exchange::PrivacyPolicy& out) {
  read_privacy_action(reader, "coppa", out.coppa);
  read_privacy_action(reader, "lmt", out.lmt);
  read_privacy_action(reader, "us", out.us);
  read_privacy_action(reader, "gdpr", out.gdpr);
  reader.read("gdpr_when_unknown", out.gdpr_when_unknown);
  reader.finish();
}

void read_account(ConfigReader& reader, exchange::Account& out) {
  reader.read("publisher", out.publisher);
  auto fallback = reader.section("fallback");
  read_fallback(fallback, "no_bid", out.on_no_bid);
  read_fallback(fallback, "degraded", out.on_degraded);
  read_fallback(fallback, "shed", out.on_shed);
  fallback.finish();
  auto criticality = static_cast<size_t>(out.criticality);
  reader.read_choice("priority", {"critical_plus", "critical", "sheddable_plus", "sheddable"},
                     criticality);
  out.criticality = static_cast<resilience::Criticality>(criticality);
  size_t no_bid = out.no_bid_as_200 ? 1 : 0;
  reader.read_choice("no_bid", {"204", "200"}, no_bid);
  out.no_bid_as_200 = no_bid == 1;
  size_t auction = out.auction == 2 ? 1 : 0;
  reader.read_choice("auction", {"first", "second"}, auction);
  out.auction = auction == 1 ? 2 : 1;
  base::Cpm increment{out.second_price_increment_micros};
  reader.read_cpm("second_price_increment", increment);
  out.second_price_increment_micros = increment.micros;
  read_floor(reader, out.floor);
  read_privacy_policy(reader.section("privacy"), out.privacy);
  reader.read_ppm("margin_ratio", out.price_margin_ppm, exchange::clearing::kMarginMaxPpm);
  reader.read("response_margin", out.response_margin, 0ms, 1s);
  reader.read("auction_is_final", out.auction_is_final);
  size_t billing = out.billing_on_win ? 1 : 0;
  reader.read_choice("billing", {"on_imp", "on_win"}, billing);
  out.billing_on_win = billing == 1;
  size_t debug = out.shows_calls ? 1 : 0;
  reader.read_choice("debug", {"deny", "allow"}, debug);
  out.shows_calls = debug == 1;
  auto fill = static_cast<size_t>(out.fill_device);
  reader.read_choice("fill_device", {"never", "browser", "always"}, fill);
  out.fill_device = static_cast<exchange::FillDevice>(fill);
  reader.read("source_tid", out.source_tid);
  reader.read("secure", out.secure);
  reader.read("seller_id", out.seller.sid);
  if (reader.has("seller_id") && out.seller.asi.empty()) {
    reader.problem("seller_id", "is of no use without schain.asi");
  } else if (reader.has("seller_id") && out.seller.sid.empty()) {
    reader.problem("seller_id", "must not be empty");
  }
  reader.finish();
}

void read_seller(ConfigReader reader, exchange::Seller& out) {
  reader.read("asi", out.asi);
  reader.read("sid", out.sid);
  reader.read("begins_complete", out.begins_complete);
  const bool is_there = reader.has("asi") || reader.has("sid") || reader.has("begins_complete");
  if (is_there && (out.asi.empty() || out.sid.empty())) {
    reader.problem("", "must have asi and sid: a node names the exchange and the seller's account");
  }
  reader.finish();
}

}  // namespace

// The entry without a publisher is the default account; the others begin as copies of it.
void read_accounts(ConfigReader& root, std::vector<exchange::Account>& out) {
  out.emplace_back();
  read_seller(root.section("schain"), out[0].seller);
  auto entries = root.list("accounts");
  const auto is_default = [](const ConfigReader& entry) { return !entry.has("publisher"); };
  const auto fallback = std::ranges::find_if(entries, is_default);
  if (fallback != entries.end()) {
    read_account(*fallback, out[0]);
  }
  std::set<std::string> publishers;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (entry == fallback) {
      continue;
    }
    if (is_default(*entry)) {
      entry->problem("", "must have a publisher: there is a default account already");
      continue;
    }
    exchange::Account account = out[0];
    read_account(*entry, account);
    if (account.publisher.empty()) {
      entry->problem("publisher", "must not be empty: leave it out for the default account");
    } else if (!publishers.insert(account.publisher).second) {
      entry->problem("publisher", fmt::format("\"{}\" stands twice", account.publisher));
    }
    out.push_back(std::move(account));
  }
}

}  // namespace spillway::app
