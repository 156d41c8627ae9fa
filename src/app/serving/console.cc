#include "app/serving/console.h"

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "app/config/reader.h"
#include "openrtb/document.h"

namespace spillway::app {

int report_problems(const std::vector<ConfigProblem>& problems, const std::string& path,
                    bool json) {
  constexpr int kFailed = 1;
  if (!json) {
    for (const auto& problem : problems) {
      fmt::print(stderr, "{}\n", to_string(problem, path));
    }
    return kFailed;
  }
  std::vector<std::string> items;
  items.reserve(problems.size());
  for (const auto& problem : problems) {
    items.push_back(fmt::format(R"({{"key":{},"line":{},"what":{}}})",
                                openrtb::json_string(problem.key), problem.line,
                                openrtb::json_string(problem.what)));
  }
  fmt::print("{{\"ok\":false,\"problems\":[{}]}}\n", fmt::join(items, ","));
  return kFailed;
}

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
