#include "app/demo/child_process.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/demo/http_call.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

struct Said {
  std::vector<std::string> out, err;

  ChildProcess::OnLine listener() {
    return [this](ChildProcess::Output output, std::string_view line) {
      (output == ChildProcess::Output::kStdout ? out : err).emplace_back(line);
    };
  }
};

ChildProcess::Command shell(const std::string& script) {
  return {.name = "shell", .program = "/bin/sh", .args = {"-c", script}};
}

TEST(ChildProcess, ReportsWholeLinesOfBothOutputsAndTheExitStatus) {
  Said said;
  ChildProcess child(shell("echo one; echo two; echo three >&2; exit 3"), said.listener());
  ASSERT_EQ(child.error(), "");
  while (!child.poll_exit()) {
    child.read_lines();
  }
  child.read_lines();
  EXPECT_EQ(*child.poll_exit(), 3);
  EXPECT_EQ(said.out, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(said.err, (std::vector<std::string>{"three"}));
}

TEST(ChildProcess, AStubbornChildIsKilledWhenPatienceEnds) {
  Said said;
  ChildProcess child(shell("trap '' TERM; echo ready; while :; do sleep 1; done"), said.listener());
  while (said.out.empty()) {
    child.read_lines();
  }
  EXPECT_EQ(child.end(50ms), 128 + 9);
}

TEST(ChildProcess, AProgramThatIsNotThereIsAnErrorWithItsName) {
  Said said;
  const ChildProcess child({.name = "x", .program = "/nowhere/program", .args = {}},
                           said.listener());
  EXPECT_NE(child.error().find("/nowhere/program"), std::string::npos);
}

TEST(HttpCall, NobodyListeningIsNothing) {
  EXPECT_FALSE(http_call(1, "GET", "/", "", 100ms).has_value());
}

}  // namespace
}  // namespace spillway::app
