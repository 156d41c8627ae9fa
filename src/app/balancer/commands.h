#pragma once

#include <string>
#include <vector>

namespace spillway::app::balancing {

/// `spillway balancer status`: asks the running balancer at `admin` ("127.0.0.1:9931"); prints its
/// JSON, or a table. The exit status.
[[nodiscard]] int print_status(const std::string& admin, bool json);

/// `spillway balancer lint`: 0 without findings, 1 with some, 2 when a file cannot be read or is no
/// configuration of HAProxy. JSON is one object a file and line.
[[nodiscard]] int print_lint(const std::vector<std::string>& paths, bool json);

}  // namespace spillway::app::balancing
