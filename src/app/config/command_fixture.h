#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <sys/wait.h>

namespace spillway::app::testing {

/// How a command of ours ended.
struct Ended {
  int status = -1;
  std::string out;
};

/// What becomes of the standard error.
enum class Errors : unsigned char { kWithOutput, kDropped };

/// For tests: runs `spillway-<part> <args>`, which lies in `directory`, to its end.
inline Ended run_program(const std::string& directory, std::string_view part,
                         const std::string& args, Errors errors) {
  const std::string command = directory + "/spillway-" + std::string(part) + " " + args +
                              (errors == Errors::kDropped ? " 2>/dev/null" : " 2>&1");
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

/// The same of this build, with both outputs.
inline Ended run_command(std::string_view part, const std::string& args) {
  return run_program(SPILLWAY_BINARY_DIR "/libexec", part, args, Errors::kWithOutput);
}

}  // namespace spillway::app::testing
