#include "app/bidder/bidder_config.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/bidder/event_log.h"
#include "app/bidder/redis_section.h"
#include "app/config/config_file.h"
#include "app/config/currency_config.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "app/config/shedding_config.h"
#include "app/config/url.h"
#include "base/rates.h"
#include "bidder/caps/cache.h"
#include "bidder/caps/segments.h"
#include "bidder/notice.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "bidder/scoring/model_set.h"
#include "bidder/stages.h"
#include "openrtb/consent/privacy.h"

namespace spillway::app::bidding {
namespace {

using namespace std::chrono_literals;

constexpr size_t kSecretBytes = 32;
constexpr size_t kNameBytes = 32;

bool is_plain(std::string_view text, std::string_view marks) {
  return std::ranges::all_of(text, [marks](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           marks.contains(c);
  });
}

void read_keys(ConfigReader& exchange, std::vector<bidder::NoticeSigner::Key>& out) {
  std::set<std::string> ids;
  for (auto& entry : exchange.list("keys")) {
    auto& key = out.emplace_back();
    entry.read("id", key.id);
    entry.read("secret", key.secret);
    if (key.id.empty() || key.id.size() > 16 || !is_plain(key.id, "")) {
      entry.problem("id", "must be 1 to 16 letters and digits");
    } else if (!ids.insert(key.id).second) {
      entry.problem("id", fmt::format("\"{}\" stands twice", key.id));
    }
    if (key.secret.size() < kSecretBytes) {
      entry.problem("secret", fmt::format("must have {} bytes or more", kSecretBytes));
    }
    entry.finish();
  }
  if (out.size() > 2) {
    exchange.problem("keys", "must be one or two: the first signs, both verify");
  }
}

void read_exchanges(ConfigReader& root, BidderConfig& out) {
  std::set<std::string> names;
  for (auto& reader : root.list("exchanges")) {
    auto& exchange = out.exchanges.emplace_back();
    auto& keys = out.keys.emplace_back();
    reader.read("name", exchange.name);
    reader.read("seat", exchange.seat);
    read_keys(reader, keys.keys);
    keys.name = exchange.name;
    if (exchange.name.empty() || exchange.name.size() > kNameBytes ||
        !is_plain(exchange.name, "-._")) {
      reader.problem("name", fmt::format("must be 1 to {} letters, digits, \"-\", \".\" and \"_\"",
                                         kNameBytes));
    } else if (!names.insert(exchange.name).second) {
      reader.problem("name", fmt::format("\"{}\" stands twice", exchange.name));
    }
    if (keys.keys.empty() && !out.notices.public_url.empty()) {
      reader.problem("", "must have keys: its notices could be forged without");
    }
    reader.finish();
  }
  if (out.exchanges.empty()) {
    root.problem("", "names no exchanges: nobody could be answered");
  }
}

void read_notices(ConfigReader reader, NoticeSettings& out) {
  reader.read("public_url", out.public_url);
  reader.read("recent", out.recent, 1'000, 100'000'000);
  while (out.public_url.ends_with('/')) {
    out.public_url.pop_back();
  }
  if (!out.public_url.empty() &&
      (!parse_http_url(out.public_url) || !is_plain(out.public_url, ":/.-_~[]"))) {
    reader.problem(
        "public_url",
        fmt::format("must be an http or https URL without a query, is \"{}\"", out.public_url));
  }
  reader.finish();
}

void read_pipeline(ConfigReader reader, bidder::PipelineSettings& out) {
  reader.read("deadline", out.deadline, 1ms, 10s);
  reader.read("network_margin", out.network_margin, 0ms, 1s);
  reader.read("tmax_default", out.tmax_default, 10ms, 60s);
  reader.read("ask_timeout", out.ask_timeout, 1ms, 1s);
  reader.read("candidates", out.candidates, 1, 1'000);
  reader.read("contenders", out.contenders, 1, 256);
  reader.read("rounds", out.rounds, 1, 10);
  reader.read("bid_lifetime", out.bid_lifetime, 0s, 24h);
  reader.read("notice_lifetime", out.notice_lifetime, 1s, 168h);
  auto imps_kept = static_cast<uint32_t>(out.request.imps_kept);
  reader.read("imps_kept", imps_kept, 1, 1'000);
  out.request.imps_kept = imps_kept;
  auto budgets = reader.section("budgets");
  for (size_t i = 0; i < bidder::kStages; ++i) {
    budgets.read(to_string(static_cast<bidder::Stage>(i)), out.budgets.at(i), 1us, 10s);
  }
  budgets.finish();
  if (out.contenders > out.candidates) {
    reader.problem("contenders", "must not be more than candidates");
  }
  reader.finish();
}

void read_action(ConfigReader& reader, std::string_view key, openrtb::consent::PrivacyAction& out) {
  auto choice = static_cast<size_t>(out);
  reader.read_choice(key, {"no_ids", "no_bid"}, choice);
  out = static_cast<openrtb::consent::PrivacyAction>(choice);
}

void read_privacy(ConfigReader reader, bidder::PipelineSettings& out) {
  reader.read("gvl_id", out.gvl_id, 0, 65'535);
  reader.read("legitimate_interest", out.legitimate_interest);
  read_action(reader, "coppa", out.privacy.coppa);
  read_action(reader, "lmt", out.privacy.lmt);
  read_action(reader, "us", out.privacy.us);
  read_action(reader, "gdpr", out.privacy.gdpr);
  reader.read("gdpr_when_unknown", out.privacy.gdpr_when_unknown);
  reader.finish();
}

void read_catalog(ConfigReader reader, CatalogSettings& out) {
  reader.read("address", out.address);
  reader.read("refresh", out.refresh, 100ms, 24h);
  reader.read("patience", out.patience, 100ms, 10min);
  reader.read("geo_file", out.geo_file);
  if (!out.address.starts_with("sqlite:") && !out.address.starts_with("postgres://") &&
      !out.address.starts_with("postgresql://")) {
    reader.problem("address", "must be sqlite:FILE or postgres://HOST/NAME");
  }
  reader.finish();
}

void read_budget(ConfigReader reader, bidder::LocalGrantSettings& out) {
  reader.read("accounts", out.accounts, 1, 4'000'000);
  reader.read("open_bids", out.open_bids, 64, 16'000'000);
  reader.read("open_for", out.open_for, 1s, 24h);
  reader.finish();
}

void read_spend(ConfigReader reader, SpendFileSettings& out) {
  reader.read("file", out.file);
  reader.read("every", out.every, 100ms, 1h);
  reader.finish();
}

void read_events(ConfigReader reader, EventSettings& out) {
  reader.read("file", out.file);
  reader.read("queue", out.queue, 16, 1'000'000);
  reader.finish();
}

void read_pacing(ConfigReader reader, bidder::PacerSettings& out) {
  reader.read("period", out.period, 100ms, 1min);
  reader.read("memory", out.memory, 1s, 1h);
  reader.read("lead_ratio", out.lead_ratio, 1e-6, 1.0);
  reader.read("step_ratio", out.step_ratio, 1e-6, 1.0);
  reader.read("least_share", out.least_share, 1e-6, 1.0);
  reader.finish();
}

void read_arm(ConfigReader reader, bidder::ArmSettings& out) {
  reader.read("click_model", out.click.first);
  reader.read("click_model_then", out.click.then);
  reader.read("action_model", out.action.first);
  reader.read("action_model_then", out.action.then);
  reader.read("keep", out.keep, 1, 1'000);
  reader.finish();
}

void read_scoring(ConfigReader reader, BidderConfig& out) {
  auto& scoring = out.scoring;
  read_arm(reader.section("control"), scoring.control);
  read_arm(reader.section("test"), scoring.test);
  reader.read("seed", scoring.seed);
  reader.read("test_ratio", scoring.test_ratio, 0.0, 1.0);
  reader.read("click_ratio", scoring.click_ratio, 0.0, 1.0);
  reader.read("action_ratio", scoring.action_ratio, 0.0, 1.0);
  reader.read("shade_keep_ratio", out.shade_keep_ratio, 0.0, 1.0);
  reader.finish();
}

void read_seconds(ConfigReader& reader, std::string_view key, int64_t& out, base::Duration low,
                  base::Duration high) {
  base::Duration value = std::chrono::seconds(out);
  reader.read(key, value, low, high);
  out = std::chrono::ceil<std::chrono::seconds>(value).count();
}

void read_caps(ConfigReader reader, BidderConfig& out) {
  reader.read_bytes("bytes", out.caps.bytes, 1 << 20, uint64_t{64} << 30);
  read_seconds(reader, "pending", out.caps.pending_s, 1s, 1h);
  auto cache = reader.section("cache");
  auto routing = static_cast<size_t>(out.cap_cache.routing);
  cache.read_choice("routing", {"none", "sticky", "approximate", "single-instance"}, routing);
  out.cap_cache.routing = static_cast<bidder::caps::Routing>(routing);
  cache.read_bytes("bytes", out.cap_cache.bytes, 1 << 20, uint64_t{64} << 30);
  read_seconds(cache, "ttl", out.cap_cache.ttl_s, 1s, 24h);
  if (routing == 0 && (cache.has("bytes") || cache.has("ttl"))) {
    cache.problem("routing",
                  "must say sticky, approximate or single-instance: instances that cache the "
                  "counts of one user approve up to their number times the cap");
  }
  cache.finish();
  reader.finish();
}

void read_segments(ConfigReader reader, bidder::caps::SegmentCacheSettings& out) {
  reader.read_bytes("bytes", out.bytes, 64 << 10, uint64_t{16} << 30);
  reader.read("ttl", out.ttl, 1s, 1h);
  reader.read("unknown_ttl", out.unknown_ttl, 0s, 1h);
  reader.finish();
}

void read_money(ConfigReader reader, base::Rates& out) {
  std::string path;
  base::Duration stale_after = 72h;
  reader.read("file", path);
  reader.read("stale_after", stale_after, 1min, 8760h);
  if (!path.empty()) {
    constexpr size_t kMost = 1 << 20;
    const auto text = read_whole_file(path, kMost);
    std::vector<ConfigProblem> problems;
    if (text) {
      out = read_rates(*text, stale_after, problems);
    } else {
      reader.problem("file", text.error());
    }
    for (const auto& problem : problems) {
      reader.problem("file", to_string(problem, path));
    }
  }
  reader.finish();
}

}  // namespace

BidderConfig read_bidder_config(std::string_view text, std::vector<ConfigProblem>& problems,
                                std::vector<AskedKey>* asked) {
  BidderConfig config;
  ConfigReader root(text, problems);
  if (asked != nullptr) {
    root.record_asked(*asked);
  }
  if (!problems.empty()) {
    return config;
  }
  auto server = root.section("bidder");
  read_server(server, config);
  server.finish();
  read_admin(root.section("admin"), "bidder", config);
  read_shedding(root.section("shedding"), config.shedding);
  read_notices(root.section("notices"), config.notices);
  read_exchanges(root, config);
  read_pipeline(root.section("pipeline"), config.pipeline);
  read_privacy(root.section("privacy"), config.pipeline);
  read_catalog(root.section("catalog"), config.catalog);
  read_budget(root.section("budget"), config.budget);
  read_spend(root.section("spend"), config.spend);
  read_events(root.section("events"), config.events);
  read_pacing(root.section("pacing"), config.pacing);
  read_scoring(root.section("scoring"), config);
  read_caps(root.section("caps"), config);
  read_segments(root.section("segments"), config.segments);
  read_redis(root, config.redis);
  read_money(root.section("currency"), config.rates);
  root.finish();
  std::ranges::stable_sort(problems, {}, &ConfigProblem::line);
  return config;
}

std::vector<std::string> fixed_keys(const BidderConfig& a, const BidderConfig& b) {
  std::vector<std::string> keys = fixed_differences(a, b, "bidder");
  const auto compare = [&keys](bool same, const char* key) {
    if (!same) {
      keys.emplace_back(key);
    }
  };
  compare(a.catalog.address == b.catalog.address, "catalog.address");
  compare(a.catalog.geo_file == b.catalog.geo_file, "catalog.geo_file");
  compare(a.notices.recent == b.notices.recent, "notices.recent");
  compare(a.budget.accounts == b.budget.accounts && a.budget.open_bids == b.budget.open_bids &&
              a.budget.open_for == b.budget.open_for,
          "budget");
  compare(a.pacing.period == b.pacing.period && a.pacing.lead_ratio == b.pacing.lead_ratio &&
              a.pacing.step_ratio == b.pacing.step_ratio &&
              a.pacing.least_share == b.pacing.least_share && a.pacing.memory == b.pacing.memory,
          "pacing");
  compare(a.caps.bytes == b.caps.bytes && a.caps.pending_s == b.caps.pending_s, "caps");
  compare(a.cap_cache.routing == b.cap_cache.routing && a.cap_cache.bytes == b.cap_cache.bytes &&
              a.cap_cache.ttl_s == b.cap_cache.ttl_s,
          "caps.cache");
  compare(a.segments.bytes == b.segments.bytes && a.segments.ttl == b.segments.ttl &&
              a.segments.unknown_ttl == b.segments.unknown_ttl,
          "segments");
  compare(a.spend.file == b.spend.file && a.spend.every == b.spend.every, "spend");
  compare(a.events.file == b.events.file && a.events.queue == b.events.queue, "events");
  compare(a.pipeline.candidates == b.pipeline.candidates &&
              a.pipeline.request.imps_kept == b.pipeline.request.imps_kept,
          "pipeline.candidates and imps_kept");
  return keys;
}

}  // namespace spillway::app::bidding
