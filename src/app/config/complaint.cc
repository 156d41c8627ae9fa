#include "app/config/complaint.h"

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "app/config/reader.h"
#include "openrtb/document.h"

namespace spillway::app {

int complain(const std::string& problem, bool json, int status) {
  if (json) {
    fmt::print("{{\"error\":{}}}\n", openrtb::json_string(problem));
  } else {
    fmt::print(stderr, "{}\n", problem);
  }
  return status;
}

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

}  // namespace spillway::app
