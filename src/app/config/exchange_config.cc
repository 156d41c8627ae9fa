#include "app/config/exchange_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/account_config.h"
#include "app/config/currency_config.h"
#include "app/config/dsp_config.h"
#include "app/config/guard_config.h"
#include "app/config/notice_config.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "app/config/shedding_config.h"
#include "base/hash.h"
#include "exchange/snapshot.h"
#include "openrtb/validate.h"
#include "resilience/settings.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

template <typename Count>
void read_count(ConfigReader& reader, std::string_view key, Count& out, uint32_t low,
                uint32_t high) {
  auto value = static_cast<uint32_t>(out);
  reader.read(key, value, low, high);
  out = static_cast<Count>(value);
}

void read_timing(ConfigReader reader, exchange::Timing& out) {
  reader.read("tmax_default", out.tmax_default, 10ms, 60s);
  reader.read("tmax_max", out.tmax_max, 10ms, 60s);
  reader.read("ask_min", out.ask_min, 1ms, 10s);
  if (out.tmax_default > out.tmax_max) {
    reader.problem("tmax_default", "must not be more than tmax_max");
  }
  reader.finish();
}

void read_validation(ConfigReader reader, openrtb::RequestPolicy& out) {
  reader.read("require_inventory", out.require_inventory);
  reader.read("require_site_id_or_page", out.require_site_id_or_page);
  reader.read("require_banner_size", out.require_banner_size);
  reader.read("refuse_banner_2_4_sizes", out.refuse_banner_2_4_sizes);
  reader.read("check_native", out.check_native);
  reader.read("refuse_metric", out.refuse_metric);
  read_count(reader, "imps_kept", out.imps_kept, 1, 1'000);
  read_count(reader, "imps_max", out.imps_max, 1, 10'000);
  if (out.imps_kept > out.imps_max) {
    reader.problem("imps_kept", "must not be more than imps_max");
  }
  reader.finish();
}

void read_recorder(ConfigReader reader, RecorderSettings& out) {
  reader.read("path", out.path);
  reader.read("sample_ratio", out.sample_ratio, 0.0, 1.0);
  reader.read("queue", out.queue, 16, 1'000'000);
  if (!reader.has("path") && (reader.has("sample_ratio") || reader.has("queue"))) {
    reader.problem("", "must have a path: without one nothing is recorded");
  }
  reader.finish();
}

void read_house_ads(ConfigReader& root, std::vector<exchange::HouseAd>& out) {
  for (auto& reader : root.list("house_ads")) {
    auto& ad = out.emplace_back();
    size_t type = 0;
    reader.read_choice("type", {"banner", "video", "audio", "native"}, type);
    ad.type = static_cast<openrtb::MediaType>(1U << type);
    read_count(reader, "w", ad.w, 1, 20'000);
    read_count(reader, "h", ad.h, 1, 20'000);
    if (ad.type == openrtb::MediaType::kBanner && (!reader.has("w") || !reader.has("h"))) {
      reader.problem("", "must have w and h: a banner is matched by its size");
    }
    reader.read("adm", ad.adm);
    if (ad.adm.empty()) {
      reader.problem("", "must have adm: the markup shown");
    }
    reader.read("adomain", ad.adomain);
    reader.read("cat", ad.cat);
    read_count(reader, "cattax", ad.cattax, 1, 1'000'000);
    reader.finish();
  }
}

void read_dsps(ConfigReader& root, const resilience::SettingsPatch& defaults, ExchangeConfig& out) {
  struct Entry {
    exchange::DspConfig dsp;
    ExpectedTraffic expected;
  };

  std::vector<Entry> entries;
  std::set<std::string> names;
  for (auto& reader : root.list("dsps")) {
    auto& entry = entries.emplace_back();
    read_dsp(reader, defaults, entry.dsp, entry.expected);
    if (!entry.dsp.name.empty() && !names.insert(entry.dsp.name).second) {
      reader.problem("name", fmt::format("\"{}\" stands twice", entry.dsp.name));
    }
  }
  std::ranges::sort(entries, {},
                    [](const Entry& entry) -> const std::string& { return entry.dsp.name; });
  for (auto& entry : entries) {
    out.snapshot.dsps.push_back(std::move(entry.dsp));
    out.expected.push_back(entry.expected);
  }
}

}  // namespace

ExchangeConfig read_exchange_config(std::string_view text, std::vector<ConfigProblem>& problems,
                                    std::vector<AskedKey>* asked) {
  ExchangeConfig config;
  ConfigText parts = part_rates(text);
  ConfigReader root(parts.settings, problems);
  if (asked != nullptr) {
    root.record_asked(*asked);
  }
  const bool readable = problems.empty();
  auto server = root.section("exchange");
  read_server(server, config);
  server.finish();
  read_admin(root.section("admin"), "exchange", config);
  read_timing(root.section("timing"), config.snapshot.timing);
  read_validation(root.section("validation"), config.snapshot.request_policy);
  const std::string rates =
      read_currency(root.section("currency"), parts.rates, config.snapshot.rates, config.rates);
  read_shedding(root.section("shedding"), config.shedding);
  read_recorder(root.section("recorder"), config.recorder);
  read_notices(root.section("notices"), config.notices, config.snapshot.events);
  resilience::SettingsPatch defaults;
  auto guards = root.section("guards");
  read_guard(guards, defaults);
  read_classic(guards, defaults);
  read_hosts(guards, defaults);
  guards.finish();
  read_dsps(root, defaults, config);
  read_accounts(root, config.snapshot.accounts);
  read_house_ads(root, config.snapshot.house_ads);
  root.read("house_seat", config.snapshot.house_seat);
  for (const auto& dsp : config.snapshot.dsps) {
    if (dsp.seat == config.snapshot.house_seat) {
      root.problem("house_seat", fmt::format("\"{}\" is the seat of dsp \"{}\" too: its bids would "
                                             "all be refused",
                                             dsp.seat, dsp.name));
    }
  }
  if (readable && !root.has("dsps") && !root.has("house_ads")) {
    root.problem("",
                 "names neither dsps nor house_ads: there is nobody to ask and nothing to show");
  }
  root.finish();
  // In order of line; problems of one line stay in the order they were found.
  for (auto next = problems.begin(); next != problems.end(); ++next) {
    const auto place =
        std::ranges::upper_bound(problems.begin(), next, next->line, {}, &ConfigProblem::line);
    std::rotate(place, next, next + 1);
  }
  parts.rates = rates;
  config.snapshot.text = join_rates(parts);
  config.snapshot.hash = base::hash64(config.snapshot.text);
  return config;
}

}  // namespace spillway::app
