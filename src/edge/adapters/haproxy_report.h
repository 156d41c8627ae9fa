#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spillway::adapters {

/// One server as `show stat` has it. Columns are found by the names in the header line, so that
/// versions with more or fewer of them are read alike; what is absent or empty is 0 or "".
struct HaproxyServerStat {
  std::string backend;
  std::string server;
  std::string status;   ///< "UP", "DOWN", "DOWN (agent)", "MAINT", "DRAIN", "no check", "UP 1/2".
  uint32_t weight = 0;  ///< In force, slow start included.
  uint32_t user_weight = 0;         ///< uweight: as set, 0 to 256.
  uint64_t sessions = 0;            ///< scur.
  uint64_t queued = 0;              ///< qcur.
  uint64_t picked = 0;              ///< lbtot: times the algorithm chose it.
  uint64_t requests = 0;            ///< req_tot; mode http only.
  std::string check_status;         ///< Without the `* ` of a check under way.
  std::string agent_status;         ///< Likewise; "" without an agent.
  std::string last_agent;           ///< last_agt.
  uint32_t throttle_percent = 100;  ///< Of slow start.
  std::string address;              ///< "addr:port".
};

struct HaproxyBackendStat {
  std::string name;
  std::string mode;       ///< "http", "tcp".
  std::string algorithm;  ///< "roundrobin", "leastconn", ...
};

struct HaproxyStats {
  std::vector<HaproxyServerStat> servers;
  std::vector<HaproxyBackendStat> backends;
};

/// Bits of a server's administrative state.
enum HaproxyAdmin : uint32_t {
  kForcedMaint = 0x01,     ///< By a person or a program, through the Runtime API.
  kInheritedMaint = 0x02,  ///< Of the server it tracks.
  kConfiguredMaint =
      0x04,  ///< The configuration said `disabled`; kForcedMaint tells whether still.
  kForcedDrain = 0x08,
  kInheritedDrain = 0x10,
  kResolverMaint = 0x20,  ///< DNS has no address for it.
};

/// One line of `show servers state`.
struct HaproxyServerState {
  std::string backend;
  std::string server;
  std::string address;  ///< Literal, without brackets.
  uint16_t port = 0;
  uint32_t operational = 0;  ///< 0 stopped, 1 starting, 2 running, 3 stopping.
  uint32_t admin = 0;        ///< HaproxyAdmin.
  uint32_t user_weight = 0;
  uint32_t initial_weight = 0;
  std::string agent_address;  ///< "" when not its own.
  uint16_t agent_port = 0;
};

/// What tells one process from the next.
struct HaproxyInfo {
  std::string version;
  uint64_t pid = 0;
  uint64_t uptime_s = 0;
};

/// The error is one sentence: which line, which column.
[[nodiscard]] base::Result<HaproxyStats, std::string> parse_haproxy_stats(std::string_view csv);
[[nodiscard]] base::Result<std::vector<HaproxyServerState>, std::string> parse_haproxy_states(
    std::string_view text);
[[nodiscard]] base::Result<HaproxyInfo, std::string> parse_haproxy_info(std::string_view text);

/// Whether an agent_status says that nobody speaks for the server's agent: refused, timed out or no
/// answer. "" and what is still unknown are not.
[[nodiscard]] bool is_agent_silent(std::string_view agent_status);

}  // namespace spillway::adapters
