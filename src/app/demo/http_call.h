#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spillway::app {

/// One blocking HTTP/1.1 call to this machine; the body of a 200, or nothing. For a foreground tool
/// that asks a few times a second; services use net::Client.
[[nodiscard]] std::optional<std::string> http_call(uint16_t port, std::string_view method,
                                                   std::string_view target, std::string_view body,
                                                   std::chrono::milliseconds timeout);

/// The port of an address such as 127.0.0.1:8080 or [::1]:8080; 0 when there is none.
[[nodiscard]] uint16_t port_of(std::string_view address);

}  // namespace spillway::app
