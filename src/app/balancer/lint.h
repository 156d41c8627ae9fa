#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/balancer/haproxy_file.h"

namespace spillway::app::balancing {

/// One trap in a HAProxy configuration.
struct Finding {
  int line = 0;
  std::string rule;     ///< "agent-weight": docs/balancer.md has them all.
  std::string section;  ///< "backend ex".
  std::string what;
  std::string why;
  std::string fix;
};

/// The traps of weights set by agents in `file`, in order of line and rule, each once a line.
/// Grammar is `haproxy -c`'s business: a file that passes here may be refused there.
[[nodiscard]] std::vector<Finding> lint(const HaproxyFile& file);

/// "haproxy.cfg:12: agent-weight: ..." and the why and the fix under it.
[[nodiscard]] std::string lint_text(const std::vector<Finding>& findings, std::string_view path);
/// {"file":...,"findings":[{"line":...,"rule":...,"section":...,"what":...,"why":...,"fix":...}]}
[[nodiscard]] std::string lint_json(const std::vector<Finding>& findings, std::string_view path);

namespace lint_rules {

/// What the rules of one file add to.
class Findings {
 public:
  void add(int line, std::string_view rule, const FileSection& section, std::string what,
           std::string_view why, std::string_view fix);

  [[nodiscard]] std::vector<Finding> take();

 private:
  std::vector<Finding> all_;
};

/// lint_servers.cc: server lines, one by one.
void judge_servers(const FileSection& section, const std::vector<ServerWords>& servers,
                   Findings& out);
/// lint_backends.cc: what a backend or listen section is as a whole.
void judge_backend(const FileSection& section, const std::vector<ServerWords>& servers,
                   Findings& out);
/// lint_backends.cc: where server states are loaded from.
void judge_state_place(const HaproxyFile& file, Findings& out);
/// lint_backends.cc: resolvers that server-templates use, the stats socket.
void judge_resolvers(const FileSection& section, Findings& out);
void judge_stats_socket(const HaproxyFile& file, Findings& out);

}  // namespace lint_rules

}  // namespace spillway::app::balancing
