// The program as it is run, beside a real HAProxy.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/haproxy_fixture.h"
#include "adapters/redis_fixture.h"
#include "net/test_kit.h"

namespace spillway::app::balancing {
namespace {

using adapters::testing::eventually;
using adapters::testing::HaproxyProcess;
using adapters::testing::Speaker;

constexpr const char* kProgram = SPILLWAY_BINARY_DIR "/libexec/spillway-balancer";

/// spillway-balancer with a configuration, ended with the test.
class Program {
 public:
  explicit Program(const std::string& config) {
    const std::string file = folder_.path() + "/balancer.yaml";
    write(config);
    int out[2] = {-1, -1};
    if (::pipe2(out, O_CLOEXEC) != 0) {
      return;
    }
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], 1);
      ::execl(kProgram, kProgram, "--config", file.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(out[1]);
    std::string line;
    char c = 0;
    while (TEMP_FAILURE_RETRY(::read(out[0], &c, 1)) == 1 && c != '\n') {
      line += c;
    }
    ::close(out[0]);
    if (const size_t colon = line.rfind(':'); colon != std::string::npos) {
      port_ = static_cast<uint16_t>(std::atoi(line.c_str() + colon + 1));
    }
  }

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  ~Program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  /// Another configuration, which it is not told of.
  void write(const std::string& config) const {
    std::ofstream(folder_.path() + "/balancer.yaml") << config;
  }

  void hang_up() const { ::kill(pid_, SIGHUP); }

  /// Its exit status after SIGTERM.
  int stop() {
    ::kill(pid_, SIGTERM);
    int status = -1;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  [[nodiscard]] std::string get(const std::string& path, std::string_view method = "GET") const {
    auto socket = net::testing::RawSocket::to(port_);
    socket.send(fmt::format("{} {} HTTP/1.0\r\nContent-Length: 0\r\n\r\n", method, path));
    return socket.receive_all();
  }

  [[nodiscard]] uint16_t port() const { return port_; }

 private:
  adapters::testing::ScratchFolder folder_;
  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

/// Standard output and exit status of a command.
std::pair<std::string, int> output_of(const std::string& command) {
  std::string out;
  FILE* const pipe = ::popen(command.c_str(), "r");
  char bytes[4096];
  size_t got = 0;
  while (pipe != nullptr && (got = std::fread(bytes, 1, sizeof bytes, pipe)) > 0) {
    out.append(bytes, got);
  }
  const int status = pipe == nullptr ? -1 : ::pclose(pipe);
  return {out, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

class BalancerProgram : public ::testing::Test {
 protected:
  BalancerProgram()
      : haproxy_(
            "\nlisten ex\n    bind FRONT\n    balance roundrobin\n    server fixed 127.0.0.1:1 "
            "weight 100\n") {}

  void SetUp() override {
    ASSERT_TRUE(haproxy_.running()) << "haproxy does not run: tools/setup check";
  }

  [[nodiscard]] std::string config(std::string_view more = {}) const {
    return fmt::format(
        "balancer: {{ backend: ex, interval: 200ms, log_level: error }}\n"
        "admin: {{ listen: \"127.0.0.1:0\" }}\n"
        "haproxies: [{{ name: h1, socket: {} }}]\n"
        "servers: {{ keep: [fixed], check_inter: 100ms, agent_inter: 200ms }}\n"
        "registry:\n  kind: static\n  instances:\n"
        "    - {{ id: i-1, host: 127.0.0.1, port: {}, agent_port: {} }}\n"
        "    - {{ id: i-2, host: 127.0.0.1, port: {}, agent_port: {} }}\n{}",
        haproxy_.socket(), backend_.port(), one_.port(), backend_.port(), two_.port(), more);
  }

  Speaker backend_{Speaker::Kind::kHttp};
  Speaker one_{Speaker::Kind::kAgent, "up 50%\n"};
  Speaker two_{Speaker::Kind::kAgent, "up 120%\n"};
  HaproxyProcess haproxy_;
};

TEST_F(BalancerProgram, PutsMembersInPlaceAndGivesADeadAgentsServerANeutralWeightWithinTenSeconds) {
  Program balancer(config());
  ASSERT_NE(balancer.port(), 0);
  ASSERT_TRUE(eventually([&] {
    return haproxy_.stat("i-1", "uweight") == "50" && haproxy_.stat("i-2", "uweight") == "120";
  }));
  EXPECT_TRUE(eventually([&] { return balancer.get("/readyz").contains("200 OK"); }));
  EXPECT_EQ(haproxy_.stat("fixed", "uweight"), "100");
  one_.stop();
  // With the default dead_after of 3 s: the promise is ten, from the kill on.
  EXPECT_TRUE(eventually([&] { return haproxy_.stat("i-1", "uweight") == "120"; },
                         std::chrono::seconds(10)));
  EXPECT_TRUE(balancer.get("/status").contains("\"agent_dead\":true"));
  EXPECT_EQ(balancer.stop(), 0);
  EXPECT_EQ(haproxy_.stat("i-1", "uweight"), "120");
}

TEST_F(BalancerProgram, OnceAndDryRunSayWhatTheyWouldDoAndDoNothing) {
  const adapters::testing::ScratchFolder folder;
  const std::string file = folder.path() + "/b.yaml";
  std::ofstream(file) << config();
  const std::string program = std::string(kProgram) + " --config " + file;
  const auto [dry, dry_status] = output_of(program + " --once --dry-run");
  EXPECT_EQ(dry_status, 0);
  EXPECT_TRUE(dry.contains("h1: 2 changes wanted\n  add i-1: ")) << dry;
  EXPECT_EQ(haproxy_.stat("i-1", "status"), "");
  const auto [json, json_status] = output_of(program + " --once --dry-run --json");
  EXPECT_EQ(json_status, 0);
  EXPECT_TRUE(json.contains(R"("wanted":[{"kind":"add","server":"i-1")")) << json;
  EXPECT_EQ(output_of(program + " --once").second, 0);
  EXPECT_NE(haproxy_.stat("i-1", "status"), "");
  EXPECT_EQ(output_of(program + " --check").second, 0);
  haproxy_.kill();
  EXPECT_EQ(output_of(program + " --once 2> /dev/null").second, 1);
}

TEST_F(BalancerProgram, SighupTakesAnotherConfigurationWholeAndKeepsTheOldOneWhenItIsBad) {
  const Program balancer(config());
  ASSERT_TRUE(eventually([&] { return haproxy_.stat("i-2", "uweight") == "120"; }));
  std::string other = config();
  other.replace(other.find("id: i-2"), 7, "id: i-3");
  std::string bad = other;
  bad.replace(bad.find("agent_inter: 200ms"), 18, "agent_inter: soon");
  balancer.write(bad);
  balancer.hang_up();
  EXPECT_TRUE(eventually(
      [&] { return balancer.get("/metrics").contains("reloads_total{end=\"refused\"} 1"); }));
  const auto said = balancer.get("/admin/reload", "POST");
  EXPECT_TRUE(said.contains("422")) << said;
  EXPECT_TRUE(said.contains("balancer.yaml:4: servers.agent_inter: ")) << said;
  EXPECT_NE(haproxy_.stat("i-2", "status"), "");
  EXPECT_EQ(haproxy_.stat("i-3", "status"), "");

  balancer.write(other);
  balancer.hang_up();
  EXPECT_TRUE(eventually([&] {
    return haproxy_.stat("i-3", "uweight") == "120" && haproxy_.stat("i-2", "status").empty();
  }));
  EXPECT_EQ(haproxy_.stat("i-1", "uweight"), "50");
  EXPECT_TRUE(balancer.get("/metrics").contains("reloads_total{end=\"done\"} 1"));

  std::string moved = other;
  moved.replace(moved.find("127.0.0.1:0"), 11, "127.0.0.1:1");
  balancer.write(moved);
  EXPECT_TRUE(balancer.get("/admin/reload", "POST").contains("admin.listen: wants a restart"));
}

TEST_F(BalancerProgram, AnAddressOfTheCommandLineIsUnderTheRulesOfTheConfigurations) {
  const adapters::testing::ScratchFolder folder;
  const std::string file = folder.path() + "/balancer.yaml";
  std::ofstream(file) << config();
  const std::string check = fmt::format("{} --check --config {} ", kProgram, file);
  const auto [open, refused] = output_of(check + "--admin-listen 0.0.0.0:9931 2>&1");
  EXPECT_EQ(refused, 1);
  EXPECT_NE(open.find("--admin-listen: must be a loopback address"), std::string::npos) << open;
  EXPECT_EQ(output_of(check + "--admin-listen '[::1]:9931'").second, 0);
}

TEST_F(BalancerProgram, StatusPrintsATableOfWhatTheRunningOneSees) {
  Program balancer(config());
  ASSERT_TRUE(eventually([&] { return haproxy_.stat("i-2", "uweight") == "120"; }));
  ASSERT_TRUE(eventually([&] { return balancer.get("/status").contains("\"weight\":120"); }));
  const std::string program =
      fmt::format("{} status --admin 127.0.0.1:{}", kProgram, balancer.port());
  const auto [table, status] = output_of(program);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(table.contains("backend ex  ready true")) << table;
  EXPECT_TRUE(table.contains("registry static  members 2")) << table;
  EXPECT_TRUE(std::regex_search(table, std::regex("\n  i-2 +127\\.0\\.0\\.1:\\d+ +\\S+ .*120 ")))
      << table;
  EXPECT_TRUE(output_of(program + " --json").first.starts_with("{\"backend\":\"ex\""));
  EXPECT_EQ(output_of(std::string(kProgram) + " status --admin 127.0.0.1:1 2> /dev/null").second,
            1);
}

TEST_F(BalancerProgram, StatusIsReadAndAnyOtherMethodIsToldSo) {
  const Program balancer(config());
  ASSERT_NE(balancer.port(), 0);
  for (const std::string_view method : {"POST", "PUT", "DELETE"}) {
    const std::string answer = balancer.get("/status", method);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 ")) << answer;
    EXPECT_TRUE(answer.contains("\r\nAllow: GET, HEAD\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nmethod: must be GET, HEAD\n")) << answer;
  }
  const std::string head = balancer.get("/status", "HEAD");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST_F(BalancerProgram, ItsMetricsAreThoseOfThePageNameByNameWithTypeAndLabels) {
  const Program balancer(config());
  ASSERT_TRUE(eventually([&] { return balancer.get("/readyz").contains("200 OK"); }));
  const std::string page = balancer.get("/metrics");
  std::set<std::string> seen;
  const std::regex type("# TYPE (spillway_\\S+) (\\w+)");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), type); it != std::sregex_iterator();
       ++it) {
    std::smatch sample;
    const std::string name = (*it)[1];
    ASSERT_TRUE(std::regex_search(page, sample, std::regex("\n" + name + "(\\{(.*)\\})? ")));
    std::string labels;
    const std::string written = sample[2];
    const std::regex label("([a-z_]+)=\"");
    for (auto at = std::sregex_iterator(written.begin(), written.end(), label);
         at != std::sregex_iterator(); ++at) {
      labels += (labels.empty() ? "" : ", ") + (*at)[1].str();
    }
    seen.insert(fmt::format("{} {} {}", name, (*it)[2].str(), labels.empty() ? "–" : labels));
  }
  std::ifstream file(SPILLWAY_SOURCE_DIR "/docs/metrics.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> documented;
  const std::regex row(R"(\n\| `(spillway_balancer_\w+)` \| (\w+) \| ([^|]+) \|)");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), row); it != std::sregex_iterator();
       ++it) {
    documented.insert(fmt::format("{} {} {}", (*it)[1].str(), (*it)[2].str(), (*it)[3].str()));
  }
  EXPECT_EQ(seen, documented);
  EXPECT_GT(seen.size(), 20U);
}

}  // namespace
}  // namespace spillway::app::balancing
