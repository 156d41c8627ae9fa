#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spillway::relay_floor {

/// Bytes of the whole HTTP/1.1 message `bytes` begins with; 0 while it is incomplete. Knows
/// Content-Length framing only, which is all that the bench's parties speak.
[[nodiscard]] size_t message_bytes(std::string_view bytes);

/// A non-blocking listener on a free loopback port, and its port.
struct Listener {
  int fd = -1;
  uint16_t port = 0;
};

[[nodiscard]] Listener listen_anywhere();

/// A connected, non-blocking loopback socket without Nagle's delay; -1 when nobody listens.
[[nodiscard]] int connect_to(uint16_t port);

/// The next waiting connection, non-blocking and without Nagle's delay; -1 when there is none.
[[nodiscard]] int accept_from(int listener);

/// Ends the program with a sentence when `held` is false: a bench has nothing to recover.
void require(bool held, std::string_view what);

}  // namespace spillway::relay_floor
