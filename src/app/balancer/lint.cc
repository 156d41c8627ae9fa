#include "app/balancer/lint.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/balancer/haproxy_file.h"
#include "openrtb/document.h"

namespace spillway::app::balancing {

namespace lint_rules {

void Findings::add(int line, std::string_view rule, const FileSection& section, std::string what,
                   std::string_view why, std::string_view fix) {
  const bool known = std::ranges::any_of(
      all_, [&](const Finding& one) { return one.line == line && one.rule == rule; });
  if (!known) {
    all_.push_back({.line = line,
                    .rule = std::string(rule),
                    .section = section.kind + (section.name.empty() ? "" : " " + section.name),
                    .what = std::move(what),
                    .why = std::string(why),
                    .fix = std::string(fix)});
  }
}

std::vector<Finding> Findings::take() {
  std::ranges::stable_sort(all_, {}, [](const Finding& one) {
    return std::tuple(one.line, std::string_view(one.rule));
  });
  return std::move(all_);
}

}  // namespace lint_rules

std::vector<Finding> lint(const HaproxyFile& file) {
  lint_rules::Findings findings;
  std::set<std::string, std::less<>> resolvers;
  for (const FileSection& section : file.sections()) {
    if (section.kind != "backend" && section.kind != "listen") {
      continue;
    }
    const std::vector<ServerWords> servers = servers_of(section);
    lint_rules::judge_servers(section, servers, findings);
    lint_rules::judge_backend(section, servers, findings);
    for (const ServerWords& server : servers) {
      if (server.has("resolvers")) {
        resolvers.emplace(server.value("resolvers"));
      }
    }
  }
  for (const std::string& name : resolvers) {
    if (const FileSection* section = file.find("resolvers", name)) {
      lint_rules::judge_resolvers(*section, findings);
    }
  }
  lint_rules::judge_state_place(file, findings);
  lint_rules::judge_stats_socket(file, findings);
  return findings.take();
}

std::string lint_text(const std::vector<Finding>& findings, std::string_view path) {
  std::string out;
  for (const Finding& one : findings) {
    out += fmt::format("{}:{}: {}: {} ({})\n    why: {}\n    fix: {}\n", path, one.line, one.rule,
                       one.what, one.section, one.why, one.fix);
  }
  out += findings.empty()
             ? fmt::format("{}: no findings\n", path)
             : fmt::format("{} finding{}\n", findings.size(), findings.size() == 1 ? "" : "s");
  return out;
}

std::string lint_json(const std::vector<Finding>& findings, std::string_view path) {
  using openrtb::json_string;
  std::vector<std::string> items;
  items.reserve(findings.size());
  for (const Finding& one : findings) {
    items.push_back(
        fmt::format(R"({{"line":{},"rule":{},"section":{},"what":{},"why":{},"fix":{}}})", one.line,
                    json_string(one.rule), json_string(one.section), json_string(one.what),
                    json_string(one.why), json_string(one.fix)));
  }
  return fmt::format("{{\"file\":{},\"findings\":[{}]}}\n", json_string(path),
                     fmt::join(items, ","));
}

}  // namespace spillway::app::balancing
