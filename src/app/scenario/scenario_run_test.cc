#include "app/scenario/scenario_run.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "app/demo/child_process.h"

// The real command, from outside: what it starts, it ends.

namespace spillway::app {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 30s;

std::set<pid_t> children_of(pid_t pid) {
  std::set<pid_t> children;
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  for (pid_t child = 0; file >> child;) {
    children.insert(child);
  }
  return children;
}

class ScenarioCommand : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    ::setenv("TMPDIR", folder_.c_str(), 1);
  }

  void TearDown() override {
    ::unsetenv("TMPDIR");
    std::filesystem::remove_all(folder_);
  }

  ChildProcess start(std::vector<std::string> args) {
    return {
        {.name = "scenario",
         .program = SPILLWAY_BINARY_DIR "/libexec/spillway-scenario",
         .args = std::move(args)},
        [this](ChildProcess::Output, std::string_view line) { said_ += std::string(line) + "\n"; }};
  }

  int status_of(std::vector<std::string> args) {
    ChildProcess command = start(std::move(args));
    const auto until = Clock::now() + kPatience;
    while (!command.poll_exit() && Clock::now() < until) {
      ::poll(nullptr, 0, 5);
      command.read_lines();
    }
    command.read_lines();
    return command.poll_exit().value_or(-1);
  }

  std::string folder_ = "/tmp/spillway-scenario-test-XXXXXX";
  std::string said_;
};

TEST_F(ScenarioCommand, EndsAndRemovesWhatItStartedWhenItIsInterrupted) {
  std::set<pid_t> children;
  ChildProcess command = start({"run", SPILLWAY_SOURCE_DIR "/scenarios/steady.yaml"});
  ASSERT_EQ(command.error(), "");
  const auto until = Clock::now() + kPatience;
  while (children.size() < 3 && Clock::now() < until && !command.poll_exit()) {
    ::poll(nullptr, 0, 5);
    command.read_lines();
    children.merge(children_of(command.pid()));
  }
  ASSERT_GE(children.size(), 3U) << "farm, exchange and load; it said:\n" << said_;
  EXPECT_FALSE(std::filesystem::is_empty(folder_));
  ::kill(command.pid(), SIGINT);
  while (!command.poll_exit() && Clock::now() < until) {
    ::poll(nullptr, 0, 5);
    command.read_lines();
  }
  EXPECT_EQ(command.poll_exit(), 130);
  for (const pid_t child : children) {
    EXPECT_NE(::kill(child, 0), 0) << "process " << child << " is still there";
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "its files are still there";
}

TEST_F(ScenarioCommand, SaysWhatIsWrongWithAFileAndRunsNothing) {
  const std::string path = folder_ + "/bad.yaml";
  std::ofstream(path) << "about: nothing\nexpekt: []\n";
  EXPECT_EQ(status_of({"run", path}), 2);
  EXPECT_NE(said_.find("bad.yaml:2: expekt: is an unknown key; \"expect\" is near"),
            std::string::npos)
      << said_;
  EXPECT_EQ(status_of({"run", folder_ + "/nowhere.yaml"}), 2);
  EXPECT_EQ(status_of({"sing"}), 2);
}

TEST_F(ScenarioCommand, AProgramThatDoesNotStartIsNoVerdict) {
  const std::string path = folder_ + "/taken.yaml";
  std::ofstream(path) << "about: nothing\n"
                         "farm: |\n  dsps: [{ name: a, listen: 127.0.0.1:0 }]\n"
                         "exchange: |\n"
                         "  exchange: { listen: 192.0.2.1:1 }\n"  // no address of this machine
                         "  admin: { listen: 127.0.0.1:0 }\n"
                         "  dsps: [{ name: a, endpoint: \"http://$a/\" }]\n";
  EXPECT_EQ(status_of({"run", path, "--json"}), 3);
  EXPECT_NE(said_.find(R"("ok":false,"why":"exchange ended at once)"), std::string::npos) << said_;
}

}  // namespace
}  // namespace spillway::app
