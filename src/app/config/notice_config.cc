#include "app/config/notice_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/reader.h"
#include "app/config/url.h"
#include "exchange/notice_url.h"
#include "exchange/snapshot.h"
#include "openrtb/signed_url.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;
using openrtb::EventSigner;

constexpr size_t kSecretBytes = 32;
constexpr size_t kKeys = 2;

// It is put into JSON, HTML and URLs as it is.
bool is_plain(std::string_view text, std::string_view marks) {
  return std::ranges::all_of(text, [marks](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           marks.contains(c);
  });
}

std::vector<EventSigner::Key> read_keys(ConfigReader& reader) {
  std::vector<EventSigner::Key> keys;
  std::set<std::string> ids;
  for (auto& entry : reader.list("keys")) {
    EventSigner::Key key;
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
    keys.push_back(std::move(key));
  }
  if (keys.size() > kKeys) {
    reader.problem("keys", "must be one or two: the first signs, both verify");
  }
  return keys;
}

void read_instances(ConfigReader& reader, NoticeConfig& out) {
  for (auto& [name, entry] : reader.entries("instances")) {
    std::string text;
    bool insecure = false;
    entry.read("url", text);
    entry.read("insecure", insecure);
    auto url = parse_http_url(text);
    if (!url) {
      entry.problem("url", std::move(url.error()));
    } else if (name == out.instance) {
      entry.problem("", "is this very instance");
    } else if (!url->tls && !insecure && !is_loopback(url->host)) {
      entry.problem("url", "is plain http to another machine: use https, or say insecure: true");
    } else {
      out.instances.emplace(name, std::move(*url));
    }
    entry.finish();
  }
}

void read_event_urls(ConfigReader& reader, exchange::EventUrls& out) {
  std::string public_url;
  reader.read("public_url", public_url);
  auto keys = read_keys(reader);
  if (keys.empty() && public_url.empty()) {
    return;
  }
  if (public_url.empty()) {
    reader.problem("keys", "must have a public_url beside them: what is signed begins with it");
    return;
  }
  if (keys.empty()) {
    reader.problem("public_url", "must have keys beside it: unsigned events could be forged");
    return;
  }
  while (public_url.ends_with('/')) {
    public_url.pop_back();
  }
  if (!exchange::parse_notice_url(public_url) || !is_plain(public_url, ":/.-_~[]")) {
    reader.problem(
        "public_url",
        fmt::format("must be an http or https URL without a query, is \"{}\"", public_url));
    return;
  }
  out.signer = std::make_shared<const EventSigner>(std::move(public_url), keys);
}

}  // namespace

void read_notices(ConfigReader reader, NoticeConfig& out, exchange::EventUrls& events) {
  read_event_urls(reader, events);
  reader.read("instance", events.instance);
  if (events.instance.empty() || events.instance.size() > openrtb::kEventTextBytes ||
      !is_plain(events.instance, "-._")) {
    reader.problem("instance", "must be 1 to 128 letters, digits, \"-\", \".\" and \"_\"");
  }
  out.instance = events.instance;
  read_instances(reader, out);
  reader.read("event_lifetime", events.lifetime, 1s, 24h);
  reader.read("allow_private", out.allow_private);
  reader.read("ca_file", out.ca_file);
  auto& limits = out.limits;
  reader.read("queue", limits.queue, 16, 1'000'000);
  uint64_t table_bytes = limits.table_bytes;
  reader.read_bytes("table_bytes", table_bytes, 64 << 10, uint64_t{16} << 30);
  limits.table_bytes = static_cast<size_t>(table_bytes);
  reader.read("hosts", limits.hosts, 1, 4'096);
  reader.read("rate_per_host", limits.rate_per_host, 1, 100'000);
  reader.read("in_flight_per_host", limits.in_flight_per_host, 1, 1'000);
  reader.read("timeout", limits.timeout, 10ms, 30s);
  reader.read("retry_for", limits.retry_for, 1s, 10min);
  reader.read("stop_timeout", out.stop_timeout, 0s, 5min);
  reader.finish();
}

}  // namespace spillway::app
