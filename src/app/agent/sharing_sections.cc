// Whom an agent exchanges samples with, and where it is announced.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "adapters/peer_exchange.h"
#include "adapters/redis_settings.h"
#include "adapters/registry.h"
#include "app/agent/agent_config.h"
#include "app/agent/sections.h"
#include "app/config/reader.h"
#include "app/config/url.h"
#include "app/stores/redis_section.h"
#include "net/stream.h"
#include "net/tls.h"

namespace spillway::app::agent {
namespace {

using namespace std::chrono_literals;

void read_peers(ConfigReader& root, AgentConfig& out) {
  const bool there = root.has("peers");
  auto reader = root.section("peers");
  adapters::PeerSettings peers{.listen = "127.0.0.1:9102", .peers = {}, .key = out.key};
  reader.read("listen", peers.listen);
  reader.read("list", peers.peers);
  if (there) {
    check_listen(reader, "listen", peers.listen, false);
    for (const auto& peer : peers.peers) {
      std::string host;
      std::string port;
      if (!net::split_address(peer, host, port)) {
        reader.problem("list", fmt::format("must be HOST:PORT each, has \"{}\"", peer));
      }
    }
    if (peers.peers.size() > adapters::PeerExchange::kMostPeers) {
      reader.problem("list", fmt::format("must be {} at most", adapters::PeerExchange::kMostPeers));
    }
    if (out.key.empty()) {
      reader.problem("", "wants agent.key or agent.key_file: samples are signed");
    }
    out.peers = peers;
  }
  reader.finish();
}

void read_redis(ConfigReader& root, AgentConfig& out) {
  const bool there = root.has("redis");
  auto reader = root.section("redis");
  adapters::RedisSettings redis;
  redis.max_commands = 256;
  redis.max_bytes = uint64_t{1} << 20;
  redis.max_reply_bytes = uint64_t{8} << 20;
  reader.read("samples", out.redis_samples);
  read_redis_place(reader, redis);
  reader.read("connect_timeout", redis.connect_timeout, 10ms, 30s);
  reader.read("stall_after", redis.stall_after, 50ms, 60s);
  if (there) {
    report_redis_problems(reader, redis);
    if (out.redis_samples && out.key.empty()) {
      reader.problem("", "wants agent.key or agent.key_file: samples are signed");
    }
    out.redis = redis;
  }
  reader.finish();
}

void check_registry(ConfigReader& reader, const AgentConfig& out, const std::string& url) {
  const auto& registry = out.registry;
  if (registry.kind == RegistryKind::kNone) {
    return;
  }
  if (!is_address(registry.host)) {
    reader.problem(
        "host", fmt::format("must be the address that HAProxy sends to, is \"{}\"", registry.host));
  }
  if (registry.port == 0) {
    reader.problem("port", "must be the port that HAProxy sends to");
  }
  if (registry.kind == RegistryKind::kRedis) {
    if (!out.redis) {
      reader.problem("kind", "wants the section redis");
    }
  } else if (url.empty()) {
    reader.problem("url", "must be there");
  }
}

void read_registry(ConfigReader reader, AgentConfig& out) {
  auto& registry = out.registry;
  auto kind = static_cast<size_t>(registry.kind);
  reader.read_choice("kind", {"none", "redis", "consul", "etcd"}, kind);
  registry.kind = static_cast<RegistryKind>(kind);
  registry.settings.service = out.service;
  std::string url;
  std::string ca_file;
  reader.read("host", registry.host);
  reader.read("port", registry.port, 0, 65'535);
  reader.read("url", url);
  reader.read("token", registry.http.token);
  reader.read("ca_file", ca_file);
  reader.read("ttl", registry.settings.ttl, 2s, 1h);
  reader.read("poll", registry.settings.poll, 100ms, 1min);
  reader.read("timeout", registry.settings.timeout, 50ms, 30s);
  reader.read("watch", registry.watch);
  check_registry(reader, out, url);
  HttpUrl parts;
  if (!url.empty() && read_url(reader, "url", url, parts)) {
    registry.http.host = parts.host;
    registry.http.port = parts.port;
    if (parts.tls) {
      auto tls = net::TlsClient::make({.host = parts.host, .ca_file = ca_file});
      if (tls) {
        registry.http.tls = std::move(*tls);
      } else {
        reader.problem("ca_file", tls.error());
      }
    }
  }
  reader.finish();
}

}  // namespace

void read_sharing(ConfigReader& root, AgentConfig& out) {
  read_peers(root, out);
  read_redis(root, out);
  read_registry(root.section("registry"), out);
}

void check_listen(ConfigReader& reader, std::string_view key, const std::string& value,
                  bool loopback_only) {
  const auto address = parse_listen(value);
  if (!address) {
    reader.problem(key, fmt::format("must be ADDRESS:PORT, is \"{}\"", value));
  } else if (loopback_only && !address->loopback) {
    reader.problem(key, "must be a loopback address, or allow_remote must be true");
  }
}

bool read_url(ConfigReader& reader, std::string_view key, const std::string& url, HttpUrl& out) {
  const auto parsed = parse_http_url(url);
  if (!parsed) {
    reader.problem(key, parsed.error());
    return false;
  }
  out = *parsed;
  return true;
}

}  // namespace spillway::app::agent
