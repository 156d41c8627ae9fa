#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
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

/// The one that deals by weights that change.
bool follows_weights(std::string_view algorithm) { return algorithm == "roundrobin"; }

void judge_retries(const FileSection& section, const std::vector<ServerWords>& servers,
                   Findings& out) {
  const bool several = servers.size() > 1 || (!servers.empty() && servers.front().is_template);
  if (several && setting(section, "option", "redispatch") == nullptr) {
    out.add(section.number, "redispatch", section, "there is no option redispatch",
            "retries go to the same server: one that died costs its share of requests until its "
            "checks notice",
            "option redispatch 1");
  }
  const FileLine* retries = setting(section, "retries");
  if (retries != nullptr && retries->words.size() > 1 && retries->words[1] == "0") {
    out.add(retries->number, "retries", section, "retries 0",
            "a connection that is refused is a failed request, where another server would answer",
            "retries 2");
  }
}

/// What keeps requests on a server whatever its weight.
void judge_stickiness(const FileSection& section, Findings& out) {
  const FileLine* mode = setting(section, "mode");
  if (mode == nullptr || (mode->words.size() > 1 && mode->words[1] == "tcp")) {
    out.add(mode == nullptr ? section.number : mode->number, "tcp-mode", section,
            mode == nullptr ? "there is no mode, which is tcp" : "mode tcp with agent-check",
            "weights act on new connections only: kept-alive ones stay where they are",
            "mode http, or callers that end their connections often");
  }
  for (const FileLine& line : section.lines) {
    if (line.is("cookie") || line.is("stick") || line.is("use-server")) {
      out.add(line.number, "sticky", section, fmt::format("{} beside agent-check", line.words[0]),
              "callers keep their server whatever its weight", "leave it out");
    }
  }
}

void judge_weights(const FileSection& section, Findings& out) {
  if (const FileLine* balance = setting(section, "balance");
      balance != nullptr && balance->words.size() > 1 && !follows_weights(balance->words[1])) {
    const std::string& name = balance->words[1];
    out.add(balance->number, "algorithm", section, fmt::format("balance {} with agent-check", name),
            name == "leastconn" || name.starts_with("random")
                ? "with few requests in flight it does not follow weights: shares are equal"
                : "it does not deal by weights: static-rr, uri, source and the like take 0 % and "
                  "100 % only unless hashing is consistent, first none",
            "balance roundrobin");
  }
  if (setting(section, "timeout", "check") == nullptr) {
    out.add(section.number, "timeout-check", section, "there is no timeout check",
            "an agent or a health check that hangs is waited for as long as its interval",
            "timeout check 800ms");
  }
}

/// "10.0.0.1:80", "[::1]:80", not "slot.invalid:1".
bool is_literal(std::string_view address) {
  return address.starts_with('[') ||
         address.find_first_not_of("0123456789.:") == std::string_view::npos;
}

/// Slots keep their instances over a reload by the state file; for others it does harm.
void judge_state_file(const FileSection& section, const std::vector<ServerWords>& servers,
                      Findings& out) {
  const auto slots = std::ranges::find_if(servers, [](const ServerWords& server) {
    return server.is_template && server.has("disabled") && !server.has("resolvers");
  });
  const FileLine* state = setting(section, "load-server-state-from-file");
  const bool loads = state != nullptr && state->words.size() > 1 && state->words[1] != "none";
  if (slots != servers.end() && !loads) {
    out.add(
        slots->line->number, "slots-state", section,
        fmt::format("{} are slots, and no load-server-state-from-file", slots->name),
        "a reload begins with empty slots: every request is a 503 until the balancer has filled "
        "them again",
        "load-server-state-from-file global, with server-state-file FILE in global and "
        "haproxies[].state_file: FILE for spillway balancer, which keeps it");
  } else if (slots != servers.end() &&
             (is_literal(slots->address) || !slots->value("init-addr").starts_with("last"))) {
    out.add(slots->line->number, "slots-address", section,
            fmt::format("{} are slots at {}{}", slots->name, slots->address,
                        slots->has("init-addr") ? "" : " without init-addr"),
            "the state file brings their weights back after a reload and not the instances' "
            "addresses, which only servers with a name and init-addr last take from it",
            "slot.invalid:1 as the address, and init-addr last,0.0.0.0");
  } else if (slots == servers.end() && loads) {
    out.add(
        state->number, "server-state-file", section, "load-server-state-from-file without slots",
        "it brings weights back only where the initial weight is unchanged, keeps old ports, and "
        "not one dynamic server: the balancer pushes weights after a restart",
        "leave it out, and run spillway balancer");
  }
}

}  // namespace

void judge_backend(const FileSection& section, const std::vector<ServerWords>& servers,
                   Findings& out) {
  judge_retries(section, servers, out);
  const bool agents = std::ranges::any_of(
      servers, [](const ServerWords& server) { return server.has("agent-check"); });
  if (servers.empty()) {
    for (const FileLine& line : section.lines) {
      if (line.is("default-server")) {
        out.add(line.number, "dynamic-default-server", section,
                "default-server where all servers are added at run time",
                "servers added through the Runtime API do not inherit it: their weight would be 1, "
                "without checks",
                "give the words to `spillway balancer` (servers.*) and leave the line out");
      }
    }
  }
  if (!agents) {
    return;
  }
  for (const ServerWords& server : servers) {
    if (!server.has("agent-check") && !server.has("backup")) {
      out.add(server.line->number, "agent-missing", section,
              fmt::format("{} has no agent-check, and others have", server.name),
              "its weight stands still while the others' follow their capacity", "agent-check");
    }
  }
  judge_stickiness(section, out);
  judge_weights(section, out);
  judge_state_file(section, servers, out);
}

void judge_resolvers(const FileSection& section, Findings& out) {
  static constexpr std::array<std::string_view, 3> kFailures{"timeout", "refused", "other"};
  for (const std::string_view failure : kFailures) {
    const FileLine* hold = setting(section, "hold", failure);
    const auto time = hold != nullptr && hold->words.size() > 2 ? haproxy_time(hold->words[2])
                                                                : std::optional<base::Duration>();
    if (!time || *time < 1min) {
      out.add(
          hold == nullptr ? section.number : hold->number, fmt::format("hold-{}", failure), section,
          hold == nullptr
              ? fmt::format("there is no hold {}, which is 30s", failure)
              : fmt::format("hold {} {}", failure, hold->words.size() > 2 ? hold->words[2] : ""),
          "when DNS is away for longer, every server is removed",
          fmt::format("hold {} 600s", failure));
    }
  }
  const FileLine* obsolete = setting(section, "hold", "obsolete");
  const auto time = obsolete != nullptr && obsolete->words.size() > 2
                        ? haproxy_time(obsolete->words[2])
                        : std::optional<base::Duration>();
  if (!time || *time < 5s) {
    out.add(
        obsolete == nullptr ? section.number : obsolete->number, "hold-obsolete", section,
        obsolete == nullptr ? "there is no hold obsolete, which is 0" : "hold obsolete is short",
        "a record that one answer lacks takes its server away at once", "hold obsolete 10s");
  }
  if (setting(section, "accepted_payload_size") == nullptr) {
    out.add(section.number, "payload-size", section,
            "there is no accepted_payload_size, which is 512",
            "an answer with more than some ten SRV records is cut: instances without a server",
            "accepted_payload_size 8192");
  }
}

void judge_state_place(const HaproxyFile& file, Findings& out) {
  bool has_place = false;
  for (const FileSection& section : file.sections()) {
    has_place =
        has_place || (section.kind == "global" && setting(section, "server-state-file") != nullptr);
  }
  for (const FileSection& section : file.sections()) {
    const FileLine* load = section.kind == "backend" || section.kind == "listen"
                               ? setting(section, "load-server-state-from-file")
                               : nullptr;
    const bool global = load != nullptr && load->words.size() > 1 && load->words[1] == "global";
    if (global && !has_place) {
      out.add(load->number, "state-place", section,
              "load-server-state-from-file global, and no server-state-file in global",
              "there is no file to load: a reload forgets the servers' addresses and weights",
              "server-state-file /var/lib/haproxy/servers.state in global");
    }
  }
}

namespace {

/// Whether a line has two words one after the other.
bool has_pair(const FileLine& line, std::string_view first, std::string_view second) {
  const auto& words = line.words;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == first && words[i + 1] == second) {
      return true;
    }
  }
  return false;
}

}  // namespace

void judge_stats_socket(const HaproxyFile& file, Findings& out) {
  for (const FileSection& section : file.sections()) {
    if (section.kind != "global") {
      continue;
    }
    const FileLine* socket = nullptr;
    bool admin = false;
    bool shares = false;
    for (const FileLine& line : section.lines) {
      if (line.is("stats", "socket")) {
        socket = &line;
        admin = admin || has_pair(line, "level", "admin");
        shares = shares || has_pair(line, "expose-fd", "listeners");
      }
    }
    const int number = socket == nullptr ? section.number : socket->number;
    if (!admin) {
      out.add(number, "stats-socket", section,
              socket == nullptr ? "there is no stats socket" : "no stats socket has level admin",
              "the balancer cannot reach the Runtime API: dead agents keep their weight, restarts "
              "forget weights",
              "stats socket /run/haproxy.sock mode 660 level admin expose-fd listeners");
    }
    if (socket != nullptr && !shares) {
      out.add(number, "expose-fd", section, "no stats socket has expose-fd listeners",
              "a reload closes the listeners: connections are refused meanwhile",
              "expose-fd listeners");
    }
  }
}

}  // namespace spillway::app::balancing::lint_rules
