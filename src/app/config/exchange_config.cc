#include "app/config/exchange_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/account_config.h"
#include "app/config/currency_config.h"
#include "app/config/dsp_config.h"
#include "app/config/guard_config.h"
#include "app/config/notice_config.h"
#include "app/config/reader.h"
#include "app/config/shedding_config.h"
#include "app/config/url.h"
#include "base/hash.h"
#include "exchange/snapshot.h"
#include "net/address_set.h"
#include "net/http2_settings.h"
#include "net/server.h"
#include "net/tls.h"
#include "openrtb/validate.h"
#include "resilience/settings.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

template <typename Size>
void read_size(ConfigReader& reader, std::string_view key, Size& out, uint64_t low, uint64_t high) {
  uint64_t value = out;
  reader.read_bytes(key, value, low, high);
  out = static_cast<Size>(value);
}

template <typename Count>
void read_count(ConfigReader& reader, std::string_view key, Count& out, uint32_t low,
                uint32_t high) {
  auto value = static_cast<uint32_t>(out);
  reader.read(key, value, low, high);
  out = static_cast<Count>(value);
}

void read_listen(ConfigReader& reader, std::string& out, bool loopback_only) {
  reader.read("listen", out);
  const auto address = parse_listen(out);
  if (!address) {
    reader.problem(
        "listen",
        fmt::format("must be an address and a port, such as 127.0.0.1:8080 or [::1]:0; is \"{}\"",
                    out));
  } else if (loopback_only && !address->loopback) {
    reader.problem("listen",
                   "must be a loopback address, or allow_remote: true beside it: whoever reaches "
                   "it can open circuits");
  }
}

bool collide(const ListenAddress& a, const ListenAddress& b) {
  const auto is_any = [](const ListenAddress& address) {
    return address.host == "0.0.0.0" || address.host == "::";
  };
  return a.port != 0 && a.port == b.port && (a.host == b.host || is_any(a) || is_any(b));
}

void read_limits(ConfigReader reader, net::ServerLimits& out) {
  read_size(reader, "header_bytes", out.header_bytes, 1 << 10, 1 << 20);
  read_count(reader, "header_count", out.header_count, 8, 1'000);
  read_size(reader, "body_bytes", out.body_bytes, 1 << 10, 64 << 20);
  read_count(reader, "pipeline", out.pipeline, 1, 64);
  read_size(reader, "worker_bytes", out.worker_bytes, 1 << 20, uint64_t{64} << 30);
  read_count(reader, "connections", out.connections, 1, 1'000'000);
  reader.read("header_timeout", out.header_timeout, 10ms, 5min);
  reader.read("body_timeout", out.body_timeout, 10ms, 5min);
  reader.read("idle_timeout", out.idle_timeout, 1s, 1h);
  reader.read("write_timeout", out.write_timeout, 10ms, 5min);
  reader.finish();
}

void read_http2(ConfigReader reader, net::Http2Settings& out) {
  reader.read("enabled", out.enabled);
  read_count(reader, "max_streams", out.max_streams, 1, 1'000);
  read_count(reader, "max_resets", out.max_resets, 1, 1'000'000);
  read_count(reader, "max_control_frames", out.max_control_frames, 100, 10'000'000);
  reader.finish();
}

void read_tls(ConfigReader reader, net::TlsServerSettings& out) {
  reader.read("cert_file", out.certificate_file);
  reader.read("key_file", out.key_file);
  reader.read("client_ca_file", out.client_ca_file);
  if (out.certificate_file.empty() != out.key_file.empty()) {
    reader.problem("", "must have cert_file and key_file, or none of the two");
  } else if (out.certificate_file.empty() && !out.client_ca_file.empty()) {
    reader.problem("", "must have cert_file and key_file beside client_ca_file");
  }
  reader.read("ticket_rotation", out.ticket_rotation, 1s, 168h);
  reader.finish();
}

void read_proxies(ConfigReader& reader, ExchangeConfig& out) {
  reader.read("trusted_proxies", out.trusted_proxies);
  net::AddressSet set;
  for (const auto& network : out.trusted_proxies) {
    if (!set.add(network)) {
      reader.problem("trusted_proxies",
                     fmt::format("must be networks such as 10.0.0.0/8 or 2001:db8::/32; \"{}\" is "
                                 "none",
                                 network));
    }
  }
  reader.read("proxy_protocol", out.proxy_protocol);
  if (out.proxy_protocol && out.trusted_proxies.empty()) {
    reader.problem("proxy_protocol",
                   "must have trusted_proxies beside it: nobody could connect without");
  }
}

void read_exchange(ConfigReader reader, ExchangeConfig& out) {
  read_listen(reader, out.listen, false);
  out.workers = std::max(1U, std::thread::hardware_concurrency());
  reader.read("workers", out.workers, 1, 256);
  auto level = static_cast<size_t>(out.log_level);
  reader.read_choice("log_level", {"debug", "info", "warn", "error"}, level);
  out.log_level = static_cast<LogLevel>(level);
  reader.read("drain_announce", out.drain_announce, 0s, 10min);
  reader.read("stop_timeout", out.stop_timeout, 100ms, 5min);
  read_tls(reader.section("tls"), out.tls);
  read_proxies(reader, out);
  read_http2(reader.section("http2"), out.http2);
  if (out.http2.enabled) {
    out.tls.protocols.insert(out.tls.protocols.begin(), "h2");
  }
  read_limits(reader.section("limits"), out.limits);
  reader.finish();
}

void read_admin(ConfigReader reader, ExchangeConfig& out) {
  reader.read("allow_remote", out.admin_allow_remote);
  read_listen(reader, out.admin_listen, !out.admin_allow_remote);
  const auto admin = parse_listen(out.admin_listen);
  const auto auctions = parse_listen(out.listen);
  if (admin && auctions && collide(*admin, *auctions)) {
    reader.problem("listen", fmt::format("\"{}\" collides with exchange.listen \"{}\": one port "
                                         "cannot serve both",
                                         out.admin_listen, out.listen));
  }
  reader.finish();
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
  read_exchange(root.section("exchange"), config);
  read_admin(root.section("admin"), config);
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
