#pragma once

// For tests only: pictures of a HAProxy that never was.
#include <cstdint>
#include <string>
#include <vector>

#include "adapters/registry.h"
#include "app/balancer/picture.h"

namespace spillway::app::balancing::testing {

inline Picture picture(uint64_t pid = 100) {
  return {.info = {.version = "2.6", .pid = pid, .uptime_s = 10},
          .mode = "http",
          .algorithm = "roundrobin",
          .servers = {}};
}

/// A server that is up and whose agent speaks.
inline ServerPicture& add(Picture& picture, const std::string& name, uint32_t weight,
                          uint16_t port = 80) {
  ServerPicture& server = picture.servers[name];
  server.stat = {.backend = "ex",
                 .server = name,
                 .status = "UP",
                 .weight = weight,
                 .user_weight = weight,
                 .check_status = "L4OK",
                 .agent_status = "L7OK",
                 .last_agent = {},
                 .address = "10.0.0.1:" + std::to_string(port)};
  server.state = {.backend = "ex",
                  .server = name,
                  .address = "10.0.0.1",
                  .port = port,
                  .operational = 2,
                  .user_weight = weight,
                  .initial_weight = 100,
                  .agent_address = {},
                  .agent_port = 9100};
  return server;
}

inline adapters::RegistryInstance member(const std::string& id, uint16_t port = 80) {
  return {.id = id, .host = "10.0.0.1", .port = port, .agent_port = 9100};
}

/// "add a, remove b".
template <typename Changes>
std::string text_of(const Changes& changes) {
  std::string out;
  for (const auto& change : changes) {
    out += (out.empty() ? "" : ", ") + std::string(to_string(change.kind)) + " " + change.server;
  }
  return out;
}

}  // namespace spillway::app::balancing::testing
