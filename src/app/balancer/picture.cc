#include "app/balancer/picture.h"

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "adapters/haproxy_report.h"
#include "base/result.h"

namespace spillway::app::balancing {

bool ServerPicture::is_up() const {
  return stat.status.starts_with("UP") || stat.status == "no check";
}

std::vector<std::string> picture_commands(std::string_view backend) {
  constexpr int kBackendsAndServers = 6;  // a mask: 2 backends, 4 servers
  return {"show info", fmt::format("show servers state {}", backend),
          fmt::format("show stat {} {} -1", backend, kBackendsAndServers)};
}

base::Result<Picture, std::string> picture_of(const std::vector<std::string>& answers,
                                              std::string_view backend) {
  constexpr size_t kAnswers = 3;
  if (answers.size() != kAnswers) {
    return std::unexpected(std::string("three answers are wanted"));
  }
  for (const std::string& answer : answers) {
    if (answer.starts_with("Permission denied")) {
      return std::unexpected(std::string("the stats socket needs `level admin`"));
    }
  }
  if (answers[1].starts_with("Can't find backend")) {
    return std::unexpected(fmt::format("there is no backend {}", backend));
  }
  auto info = adapters::parse_haproxy_info(answers[0]);
  if (!info) {
    return std::unexpected(std::move(info.error()));
  }
  auto states = adapters::parse_haproxy_states(answers[1]);
  if (!states) {
    return std::unexpected(std::move(states.error()));
  }
  auto stats = adapters::parse_haproxy_stats(answers[2]);
  if (!stats) {
    return std::unexpected(std::move(stats.error()));
  }
  Picture picture{.info = std::move(*info), .mode = {}, .algorithm = {}, .servers = {}};
  for (auto& line : stats->backends) {
    if (line.name == backend) {
      picture.mode = std::move(line.mode);
      picture.algorithm = std::move(line.algorithm);
    }
  }
  for (auto& state : *states) {
    if (state.backend == backend) {
      const std::string name = state.server;
      picture.servers[name].state = std::move(state);
    }
  }
  for (auto& stat : stats->servers) {
    if (const auto found = picture.servers.find(stat.server); found != picture.servers.end()) {
      found->second.stat = std::move(stat);
    }
  }
  return picture;
}

}  // namespace spillway::app::balancing
