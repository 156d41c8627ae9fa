#pragma once

#include <string>

namespace spillway::app::balancing {

/// `spillway balancer status`: asks the running balancer at `admin` ("127.0.0.1:9931"); prints its
/// JSON, or a table. The exit status.
[[nodiscard]] int print_status(const std::string& admin, bool json);

}  // namespace spillway::app::balancing
