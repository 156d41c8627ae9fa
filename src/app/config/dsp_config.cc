#include "app/config/dsp_config.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/currency_config.h"
#include "app/config/exchange_config.h"
#include "app/config/guard_config.h"
#include "app/config/reader.h"
#include "app/config/url.h"
#include "exchange/snapshot.h"
#include "openrtb/validate.h"
#include "resilience/settings.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

void read_name(ConfigReader& reader, std::string_view key, std::string& out) {
  reader.read(key, out);
  if (reader.has(key) && !is_name(out)) {
    reader.problem(key, fmt::format("must be 1 to 64 of a-z, 0-9, _ and -, is \"{}\"", out));
  }
}

void read_check(ConfigReader& reader, std::string_view key, exchange::Check& out) {
  auto choice = static_cast<size_t>(out);
  reader.read_choice(key, {"skip", "warn", "enforce"}, choice);
  out = static_cast<exchange::Check>(choice);
}

bool parse_size(std::string_view text, openrtb::Size& out) {
  const size_t x = text.find('x');
  if (x == std::string_view::npos) {
    return false;
  }
  const auto number = [](std::string_view part, int32_t& value) {
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && rest == part.data() + part.size() && value > 0;
  };
  return number(text.substr(0, x), out.w) && number(text.substr(x + 1), out.h);
}

void read_checks(ConfigReader reader, exchange::BidChecks& out) {
  read_check(reader, "size", out.size);
  read_check(reader, "secure", out.secure);
  read_check(reader, "badv", out.badv);
  read_check(reader, "bcat", out.bcat);
  read_check(reader, "acat", out.acat);
  read_check(reader, "battr", out.battr);
  read_check(reader, "markup", out.markup);
  read_check(reader, "deal", out.deal);
  read_check(reader, "vast", out.vast);
  read_check(reader, "mime", out.mime);
  read_check(reader, "duration", out.duration);
  read_check(reader, "protocol", out.protocol);
  read_check(reader, "video_size", out.video_size);
  read_check(reader, "native", out.native);
  read_check(reader, "btype", out.btype);
  read_check(reader, "language", out.language);
  read_check(reader, "expiry", out.expiry);
  read_check(reader, "bapp", out.bapp);
  read_check(reader, "dsa", out.dsa);
  reader.read("allow_nurl_only", out.allow_nurl_only);
  reader.read("require_crid", out.require_crid);
  reader.read("require_mtype", out.require_mtype);
  reader.read("require_response_id", out.require_response_id);
  reader.read("allow_duplicate_bid_id", out.allow_duplicate_bid_id);
  reader.read("currency_from_request_only", out.currency_from_request_only);
  reader.read_cpm("price_cap", out.price_cap);
  std::string largest;
  reader.read("banner_size_max", largest);
  if (!largest.empty() && !parse_size(largest, out.banner_size_max)) {
    reader.problem("banner_size_max",
                   fmt::format("must be a size such as 1920x1080, is \"{}\"", largest));
  }
  reader.read("bids_per_answer", out.bids_per_answer, 1, 10'000);
  reader.read("bids_per_seat_and_imp", out.bids_per_seat_and_imp, 1, 100);
  uint64_t adm_bytes = out.adm_bytes;
  reader.read_bytes("adm_bytes", adm_bytes, 1 << 10, 16 << 20);
  out.adm_bytes = static_cast<uint32_t>(adm_bytes);
  reader.finish();
}

void read_routing(ConfigReader reader, exchange::Routing& out) {
  reader.read("countries", out.countries);
  for (const auto& country : out.countries) {
    if (country.size() != 3 ||
        !std::ranges::all_of(country, [](char c) { return c >= 'A' && c <= 'Z'; })) {
      reader.problem("countries", fmt::format("must be ISO 3166-1 alpha-3 codes in upper case, "
                                              "such as DEU; \"{}\" is none",
                                              country));
    }
  }
  std::vector<std::string> sizes;
  reader.read("sizes", sizes);
  for (const auto& text : sizes) {
    if (!parse_size(text, out.sizes.emplace_back())) {
      reader.problem("sizes", fmt::format("must be sizes such as 300x250; \"{}\" is none", text));
    }
  }
  reader.read("publishers_allow", out.publishers_allow);
  reader.read("publishers_deny", out.publishers_deny);
  reader.read("share_ratio", out.share_ratio, 0.0, 1.0);
  reader.finish();
}

void read_url(ConfigReader& reader, std::string_view key, exchange::Endpoint& out) {
  std::string text;
  reader.read(key, text);
  if (!reader.has(key)) {
    reader.problem("", fmt::format("must have {}: an http or https URL", key));
    return;
  }
  if (text.empty()) {
    return;  // said already
  }
  auto url = parse_http_url(text);
  if (!url) {
    reader.problem(key, std::move(url.error()));
    return;
  }
  out.host = std::move(url->host);
  out.port = url->port;
  out.tls = url->tls;
  out.target = std::move(url->target);
}

void read_tls(ConfigReader reader, const exchange::DspConfig& dsp, exchange::DspTls& out) {
  reader.read("ca_file", out.ca_file);
  reader.read("cert_file", out.cert_file);
  reader.read("key_file", out.key_file);
  if (out.cert_file.empty() != out.key_file.empty()) {
    reader.problem("", "must have cert_file and key_file, or none of the two");
  }
  const bool given = !out.ca_file.empty() || !out.cert_file.empty();
  if (given && std::ranges::none_of(dsp.endpoints, &exchange::Endpoint::tls)) {
    reader.problem("", "is of no use: the DSP has no https endpoint");
  }
  reader.finish();
}

// Bid requests tell of people: they cross a network encrypted, or by a decision that is written
// down.
void refuse_plain(ConfigReader& reader, const exchange::DspConfig& dsp) {
  bool insecure = false;
  reader.read("insecure", insecure);
  const auto stays_here = [](const exchange::Endpoint& endpoint) {
    return endpoint.addresses.empty() ? is_loopback(endpoint.host)
                                      : std::ranges::all_of(endpoint.addresses, is_loopback);
  };
  for (const auto& endpoint : dsp.endpoints) {
    if (!insecure && !endpoint.tls && !endpoint.host.empty() && !stays_here(endpoint)) {
      reader.problem("", fmt::format("plain http to {}, which is not this machine: use https, or "
                                     "say insecure: true",
                                     endpoint.host));
    }
  }
}

struct Inherited {
  const resilience::SettingsPatch& defaults;
  resilience::SettingsPatch dsp;
  std::map<std::string, resilience::SettingsPatch, std::less<>> regions;
};

void settle_guard(ConfigReader& reader, const Inherited& inherited,
                  const resilience::SettingsPatch& own, exchange::Endpoint& out) {
  static const resilience::SettingsPatch nothing;
  const auto region = inherited.regions.find(out.region);
  const auto* region_patch = region == inherited.regions.end() ? &nothing : &region->second;
  out.guard = flatten({&inherited.defaults, &inherited.dsp, region_patch, &own});
  // The contract of the whole DSP is kept beside its endpoints: see DspConfig::qps.
  out.guard.qps = own.qps.value_or(region_patch->qps.value_or(0));
  for (const auto& problem : resilience::validate(out.guard)) {
    reader.problem(
        "", fmt::format("its guard settings as inherited: {}: {}", problem.key, problem.what));
  }
}

void read_addresses(ConfigReader& reader, exchange::Endpoint& out) {
  constexpr size_t kMost = 64;
  reader.read("addresses", out.addresses);
  for (const auto& address : out.addresses) {
    if (!is_address(address)) {
      reader.problem("addresses", fmt::format("must be IPv4 or IPv6 addresses without port; \"{}\" "
                                              "is none",
                                              address));
    }
  }
  if (out.addresses.size() > kMost) {
    reader.problem("addresses", fmt::format("must be at most {}", kMost));
  }
}

void read_endpoint(ConfigReader& reader, const Inherited& inherited, exchange::Endpoint& out) {
  read_url(reader, "url", out);
  read_addresses(reader, out);
  read_name(reader, "region", out.region);
  read_name(reader, "path", out.path);
  out.media = read_media(reader, "media", out.media);
  resilience::SettingsPatch own;
  auto guard = reader.section("guard");
  read_guard(guard, own);
  guard.finish();
  settle_guard(reader, inherited, own, out);
  reader.finish();
}

void read_endpoints(ConfigReader& reader, const Inherited& inherited, exchange::DspConfig& out) {
  auto entries = reader.list("endpoints");
  if (reader.has("endpoint") || !reader.has("endpoints")) {
    auto& endpoint = out.endpoints.emplace_back();
    read_url(reader, "endpoint", endpoint);
    settle_guard(reader, inherited, {}, endpoint);
    if (reader.has("endpoints")) {
      reader.problem("endpoints", "stands beside endpoint: write one of the two");
    }
  }
  std::set<std::string> keys;
  for (auto& entry : entries) {
    auto& endpoint = out.endpoints.emplace_back();
    read_endpoint(entry, inherited, endpoint);
    if (!keys.insert(endpoint.region + "/" + endpoint.path).second) {
      entry.problem("", fmt::format("region {} and path {} stand twice in this DSP",
                                    endpoint.region, endpoint.path));
    }
  }
  if (out.endpoints.empty()) {
    reader.problem("endpoints", "must name at least one endpoint");
  }
  for (auto& endpoint : out.endpoints) {
    endpoint.guard_key = fmt::format("{}/{}/{}", out.name, endpoint.region, endpoint.path);
  }
}

}  // namespace

uint8_t read_media(ConfigReader& reader, std::string_view key, uint8_t fallback) {
  static constexpr std::string_view kNames[] = {"banner", "video", "audio", "native"};
  std::vector<std::string> names;
  reader.read(key, names);
  if (!reader.has(key)) {
    return fallback;
  }
  unsigned media = 0;
  for (const auto& name : names) {
    const auto* found = std::ranges::find(kNames, std::string_view(name));
    if (found == std::end(kNames)) {
      reader.problem(key,
                     fmt::format("must be among banner, video, audio, native; is \"{}\"", name));
    } else {
      media |= 1U << (found - kNames);
    }
  }
  if (names.empty()) {
    reader.problem(key, "must name at least one of banner, video, audio, native");
  }
  return static_cast<uint8_t>(media);
}

void read_dsp(ConfigReader& reader, const resilience::SettingsPatch& defaults,
              exchange::DspConfig& out, ExpectedTraffic& expected) {
  read_name(reader, "name", out.name);
  if (!reader.has("name")) {
    reader.problem("", "must have a name");
  }
  out.seat = out.name;
  reader.read("seat", out.seat);
  size_t version = 1;
  reader.read_choice("openrtb", {"2.5", "2.6"}, version);
  out.openrtb = version == 0 ? "2.5" : "2.6";

  Inherited inherited{.defaults = defaults, .dsp = {}, .regions = {}};
  auto guard = reader.section("guard");
  read_guard(guard, inherited.dsp);
  read_classic(guard, inherited.dsp);
  read_hosts(guard, inherited.dsp);
  guard.finish();
  out.qps = inherited.dsp.qps.value_or(defaults.qps.value_or(0));
  reader.read("qps", out.qps, 0, 10'000'000);
  uint32_t max_in_flight = 0;
  reader.read("max_in_flight", max_in_flight, 0, 100'000);
  if (reader.has("max_in_flight")) {
    inherited.dsp.max_in_flight = max_in_flight;
  }
  for (auto& [name, region] : reader.entries("regions")) {
    auto region_guard = region.section("guard");
    read_guard(region_guard, inherited.regions[name]);
    region_guard.finish();
    region.finish();
  }
  read_endpoints(reader, inherited, out);
  read_tls(reader.section("tls"), out, out.tls);
  refuse_plain(reader, out);
  read_routing(reader.section("routing"), out.routing);
  read_checks(reader.section("checks"), out.checks);
  reader.read("gvl_id", out.gvl_id, 0, 65'535);
  reader.read("legitimate_interest", out.legitimate_interest);
  if (out.legitimate_interest && out.gvl_id == 0) {
    reader.problem("legitimate_interest", "must come with a gvl_id: it is claimed under that");
  }
  reader.read_ppm("bid_adjustment", out.adjustment_ppm, 1'000'000);
  if (out.adjustment_ppm == 0) {
    reader.problem("bid_adjustment", "must be above 0: no bid would count");
  }
  reader.read("max_connections", out.max_connections, 1, 20'000);
  reader.read("max_handshakes", out.max_handshakes, 1, 1'000);
  uint64_t answer_bytes = out.answer_bytes;
  reader.read_bytes("answer_bytes", answer_bytes, 1 << 10, 64 << 20);
  out.answer_bytes = static_cast<uint32_t>(answer_bytes);
  reader.read("idle_timeout", out.idle_timeout, 1s, 10min);
  reader.read("own_request_id", out.own_request_id);
  reader.read("gzip", out.gzip);
  read_floor(reader, out.floor);
  auto expect = reader.section("expect");
  expect.read("qps", expected.qps, 0, 10'000'000);
  expect.read("latency", expected.latency, 1ms, 10s);
  expect.finish();
  reader.finish();
}

}  // namespace spillway::app
