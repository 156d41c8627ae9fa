#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <sys/wait.h>

namespace spillway::app::testing {

/// How a command of ours ended.
struct Ended {
  int status = -1;
  std::string out;  ///< Both outputs.
};

/// For tests: runs `spillway <part> <args>` to its end.
inline Ended run_command(std::string_view part, const std::string& args) {
  const std::string command =
      SPILLWAY_BINARY_DIR "/libexec/spillway-" + std::string(part) + " " + args + " 2>&1";
  Ended ended;
  // NOLINTNEXTLINE(bugprone-command-processor): the words are the tests' own.
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  char bytes[4096];
  for (size_t size = 0; (size = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;) {
    ended.out.append(bytes, size);
  }
  ended.status = WEXITSTATUS(::pclose(pipe));
  return ended;
}

}  // namespace spillway::app::testing
