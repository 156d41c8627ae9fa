#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/balancer/haproxy_file.h"
#include "app/balancer/lint.h"
#include "base/time.h"

namespace spillway::app::balancing::lint_rules {

namespace {

using namespace std::chrono_literals;

bool is_longer(std::string_view text, base::Duration limit) {
  const auto time = haproxy_time(text);
  return time && *time > limit;
}

uint32_t number_of(std::string_view text, uint32_t fallback) {
  uint32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return fallback;
    }
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return text.empty() ? fallback : value;
}

/// A server whose weight an agent sets.
void judge_agent(const FileSection& section, const ServerWords& server, Findings& out) {
  const int line = server.line->number;
  if (server.value("weight") != "100") {
    out.add(line, "agent-weight", section,
            server.has("weight")
                ? fmt::format("{} has weight {}", server.name, server.value("weight"))
                : fmt::format("{} has no weight, which is 1", server.name),
            "an agent's percent is of the initial weight, truncated, at most 256: of 1, 99 % is 0 "
            "and drains the server",
            "weight 100");
  }
  if (!server.has("agent-port")) {
    out.add(line, "agent-port", section,
            fmt::format("{} has agent-check without agent-port", server.name),
            "the agent is not polled", "agent-port PORT");
  }
  if (!server.has("agent-send")) {
    out.add(
        line, "agent-send", section,
        fmt::format("{} has agent-check without agent-send", server.name),
        "each poll of HAProxy before 2.8 then takes 200 ms more, as the kernel delays its first "
        "acknowledgement",
        R"(agent-send "spillway/1\n")");
  }
  if (!server.has("check")) {
    out.add(line, "health-check", section,
            fmt::format("{} has agent-check without check", server.name),
            "a server that died with its agent, or whose agent lies, stays UP", "check inter 1s");
  }
  if (is_longer(server.value("agent-inter"), 5s)) {
    out.add(line, "agent-inter", section,
            fmt::format("{} polls its agent each {}", server.name, server.value("agent-inter")),
            "weights follow the load that late; a drain too", "agent-inter 500ms");
  }
  if (is_longer(server.value("slowstart"), 1min)) {
    out.add(line, "slowstart", section,
            fmt::format("{} has slowstart {}", server.name, server.value("slowstart")),
            "it multiplies the agent's weight, which has a slow start of its own, and does not act "
            "when HAProxy itself starts",
            "slowstart 10s, or none");
  }
}

void judge_template(const FileSection& section, const ServerWords& server, Findings& out) {
  const int line = server.line->number;
  const std::string_view options = server.value("resolve-opts");
  const bool srv = server.address.starts_with('_');
  if (srv && !options.contains("ignore-weight")) {
    out.add(line, "ignore-weight", section,
            fmt::format("{} takes weights of SRV records", server.name),
            "each DNS answer overwrites what the agent said: 100 becomes 1",
            "resolve-opts allow-dup-ip,ignore-weight");
  }
  if (srv && !options.contains("allow-dup-ip")) {
    out.add(line, "allow-dup-ip", section, fmt::format("{} takes each address once", server.name),
            "of several instances on one machine, with ports of their own, only one gets a server",
            "resolve-opts allow-dup-ip,ignore-weight");
  }
  if (server.has("resolvers") && !server.value("init-addr").contains("none")) {
    out.add(line, "init-addr", section,
            fmt::format("{} wants an address at the start", server.name),
            "HAProxy does not start while DNS is away", "init-addr none");
  }
}

/// Ejection by observed errors.
void judge_observing(const FileSection& section, const ServerWords& server, Findings& out) {
  const int line = server.line->number;
  const FileLine* retry_on = setting(section, "retry-on");
  if (server.value("observe") == "layer7" && retry_on != nullptr) {
    out.add(line, "observe-retry", section,
            fmt::format("{} observes layer7, and line {} retries", server.name, retry_on->number),
            "an error that is retried is not observed: the server is never ejected, and its errors "
            "double the load",
            "retry-on none, or conn-failure empty-response only and no observe layer7");
  }
  constexpr uint32_t kRise = 3;
  if (server.value("on-error") == "mark-down" &&
      (number_of(server.value("rise"), 2) < kRise || !server.has("slowstart"))) {
    out.add(line, "mark-down", section,
            fmt::format("{} is marked down on errors and comes back after {} checks, {}",
                        server.name, number_of(server.value("rise"), 2),
                        server.has("slowstart") ? "slowly" : "at full weight"),
            "as long as the health check passes while requests fail, it flaps: HAProxy has no "
            "back-off and no largest share of ejected servers",
            "rise 5 slowstart 30s, or on-error sudden-death with a health check that tells");
  }
}

}  // namespace

void judge_servers(const FileSection& section, const std::vector<ServerWords>& servers,
                   Findings& out) {
  for (const ServerWords& server : servers) {
    if (server.has("agent-check")) {
      judge_agent(section, server, out);
    }
    if (server.is_template) {
      judge_template(section, server, out);
    }
    judge_observing(section, server, out);
  }
}

}  // namespace spillway::app::balancing::lint_rules
