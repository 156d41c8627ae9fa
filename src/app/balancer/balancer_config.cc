#include "app/balancer/balancer_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "adapters/redis_settings.h"
#include "adapters/registry.h"
#include "app/balancer/effect.h"
#include "app/balancer/membership.h"
#include "app/balancer/watchdog.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "app/config/url.h"
#include "app/stores/redis_section.h"
#include "observe/log.h"

namespace spillway::app::balancing {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kWordMarks = "-_.:";
constexpr uint32_t kMaxWeight = 256;

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= adapters::kMaxRegistryWord &&
         std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  kWordMarks.contains(c);
         });
}

/// What would end a command of the Runtime API, or begin another.
bool breaks_command(std::string_view text) {
  return text.find_first_of("\n\r;\"\\") != std::string_view::npos;
}

void read_balancer(ConfigReader reader, BalancerConfig& out) {
  reader.read("backend", out.backend);
  if (!is_word(out.backend)) {
    reader.problem("backend", "must be the name of a backend or listen section of HAProxy");
  }
  reader.read("zone", out.zone);
  if (!out.zone.empty() && !is_word(out.zone)) {
    reader.problem("zone", "must be letters, digits, \"-\", \"_\", \".\" and \":\"");
  }
  reader.read("interval", out.interval, 100ms, 60s);
  reader.read("command_timeout", out.command_timeout, 100ms, 60s);
  auto level = static_cast<size_t>(out.log_level);
  reader.read_choice("log_level", {"debug", "info", "warn", "error"}, level);
  out.log_level = static_cast<observe::Level>(level);
  reader.finish();
}

void read_membership(ConfigReader reader, MembershipSettings& out) {
  auto mode = static_cast<size_t>(out.mode);
  reader.read_choice("mode", {"dynamic", "slots"}, mode);
  out.mode = static_cast<MembershipSettings::Mode>(mode);
  reader.read("slot_prefix", out.slot_prefix);
  if (!is_word(out.slot_prefix)) {
    reader.problem("slot_prefix", "must be what server-template was given as its prefix");
  }
  reader.read("keep", out.keep);
  reader.read("max_changes", out.max_changes, 1, 4'095);
  reader.read("weight", out.weight, 1, kMaxWeight);
  reader.read("check_inter", out.check_inter, 50ms, 5min);
  reader.read("fall", out.fall, 1, 100);
  reader.read("rise", out.rise, 1, 100);
  reader.read("slowstart", out.slowstart, 0s, 1h);
  reader.read("agent_inter", out.agent_inter, 50ms, 60s);
  reader.read("agent_send", out.agent_send);
  if (out.agent_send.empty() || breaks_command(out.agent_send)) {
    reader.problem("agent_send",
                   "must be text without quotes, backslashes and semicolons; empty, each poll of "
                   "HAProxy 2.6 takes 200 ms");
  }
  reader.read("options", out.options);
  if (breaks_command(out.options)) {
    reader.problem("options", "must be words of a server line, without quotes and semicolons");
  }
  reader.finish();
}

void read_watchdog(ConfigReader reader, WatchdogSettings& out) {
  reader.read("enabled", out.enabled);
  reader.read("dead_after", out.dead_after, 100ms, 10min);
  reader.read("drain_after", out.drain_after, 0s, 24h);
  auto neutral = static_cast<size_t>(out.neutral);
  reader.read_choice("neutral", {"class_mean", "initial"}, neutral);
  out.neutral = static_cast<WatchdogSettings::Neutral>(neutral);
  reader.finish();
}

void read_effect(ConfigReader reader, EffectSettings& out) {
  reader.read("window", out.window, 1s, 1h);
  reader.read("tolerance_ratio", out.tolerance_ratio, 0.001, 1);
  reader.read("least_requests", out.least_requests, 1, 1'000'000'000);
  reader.finish();
}

bool is_socket(const std::string& text) {
  constexpr size_t kPathBytes = 107;
  return (text.starts_with('/') && text.size() <= kPathBytes) || parse_listen(text).has_value();
}

void read_haproxies(ConfigReader& root, std::vector<HaproxyPlace>& out) {
  constexpr size_t kMost = 64;
  std::set<std::string> names;
  for (ConfigReader& reader : root.list("haproxies")) {
    HaproxyPlace& place = out.emplace_back();
    reader.read("name", place.name);
    reader.read("socket", place.socket);
    reader.read("state_file", place.state_file);
    if (!is_word(place.name)) {
      reader.problem("name", "must be letters, digits, \"-\", \"_\", \".\" and \":\"");
    } else if (!names.insert(place.name).second) {
      reader.problem("name", fmt::format("\"{}\" stands twice", place.name));
    }
    if (!is_socket(place.socket)) {
      reader.problem("socket", fmt::format("must be the path of a stats socket (107 bytes at most) "
                                           "or ADDRESS:PORT, is \"{}\"",
                                           place.socket));
    }
    if (!place.state_file.empty() && !place.state_file.starts_with('/')) {
      reader.problem("state_file",
                     fmt::format("must be a path from the root, is \"{}\"", place.state_file));
    }
    reader.finish();
  }
  if (out.empty()) {
    root.problem("haproxies", "must name at least one HAProxy");
  }
  if (out.size() > kMost) {
    root.problem("haproxies", fmt::format("must be {} at most", kMost));
  }
}

void read_redis(ConfigReader reader, adapters::RedisSettings& out, bool wanted) {
  read_redis_place(reader, out);
  if (wanted) {
    report_redis_problems(reader, out);
  }
  reader.finish();
}

void read_instances(ConfigReader& parent, std::vector<adapters::RegistryInstance>& out) {
  std::set<std::string> ids;
  for (ConfigReader& reader : parent.list("instances")) {
    adapters::RegistryInstance& instance = out.emplace_back();
    uint32_t port = 0;
    uint32_t agent_port = 0;
    constexpr uint32_t kMaxPort = std::numeric_limits<uint16_t>::max();
    reader.read("id", instance.id);
    reader.read("host", instance.host);
    reader.read("port", port, 1, kMaxPort);
    reader.read("agent_port", agent_port, 0, kMaxPort);
    reader.read("zone", instance.zone);
    reader.read("class", instance.server_class);
    instance.port = static_cast<uint16_t>(port);
    instance.agent_port = static_cast<uint16_t>(agent_port);
    if (!adapters::is_sound(instance)) {
      reader.problem("",
                     "must have an id, zone and class of letters, digits, \"-\", \"_\", \".\" "
                     "and \":\" (64 bytes), a literal host and a port");
    } else if (!ids.insert(instance.id).second) {
      reader.problem("id", fmt::format("\"{}\" stands twice", instance.id));
    }
    reader.finish();
  }
}

void read_registry(ConfigReader reader, RegistryConfig& out) {
  auto kind = static_cast<size_t>(out.kind);
  reader.read_choice("kind", {"none", "static", "redis", "consul", "etcd"}, kind);
  out.kind = static_cast<RegistryKind>(kind);
  reader.read("url", out.url);
  reader.read("token", out.token);
  reader.read("ca_file", out.ca_file);
  reader.read("service", out.settings.service);
  reader.read("poll", out.settings.poll, 100ms, 1min);
  reader.read("timeout", out.settings.timeout, 50ms, 30s);
  reader.read("confirm_reads", out.settings.confirm_reads, 1, 1'000);
  reader.read("confirm_after", out.settings.confirm_after, 0s, 1h);
  read_redis(reader.section("redis"), out.redis, out.kind == RegistryKind::kRedis);
  read_instances(reader, out.instances);
  if (!is_word(out.settings.service)) {
    reader.problem("service", "must be letters, digits, \"-\", \"_\", \".\" and \":\"");
  }
  const bool http = out.kind == RegistryKind::kConsul || out.kind == RegistryKind::kEtcd;
  if (http) {
    const auto url = parse_http_url(out.url);
    if (!url || url->target != "/") {
      reader.problem(
          "url", fmt::format("must be http://HOST:PORT or https://HOST:PORT, is \"{}\"", out.url));
    }
  }
  if (out.token.find_first_of("\r\n") != std::string::npos) {
    reader.problem("token", "must be one line");
  }
  if (out.kind == RegistryKind::kStatic && out.instances.empty()) {
    reader.problem("instances", "must name an instance, as the kind is static");
  }
  reader.finish();
}

}  // namespace

BalancerConfig read_balancer_config(std::string_view text, std::vector<ConfigProblem>& problems,
                                    std::vector<AskedKey>* asked) {
  BalancerConfig config;
  ConfigReader reader(text, problems);
  if (asked != nullptr) {
    reader.record_asked(*asked);
  }
  if (!problems.empty()) {
    return config;
  }
  read_balancer(reader.section("balancer"), config);
  ServerConfig admin;
  admin.listen.clear();
  admin.admin_listen = config.admin_listen;
  read_admin(reader.section("admin"), "balancer", admin);
  config.admin_listen = admin.admin_listen;
  config.admin_allow_remote = admin.admin_allow_remote;
  read_membership(reader.section("servers"), config.membership);
  read_watchdog(reader.section("watchdog"), config.watchdog);
  read_effect(reader.section("effect"), config.effect);
  read_haproxies(reader, config.haproxies);
  read_registry(reader.section("registry"), config.registry);
  reader.finish();
  config.registry.settings.zone = config.zone;
  return config;
}

}  // namespace spillway::app::balancing
