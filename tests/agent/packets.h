#pragma once

// For tests only: samples as a peer sends them.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters/sample_packet.h"
#include "agent/agent_process.h"
#include "base/time.h"
#include "capacity/sample.h"

namespace spillway::e2e {

inline void send_datagram(uint16_t port, const std::string& bytes) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  ::close(fd);
}

inline int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// What a peer with `key` sends.
inline std::string packet(const std::string& id, double utilization, uint64_t sequence,
                          std::string_view key = kFleetKey) {
  capacity::Sample sample;
  sample.id = id;
  sample.zone = "default";
  sample.server_class = "default";
  sample.capacity = 1'000;
  sample.utilization = utilization;
  sample.weight = 100;
  sample.p95_ms = 10;
  sample.sequence = sequence;
  sample.started_at_ms = 1;
  const base::Instant now(std::chrono::hours(1));
  sample.taken_at = now;
  return adapters::SamplePackets(key).seal(sample, now, wall_ms());
}

}  // namespace spillway::e2e
