#include "app/config/server_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/reader.h"
#include "app/config/url.h"
#include "net/address_set.h"
#include "net/http2_settings.h"
#include "net/server.h"
#include "net/tls.h"

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
  if (auto problem = listen_problem(out, loopback_only); !problem.empty()) {
    reader.problem("listen", std::move(problem));
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

void read_proxies(ConfigReader& reader, ServerConfig& out) {
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

bool same_limits(const net::ServerLimits& a, const net::ServerLimits& b) {
  const auto all = [](const net::ServerLimits& limits) {
    return std::tuple(limits.header_bytes, limits.header_count, limits.body_bytes, limits.pipeline,
                      limits.worker_bytes, limits.connections, limits.header_timeout,
                      limits.body_timeout, limits.idle_timeout, limits.write_timeout);
  };
  return all(a) == all(b);
}

}  // namespace

std::string listen_problem(const std::string& address, bool loopback_only) {
  const auto parsed = parse_listen(address);
  if (!parsed) {
    return fmt::format(
        "must be an address and a port, such as 127.0.0.1:8080 or [::1]:0; is \"{}\"", address);
  }
  if (loopback_only && !parsed->loopback) {
    return "must be a loopback address, or allow_remote: true beside it: whoever reaches it can "
           "open circuits";
  }
  return {};
}

void read_server(ConfigReader& reader, ServerConfig& out) {
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
}

void read_admin(ConfigReader reader, std::string_view section, ServerConfig& out) {
  reader.read("allow_remote", out.admin_allow_remote);
  read_listen(reader, out.admin_listen, !out.admin_allow_remote);
  const auto admin = parse_listen(out.admin_listen);
  const auto callers = parse_listen(out.listen);
  if (admin && callers && collide(*admin, *callers)) {
    reader.problem("listen", fmt::format("\"{}\" collides with {}.listen \"{}\": one port "
                                         "cannot serve both",
                                         out.admin_listen, section, out.listen));
  }
  reader.finish();
}

std::vector<std::string> fixed_differences(const ServerConfig& a, const ServerConfig& b,
                                           std::string_view section) {
  std::vector<std::string> keys;
  const auto compare = [&](bool same, std::string_view key) {
    if (!same) {
      keys.push_back(fmt::format("{}.{}", section, key));
    }
  };
  compare(a.listen == b.listen, "listen");
  compare(a.workers == b.workers, "workers");
  compare(a.log_level == b.log_level, "log_level");
  compare(a.tls.certificate_file == b.tls.certificate_file && a.tls.key_file == b.tls.key_file &&
              a.tls.client_ca_file == b.tls.client_ca_file &&
              a.tls.ticket_rotation == b.tls.ticket_rotation,
          "tls");
  compare(a.trusted_proxies == b.trusted_proxies, "trusted_proxies");
  compare(a.proxy_protocol == b.proxy_protocol, "proxy_protocol");
  compare(a.http2 == b.http2, "http2");
  compare(same_limits(a.limits, b.limits), "limits");
  section = "admin";
  compare(a.admin_listen == b.admin_listen, "listen");
  compare(a.admin_allow_remote == b.admin_allow_remote, "allow_remote");
  return keys;
}

}  // namespace spillway::app
