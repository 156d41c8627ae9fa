#include "app/balancer/lint.h"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "adapters/redis_fixture.h"
#include "app/balancer/haproxy_file.h"

namespace spillway::app::balancing {
namespace {

constexpr std::string_view kClean = R"(global
    stats socket /run/haproxy.sock mode 660 level admin expose-fd listeners
defaults
    mode http
    timeout connect 1s
    timeout client 30s
    timeout server 30s
    timeout check 800ms
    option redispatch 1
    retries 2
    default-server weight 100 check inter 1s fall 2 rise 1 slowstart 10s agent-check agent-inter 500ms agent-send "agent/1\n"
resolvers dns
    nameserver d1 127.0.0.1:8600
    accepted_payload_size 8192
    hold obsolete 10s
    hold timeout 600s
    hold refused 600s
    hold other 600s
listen ex
    bind 127.0.0.1:28015
    balance roundrobin
    server b1 127.0.0.1:28301 agent-port 28401
    server b2 127.0.0.1:28302 agent-port 28402
backend srv
    balance roundrobin
    server-template s 20 _ex._tcp.service.consul resolvers dns resolve-opts allow-dup-ip,ignore-weight init-addr none agent-port 9100
)";

/// "rule:line", each once, in order.
std::string found(std::string_view text) {
  std::string out;
  for (const Finding& one : lint(HaproxyFile(text))) {
    out += (out.empty() ? "" : " ") + one.rule + ":" + std::to_string(one.line);
    EXPECT_FALSE(one.what.empty() || one.why.empty() || one.fix.empty()) << one.rule;
  }
  return out;
}

/// The clean file with one thing replaced.
std::string seeded(std::string_view from, std::string_view to) {
  std::string text(kClean);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Lint, FindsNothingInACleanFile) { EXPECT_EQ(found(kClean), ""); }

TEST(Lint, FindsEachSeededMistakeAtItsLineAndNothingElse) {
  struct Seed {
    const char* from;
    const char* to;
    const char* findings;
  };

  const std::vector<Seed> seeds{
      {"default-server weight 100", "default-server",
       "agent-weight:22 agent-weight:23 agent-weight:26"},
      {"agent-port 28401", "agent-port 28401 weight 10", "agent-weight:22"},
      {"agent-port 28401", "agent-port 28401 weight 256", "agent-weight:22"},
      {"agent-port 28402", "", "agent-port:23"},
      {" agent-send \"agent/1\\n\"", "", "agent-send:22 agent-send:23 agent-send:26"},
      {"weight 100 check", "weight 100", "health-check:22 health-check:23 health-check:26"},
      {"agent-inter 500ms", "agent-inter 10s", "agent-inter:22 agent-inter:23 agent-inter:26"},
      {"slowstart 10s", "slowstart 5m", "slowstart:22 slowstart:23 slowstart:26"},
      {"balance roundrobin\n    server b1", "balance leastconn\n    server b1", "algorithm:21"},
      {"balance roundrobin\n    server b1", "balance random(2)\n    server b1", "algorithm:21"},
      {"balance roundrobin\n    server b1", "balance first\n    server b1", "algorithm:21"},
      {"balance roundrobin\n    server b1", "balance static-rr\n    server b1", "algorithm:21"},
      {"balance roundrobin\n    server b1", "balance uri\n    server b1", "algorithm:21"},
      {",ignore-weight", "", "ignore-weight:26"},
      {"allow-dup-ip,", "", "allow-dup-ip:26"},
      {"init-addr none ", "", "init-addr:26"},
      {"hold timeout 600s", "hold timeout 2s", "hold-timeout:16"},
      {"    hold refused 600s\n", "", "hold-refused:12"},
      {"hold obsolete 10s", "hold obsolete 0", "hold-obsolete:15"},
      {"    accepted_payload_size 8192\n", "", "payload-size:12"},
      {"    option redispatch 1\n", "", "redispatch:18 redispatch:23"},
      {"option redispatch 1", "no option redispatch", "redispatch:19 redispatch:24"},
      {"retries 2", "retries 0", "retries:10"},
      {"    timeout check 800ms\n", "", "timeout-check:18 timeout-check:23"},
      {"mode http", "mode tcp", "tcp-mode:4"},
      {"    mode http\n", "", "tcp-mode:18 tcp-mode:23"},
      {"balance roundrobin\n    server b1",
       "balance roundrobin\n    cookie s insert\n    server b1", "sticky:22"},
      {"server b1 127.0.0.1:28301 agent-port 28401", "server b1 127.0.0.1:28301 no-agent-check",
       "agent-missing:22"},
      {"retries 2", "retries 2\n    retry-on 500 502\n    default-server observe layer7",
       "observe-retry:24 observe-retry:25 observe-retry:28"},
      {"agent-port 28401", "agent-port 28401 observe layer7 error-limit 10 on-error mark-down",
       "mark-down:22"},
      {"retries 2", "retries 2\n    load-server-state-from-file local", "server-state-file:11"},
      {" level admin", " level operator", "stats-socket:2"},
      {" expose-fd listeners", "", "expose-fd:2"},
      {"    stats socket /run/haproxy.sock mode 660 level admin expose-fd listeners\n", "",
       "stats-socket:1"},
  };
  std::set<std::string> rules;
  for (const Seed& seed : seeds) {
    EXPECT_EQ(found(seeded(seed.from, seed.to)), seed.findings) << seed.from << " -> " << seed.to;
    rules.insert(std::string(seed.findings).substr(0, std::string(seed.findings).find(':')));
  }
  EXPECT_GE(rules.size(), 20U);
}

TEST(Lint, ADynamicBackendThatCountsOnDefaultServerIsFound) {
  EXPECT_EQ(found("backend ex\n    default-server weight 100 check\n"), "dynamic-default-server:2");
}

TEST(Lint, SlotsWantTheirStateKeptOverAReload) {
  const auto with_address = [](const std::string& address) {
    return "backend ex\n    mode http\n    timeout check 1s\n    option redispatch\n"
           "    server-template srv 1-9 " +
           address + " disabled weight 100 check agent-check agent-port 1 agent-send x\n";
  };
  const std::string slots = with_address("slot.invalid:1 init-addr last,0.0.0.0");
  EXPECT_EQ(found(slots), "slots-state:5");
  EXPECT_EQ(found(slots + "    load-server-state-from-file none\n"), "slots-state:5");
  EXPECT_EQ(found(slots + "    load-server-state-from-file global\n"), "state-place:6");
  EXPECT_EQ(found("global\n    server-state-file /var/lib/haproxy/s\n" + slots +
                  "    load-server-state-from-file global\n"),
            "stats-socket:1");
  const std::string local = "    load-server-state-from-file local\n";
  EXPECT_EQ(found(slots + local), "");
  EXPECT_EQ(found(with_address("0.0.0.0:1 init-addr last,0.0.0.0") + local), "slots-address:5");
  EXPECT_EQ(found(with_address("slot.invalid:1") + local), "slots-address:5");
}

TEST(Lint, NamedDefaultsAreInheritedByTheirNameOnly) {
  constexpr std::string_view kText = R"(defaults a
    mode http
    timeout check 1s
    option redispatch
    default-server weight 100 check agent-check agent-send "x\n"
defaults b
    mode http
    timeout check 1s
    option redispatch
backend one from a
    server s 10.0.0.1:80 agent-port 1
backend two
    server s 10.0.0.1:80 agent-check agent-port 1
backend three from a
    server s 10.0.0.1:80 agent-port 1 weight 1
)";
  EXPECT_EQ(found(kText), "agent-send:13 agent-weight:13 health-check:13 agent-weight:15");
}

TEST(Lint, QuotesCommentsAndEscapesAreReadAsHaproxyDoes) {
  EXPECT_EQ(found("backend ex # a comment\n"
                  "    mode http # agent-check\n"
                  "    timeout check 1s\n"
                  "    server \"a b\" 10.0.0.1:80 check agent-check agent-port 1 weight 100 "
                  "agent-send 'x # y'\n"
                  "    server c\\ d 10.0.0.1:81 check agent-check agent-port 1 weight '100' "
                  "agent-send \"x\\\"y\"\n"
                  "    option redispatch\n"),
            "");
}

TEST(Lint, SectionsWithoutAgentsHaveTheirOwnMinds) {
  EXPECT_EQ(found("backend tcp\n    mode tcp\n    balance leastconn\n    option redispatch\n"
                  "    server a 10.0.0.1:80 check\n    server b 10.0.0.2:80 check\n"),
            "");
}

TEST(Lint, NeverTripsOverText) {
  for (const std::string& text :
       {std::string(), std::string("server"), std::string("backend"),
        std::string("backend x\nserver"),
        std::string("backend x\nserver a\nbalance\nretries\nmode\nserver-template a 1\n"),
        std::string("listen x from\n\"unterminated\n\\"), std::string("defaults x from x\n"),
        std::string(
            "resolvers d\nhold\nhold timeout\nbackend x\nserver-template a 1 _x resolvers d\n"),
        std::string(10'000, '"')}) {
    (void)lint(HaproxyFile(text));
  }
}

TEST(Lint, TextAndJsonNameFileAndLine) {
  const auto findings = lint(HaproxyFile(seeded("retries 2", "retries 0")));
  EXPECT_TRUE(
      lint_text(findings, "h.cfg").starts_with("h.cfg:10: retries: retries 0 (listen ex)\n"));
  EXPECT_TRUE(
      lint_json(findings, "h.cfg")
          .starts_with("{\"file\":\"h.cfg\",\"findings\":[{\"line\":10,\"rule\":\"retries\""));
  EXPECT_EQ(lint_text({}, "h.cfg"), "h.cfg: no findings\n");
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Lint, EveryRuleIsOnThePage) {
  const std::string page = read(SPILLWAY_SOURCE_DIR "/docs/balancer.md");
  for (const char* file : {"lint_servers.cc", "lint_backends.cc"}) {
    const std::string code = read(std::string(SPILLWAY_SOURCE_DIR "/src/app/balancer/") + file);
    size_t rules = 0;
    for (size_t at = code.find("out.add("); at != std::string::npos;
         at = code.find("out.add(", at + 1)) {
      const size_t begin = code.find('"', at) + 1;
      const std::string rule = code.substr(begin, code.find('"', begin) - begin);
      if (rule.starts_with("hold-{}")) {
        continue;
      }
      ++rules;
      EXPECT_NE(page.find("| `" + rule + "` |"), std::string::npos) << rule;
    }
    EXPECT_GT(rules, 5U);
  }
}

int exit_of(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(LintCommand, EndsWithWhatItFound) {
  const adapters::testing::ScratchFolder folder;
  const std::string program = SPILLWAY_BINARY_DIR "/libexec/spillway-balancer lint ";
  std::ofstream(folder.path() + "/clean.cfg") << kClean;
  std::ofstream(folder.path() + "/bad.cfg") << seeded("retries 2", "retries 0");
  std::ofstream(folder.path() + "/none.cfg") << "hello\n";
  const std::string quiet = " > /dev/null 2>&1";
  EXPECT_EQ(exit_of(program + folder.path() + "/clean.cfg" + quiet), 0);
  EXPECT_EQ(exit_of(program + folder.path() + "/bad.cfg" + quiet), 1);
  EXPECT_EQ(exit_of(program + folder.path() + "/bad.cfg --json" + quiet), 1);
  EXPECT_EQ(exit_of(program + folder.path() + "/none.cfg" + quiet), 2);
  EXPECT_EQ(exit_of(program + folder.path() + "/absent.cfg" + quiet), 2);
}

TEST(Deploy, EveryConfigurationPassesHaproxyAndTheLint) {
  const adapters::testing::ScratchFolder folder;
  const std::string pem = folder.path() + "/site.pem";
  const bool have_both =
      exit_of("PATH=$PATH:/usr/sbin haproxy -v > /dev/null 2>&1") == 0 &&
      exit_of("openssl req -x509 -newkey rsa:2048 -nodes -keyout " + folder.path() + "/k -out " +
              folder.path() + "/c -subj /CN=site -days 2 > /dev/null 2>&1 && cat " + folder.path() +
              "/k " + folder.path() + "/c > " + pem) == 0;
  ASSERT_TRUE(have_both) << "wants haproxy and openssl: tools/setup check";
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SPILLWAY_SOURCE_DIR "/deploy/haproxy")) {
    if (entry.path().extension() != ".cfg") {
      continue;
    }
    ++files;
    std::string text = read(entry.path());
    EXPECT_EQ(found(text), "") << entry.path();
    constexpr std::string_view kPem = "/etc/haproxy/certs/site.pem";
    if (const size_t at = text.find(kPem); at != std::string::npos) {
      text.replace(at, kPem.size(), pem);
    }
    const std::string copy = folder.path() + "/haproxy.cfg";
    std::ofstream(copy) << text;
    EXPECT_EQ(exit_of("PATH=$PATH:/usr/sbin haproxy -c -f " + copy + " > /dev/null 2>&1"), 0)
        << entry.path();
  }
  EXPECT_GE(files, 8U);
}

}  // namespace
}  // namespace spillway::app::balancing
