#include "adapters/haproxy_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"

namespace spillway::adapters {

namespace {

/// Cuts the next line off `text`.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// Fields of one CSV record, which may run over several lines inside quotes. RFC 4180.
std::vector<std::string> next_record(std::string_view& text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  size_t i = 0;
  for (; i < text.size() && (quoted || text[i] != '\n'); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  return fields;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    if (end > 0) {
      words.emplace_back(line.substr(0, end));
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

/// Rows under named columns.
class Columns {
 public:
  Columns() = default;

  explicit Columns(std::vector<std::string> names) : names_(std::move(names)) {}

  [[nodiscard]] bool has(std::string_view name) const {
    return std::ranges::find(names_, name) != names_.end();
  }

  [[nodiscard]] std::string_view text(const std::vector<std::string>& row,
                                      std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    const auto at = static_cast<size_t>(found - names_.begin());
    return at < row.size() ? std::string_view(row[at]) : std::string_view{};
  }

  template <typename Number>
  [[nodiscard]] Number number(const std::vector<std::string>& row, std::string_view name,
                              Number fallback = 0) const {
    const std::string_view value = text(row, name);
    Number out = fallback;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), out);
    return read.ec == std::errc() ? out : fallback;
  }

 private:
  std::vector<std::string> names_;
};

/// The result of the last check, without the mark of one under way.
std::string check_of(std::string_view status) {
  while (status.starts_with('*') || status.starts_with(' ')) {
    status.remove_prefix(1);
  }
  return std::string(status);
}

HaproxyServerStat server_of(const Columns& columns, const std::vector<std::string>& row) {
  constexpr uint32_t kWhole = 100;
  return {.backend = std::string(columns.text(row, "pxname")),
          .server = std::string(columns.text(row, "svname")),
          .status = std::string(columns.text(row, "status")),
          .weight = columns.number<uint32_t>(row, "weight"),
          .user_weight = columns.number<uint32_t>(row, "uweight"),
          .sessions = columns.number<uint64_t>(row, "scur"),
          .queued = columns.number<uint64_t>(row, "qcur"),
          .picked = columns.number<uint64_t>(row, "lbtot"),
          .requests = columns.number<uint64_t>(row, "req_tot"),
          .check_status = check_of(columns.text(row, "check_status")),
          .agent_status = check_of(columns.text(row, "agent_status")),
          .last_agent = std::string(columns.text(row, "last_agt")),
          .throttle_percent = columns.number<uint32_t>(row, "throttle", kWhole),
          .address = std::string(columns.text(row, "addr"))};
}

}  // namespace

base::Result<HaproxyStats, std::string> parse_haproxy_stats(std::string_view csv) {
  constexpr std::string_view kMark = "# ";
  if (!csv.starts_with(kMark)) {
    return std::unexpected(fmt::format("show stat: no header line but \"{}\"", csv.substr(0, 80)));
  }
  csv.remove_prefix(kMark.size());
  const Columns columns(next_record(csv));
  for (const std::string_view wanted : {"pxname", "svname", "type", "status", "weight", "lbtot"}) {
    if (!columns.has(wanted)) {
      return std::unexpected(fmt::format("show stat: no column {}", wanted));
    }
  }
  HaproxyStats stats;
  while (!csv.empty()) {
    const auto row = next_record(csv);
    const auto type = columns.number<uint32_t>(row, "type", ~0U);
    constexpr uint32_t kBackend = 1;
    constexpr uint32_t kServer = 2;
    if (type == kServer) {
      stats.servers.push_back(server_of(columns, row));
    } else if (type == kBackend) {
      stats.backends.push_back({.name = std::string(columns.text(row, "pxname")),
                                .mode = std::string(columns.text(row, "mode")),
                                .algorithm = std::string(columns.text(row, "algo"))});
    }
  }
  return stats;
}

base::Result<std::vector<HaproxyServerState>, std::string> parse_haproxy_states(
    std::string_view text) {
  const std::string_view version = next_line(text);
  if (version != "1") {
    return std::unexpected(
        fmt::format("show servers state: not version 1 but \"{}\"", version.substr(0, 80)));
  }
  std::string_view header = next_line(text);
  if (!header.starts_with("# ")) {
    return std::unexpected(std::string("show servers state: no header line"));
  }
  header.remove_prefix(2);
  const Columns columns(words_of(header));
  for (const std::string_view wanted :
       {"be_name", "srv_name", "srv_addr", "srv_admin_state", "srv_uweight", "srv_iweight"}) {
    if (!columns.has(wanted)) {
      return std::unexpected(fmt::format("show servers state: no column {}", wanted));
    }
  }
  std::vector<HaproxyServerState> states;
  while (!text.empty()) {
    const auto row = words_of(next_line(text));
    if (row.empty()) {
      continue;
    }
    const std::string_view agent = columns.text(row, "srv_agent_addr");
    states.push_back({.backend = std::string(columns.text(row, "be_name")),
                      .server = std::string(columns.text(row, "srv_name")),
                      .address = std::string(columns.text(row, "srv_addr")),
                      .port = columns.number<uint16_t>(row, "srv_port"),
                      .operational = columns.number<uint32_t>(row, "srv_op_state"),
                      .admin = columns.number<uint32_t>(row, "srv_admin_state"),
                      .user_weight = columns.number<uint32_t>(row, "srv_uweight"),
                      .initial_weight = columns.number<uint32_t>(row, "srv_iweight"),
                      .agent_address = agent == "-" ? std::string() : std::string(agent),
                      .agent_port = columns.number<uint16_t>(row, "srv_agent_port")});
  }
  return states;
}

base::Result<HaproxyInfo, std::string> parse_haproxy_info(std::string_view text) {
  HaproxyInfo info;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string_view key = line.substr(0, colon);
    const std::string_view value = line.substr(colon + 2);
    if (key == "Version") {
      info.version = std::string(value);
    } else if (key == "Pid") {
      std::from_chars(value.data(), value.data() + value.size(), info.pid);
    } else if (key == "Uptime_sec") {
      std::from_chars(value.data(), value.data() + value.size(), info.uptime_s);
    }
  }
  if (info.pid == 0) {
    return std::unexpected(fmt::format("show info: no Pid in \"{}\"", text.substr(0, 80)));
  }
  return info;
}

bool is_agent_silent(std::string_view agent_status) {
  static constexpr std::array<std::string_view, 7> kSilent{"L4CON",  "L4TOUT", "L6TOUT", "L6RSP",
                                                           "L7TOUT", "L7RSP",  "SOCKERR"};
  return std::ranges::find(kSilent, agent_status) != kSilent.end();
}

}  // namespace spillway::adapters
