#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/config/server_config.h"
#include "net/server.h"
#include "net/tls.h"

namespace spillway::app {

/// What a program's callers' listener is, by its configuration.
[[nodiscard]] net::ListenerSettings listener_settings(const ServerConfig& config,
                                                      std::shared_ptr<net::TlsServer> tls);

/// The configured address with the port that was taken.
[[nodiscard]] std::string at_port(const std::string& listen, uint16_t port);

/// Files this process may have open.
[[nodiscard]] uint64_t open_files();

/// As many as the machine lets us have.
void raise_file_limit();

}  // namespace spillway::app
