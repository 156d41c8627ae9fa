#include "app/agent/agent_config.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "adapters/cpu_reader.h"
#include "adapters/load_poller.h"
#include "adapters/load_text.h"
#include "adapters/registry.h"
#include "app/agent/departure.h"
#include "app/agent/sections.h"
#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "app/config/url.h"
#include "base/time.h"
#include "capacity/zone_view.h"

namespace spillway::app::agent {
namespace {

using namespace std::chrono_literals;

constexpr size_t kKeyBytes = 16;
/// Periods up to this: that an answer is overdue may be found at the next tick.
constexpr base::Duration kSoon = 10s;
constexpr size_t kKeyFileBytes = 4096;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "";
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= adapters::kMaxRegistryWord &&
         std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  c == '-' || c == '_' || c == '.' || c == ':';
         });
}

void read_word(ConfigReader& reader, std::string_view key, std::string& out) {
  reader.read(key, out);
  if (!is_word(out)) {
    reader.problem(key, fmt::format("must be 1 to {} of a-z A-Z 0-9 - _ . and :, is \"{}\"",
                                    adapters::kMaxRegistryWord, out));
  }
}

void read_key(ConfigReader& reader, AgentConfig& out) {
  std::string file;
  reader.read("key", out.key);
  reader.read("key_file", file);
  if (!file.empty()) {
    const auto text = read_whole_file(file, kKeyFileBytes);
    if (!text) {
      reader.problem("key_file", text.error());
      return;
    }
    out.key = text->substr(0, text->find_last_not_of("\r\n") + 1);
  }
  if (!out.key.empty() && out.key.size() < kKeyBytes) {
    reader.problem(file.empty() ? "key" : "key_file",
                   fmt::format("must have {} bytes or more", kKeyBytes));
  }
}

void read_agent(ConfigReader reader, AgentConfig& out) {
  reader.read("id", out.id);
  if (out.id.empty()) {
    out.id = host_name();
  }
  if (!is_word(out.id)) {
    reader.problem("id", fmt::format("must be 1 to {} of a-z A-Z 0-9 - _ . and :, is \"{}\"",
                                     adapters::kMaxRegistryWord, out.id));
  }
  read_word(reader, "service", out.service);
  read_word(reader, "zone", out.zone);
  read_word(reader, "class", out.server_class);
  reader.read("class_by_cores", out.class_by_cores);
  reader.read("listen", out.listen);
  check_listen(reader, "listen", out.listen, false);
  reader.read("max_connections", out.max_connections, 1, 10'000);
  reader.read("absolute_weight", out.absolute_weight);
  reader.read("dry_run", out.dry_run);
  reader.read("orders_file", out.orders_file);
  reader.read("state_file", out.state_file);
  reader.read("record_file", out.record_file);
  reader.read_bytes("record_bytes", out.record_bytes, 64 << 10, uint64_t{16} << 30);
  read_key(reader, out);
  auto level = static_cast<size_t>(out.log_level);
  reader.read_choice("log_level", {"debug", "info", "warn", "error"}, level);
  out.log_level = static_cast<LogLevel>(level);
  reader.finish();
}

void read_admin(ConfigReader reader, AgentConfig& out) {
  reader.read("allow_remote", out.admin_allow_remote);
  reader.read("listen", out.admin_listen);
  check_listen(reader, "listen", out.admin_listen, !out.admin_allow_remote);
  reader.finish();
}

void read_view(ConfigReader reader, capacity::ZoneViewSettings& out, base::Duration period) {
  out.stale_after = 3 * period;
  reader.read("stale_after", out.stale_after, 300ms, 1h);
  reader.read("forget_after", out.forget_after, 1s, 24h);
  reader.read("clock_error", out.clock_error, 0s, 10min);
  auto most = static_cast<uint32_t>(out.max_servers);
  reader.read("max_servers", most, 2, 10'000);
  out.max_servers = most;
  if (out.stale_after < 2 * period) {
    reader.problem("stale_after", "must be two of law.period or more");
  }
  if (out.forget_after < out.stale_after) {
    reader.problem("forget_after", "must not be less than stale_after");
  }
  reader.finish();
}

void read_cpu(ConfigReader reader, adapters::CpuSettings& out) {
  auto source = static_cast<size_t>(out.source);
  reader.read_choice("source", {"auto", "host", "cgroup"}, source);
  out.source = static_cast<adapters::CpuSource>(source);
  reader.read("cgroup", out.cgroup);
  reader.read("pid_file", out.pid_file);
  reader.read("pid", out.pid, 0, 4'194'304);
  reader.read("proc_root", out.proc_root);
  reader.read("cgroup_root", out.cgroup_root);
  if (!out.cgroup.empty() && !out.cgroup.starts_with('/')) {
    reader.problem("cgroup", "must be a path from the hierarchy's root, as \"/web\"");
  }
  if (out.source == adapters::CpuSource::kCgroup && out.cgroup.empty() && out.pid_file.empty() &&
      out.pid == 0) {
    reader.problem("source", "wants a cgroup, a pid_file or a pid");
  }
  reader.finish();
}

void read_selectors(ConfigReader& reader, std::string_view key,
                    std::vector<adapters::SeriesSelector>& out) {
  std::vector<std::string> texts;
  reader.read(key, texts);
  for (const auto& text : texts) {
    auto selector = adapters::SeriesSelector::parse(text);
    if (selector) {
      out.push_back(std::move(*selector));
    } else {
      reader.problem(key,
                     fmt::format("must be NAME or NAME{{LABEL=\"VALUE\",…}}, is \"{}\"", text));
    }
  }
}

void read_load(ConfigReader reader, AgentConfig& out) {
  std::string url;
  std::string ready_url;
  adapters::LoadSettings load;
  load.timeout = std::min(load.timeout, out.law.period / 2);
  load.judged_when_asked = out.law.period <= kSoon;
  adapters::PageSelectors page;
  reader.read("url", url);
  reader.read("ready_url", ready_url);
  reader.read("timeout", load.timeout, 10ms, 1min);
  read_selectors(reader, "successes", page.successes);
  read_selectors(reader, "failures", page.failures);
  read_selectors(reader, "requests", page.requests);
  read_selectors(reader, "in_flight", page.in_flight);
  read_selectors(reader, "limit", page.limit);
  const bool selects = !page.failures.empty() || !page.requests.empty() ||
                       !page.in_flight.empty() || !page.limit.empty();
  if (selects && page.successes.empty()) {
    reader.problem("successes", "must be there when other metrics are");
  }
  if (url.empty() && (selects || !page.successes.empty())) {
    reader.problem("url", "must be there when metrics are");
  }
  if (load.timeout >= out.law.period) {
    reader.problem("timeout", "must be less than law.period");
  }
  const auto place = [&](std::string_view key, const std::string& text,
                         std::optional<adapters::LoadSettings>& to) {
    HttpUrl parts;
    if (text.empty() || !read_url(reader, key, text, parts)) {
      return;
    }
    if (parts.tls) {
      reader.problem(key, "must be plain http");
    }
    to = load;
    to->host = parts.host;
    to->port = parts.port;
    to->target = parts.target;
  };
  place("ready_url", ready_url, out.ready);
  place("url", url, out.load);
  if (out.load && !page.successes.empty()) {
    out.load->page = std::move(page);
  }
  reader.finish();
}

void read_drain(ConfigReader reader, DepartureSettings& out) {
  reader.read("wait", out.wait, 0s, 1h);
  reader.read("announce", out.announce, 0s, 10min);
  reader.read("ready_for", out.ready_for, 100ms, 10min);
  if (out.announce > out.wait) {
    reader.problem("announce", "must not be more than wait");
  }
  reader.finish();
}

void read_spot(ConfigReader reader, SpotConfig& out) {
  std::string url = "http://169.254.169.254";
  reader.read("enabled", out.enabled);
  reader.read("url", url);
  reader.read("interval", out.settings.interval, 1s, 1min);
  reader.read("timeout", out.settings.timeout, 50ms, 10s);
  reader.read("token_ttl_s", out.settings.token_ttl_s, 1, 21'600);
  auto action = static_cast<size_t>(out.on_rebalance);
  reader.read_choice("on_rebalance", {"nothing", "drain"}, action);
  out.on_rebalance = static_cast<OnRebalance>(action);
  HttpUrl parts;
  if (read_url(reader, "url", url, parts)) {
    out.settings.host = parts.host;
    out.settings.port = parts.port;
    if (parts.tls || parts.target != "/") {
      reader.problem("url", "must be http://HOST[:PORT]");
    }
  }
  reader.finish();
}

void read_emf(ConfigReader reader, EmfConfig& out) {
  reader.read("file", out.file);
  reader.read("namespace", out.name_space);
  reader.read("interval", out.interval, 1s, 1h);
  if (out.name_space.empty() || out.name_space.size() > 255) {
    reader.problem("namespace", "must be 1 to 255 bytes");
  }
  reader.finish();
}

}  // namespace

AgentConfig read_agent_config(std::string_view text, std::vector<ConfigProblem>& problems,
                              std::vector<AskedKey>* asked) {
  AgentConfig config;
  ConfigReader root(text, problems);
  if (asked != nullptr) {
    root.record_asked(*asked);
  }
  if (!problems.empty()) {
    return config;
  }
  read_agent(root.section("agent"), config);
  read_admin(root.section("admin"), config);
  read_law(root.section("law"), config.law);
  read_view(root.section("zone_view"), config.view, config.law.period);
  read_cpu(root.section("cpu"), config.cpu);
  read_load(root.section("load"), config);
  read_drain(root.section("drain"), config.drain);
  read_sharing(root, config);
  read_spot(root.section("spot"), config.spot);
  read_emf(root.section("emf"), config.emf);
  root.finish();
  std::ranges::stable_sort(problems, {}, &ConfigProblem::line);
  return config;
}

}  // namespace spillway::app::agent
