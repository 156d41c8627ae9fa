#include "app/serving/console.h"

#include <cstdio>
#include <string>

#include <fmt/core.h>

#include "openrtb/document.h"

namespace spillway::app {

void print_started(const std::string& listen, const std::string& admin, bool json) {
  if (json) {
    const auto place =
        listen.empty() ? "" : fmt::format("\"listen\":{},", openrtb::json_string(listen));
    fmt::print("{{\"event\":\"started\",{}\"admin\":{}}}\n", place, openrtb::json_string(admin));
  } else {
    fmt::print("event=started{}{} admin={}\n", listen.empty() ? "" : " listen=", listen, admin);
  }
  std::fflush(stdout);
}

}  // namespace spillway::app
