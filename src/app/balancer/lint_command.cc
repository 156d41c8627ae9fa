#include <cstddef>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "app/balancer/commands.h"
#include "app/balancer/haproxy_file.h"
#include "app/balancer/lint.h"
#include "app/config/complaint.h"
#include "app/config/config_file.h"

namespace spillway::app::balancing {

int print_lint(const std::vector<std::string>& paths, bool json) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  constexpr int kFindings = 1;
  constexpr int kUnreadable = 2;
  int status = 0;
  for (const std::string& path : paths) {
    const auto text = read_whole_file(path, kMostBytes);
    if (!text) {
      return complain(text.error(), json, kUnreadable);
    }
    const HaproxyFile file(*text);
    if (file.sections().empty()) {
      return complain(path + ": has no section of a HAProxy configuration", json, kUnreadable);
    }
    const auto findings = lint(file);
    fmt::print("{}", json ? lint_json(findings, path) : lint_text(findings, path));
    status = findings.empty() ? status : kFindings;
  }
  return status;
}

}  // namespace spillway::app::balancing
