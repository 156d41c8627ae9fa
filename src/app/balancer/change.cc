#include "app/balancer/change.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app::balancing {

namespace {

/// Whether HAProxy did what a command of any change asked.
bool is_done(std::string_view answer) {
  return answer.empty() || answer == "New server registered." || answer == "Server deleted." ||
         answer.contains("changed from") || answer.starts_with("no need to change");
}

}  // namespace

std::string_view to_string(ChangeKind kind) {
  static constexpr std::array<std::string_view, kChangeKinds> kNames{
      "add", "remove", "return", "assign", "release", "reset", "restore", "push", "undrain"};
  return kNames.at(static_cast<size_t>(kind));
}

std::string_view to_string(Declined why) {
  static constexpr std::array<std::string_view, kDeclines> kNames{
      "by_people", "still_connected", "no_free_slot", "round_full", "registry_unknown", "refused"};
  return kNames.at(static_cast<size_t>(why));
}

ChangeEnd judge(const Change& change, const std::vector<std::string>& answers, size_t first) {
  ChangeEnd end{.done = true};
  for (size_t i = 0; i < change.commands.size() && first + i < answers.size(); ++i) {
    const std::string& answer = answers[first + i];
    const bool agent_off = change.commands[i].starts_with("disable agent") &&
                           answer.contains("not enabled");  // it never had one
    if (is_done(answer) || agent_off) {
      continue;
    }
    end.done = false;
    end.still_connected = answer.contains("still has connections");
    end.said = answer;
    break;
  }
  return end;
}

}  // namespace spillway::app::balancing
