#include "app/agent/agent_config.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/page_fixture.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"

namespace spillway::app::agent {
namespace {

std::string problems_of(std::string_view text) {
  std::vector<ConfigProblem> problems;
  (void)read_agent_config(text, problems);
  std::string out;
  for (const auto& problem : problems) {
    out += to_string(problem, "f") + "\n";
  }
  return out;
}

TEST(AgentConfig, NothingIsEnoughAndTheIdIsTheHostsName) {
  std::vector<ConfigProblem> problems;
  const auto config = read_agent_config("agent: {}\n", problems);
  EXPECT_EQ(problems.size(), 0U) << problems_of("agent: {}\n");
  EXPECT_FALSE(config.id.empty());
  EXPECT_EQ(config.view.stale_after, 3 * config.law.period);
}

TEST(AgentConfig, SaysEveryProblemByKeyAndLine) {
  const auto said = problems_of(
      "agent: { id: \"a b\", key: short, listen: nowhere }\n"
      "admin: { listen: \"0.0.0.0:9921\" }\n"
      "law: { period: 1s, kind: zone_mean_multiplicative, gain: 1.9 }\n"
      "cpu: { cgroup: web, source: cgroup }\n"
      "load: { url: \"ftp://x\", successes: [\"a{\"], timeout: 1s }\n"
      "peers: { listen: \"127.0.0.1:1\", list: [\"nobody\"] }\n"
      "registry: { kind: consul }\n"
      "spot: { url: \"http://h/path\" }\n"
      "drain: { wait: 1s, announce: 2s }\n"
      "zone_view: { stale_after: 1s }\n"
      "emf: { interval: 0s }\n"
      "pears: {}\n");
  for (const std::string_view part :
       {"f:1: agent.id: must be", "f:1: agent.key: must have 16 bytes",
        "f:1: agent.listen:", "f:2: admin.listen: must be a loopback address",
        "f:3: law.gain:", "f:4: cpu.cgroup:", "f:5: load.url:", "f:5: load.successes: must be NAME",
        "f:5: load.timeout:", "f:6: peers.list: must be HOST:PORT", "f:7: registry.host:",
        "f:7: registry.port:", "f:7: registry.url:", "f:8: spot.url:", "f:9: drain.announce:",
        "f:10: zone_view.stale_after:", "f:11: emf.interval:", "f:12: pears"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  }
}

TEST(AgentConfig, SamplesAreNeverSentUnsigned) {
  EXPECT_NE(problems_of("peers: { listen: \"127.0.0.1:1\", list: [] }\n").find("wants agent.key"),
            std::string::npos);
  EXPECT_NE(problems_of("redis: { primary: \"127.0.0.1:6379\" }\n").find("wants agent.key"),
            std::string::npos);
  EXPECT_EQ(problems_of("redis: { primary: \"127.0.0.1:6379\", samples: false }\n"), "");
}

TEST(AgentConfig, ARegistryInRedisWantsItsSection) {
  EXPECT_NE(problems_of("registry: { kind: redis, host: 10.0.0.1, port: 80 }\n")
                .find("registry.kind: wants the section redis"),
            std::string::npos);
}

TEST(AgentConfig, MetricsOfAPageMakeItAPage) {
  std::vector<ConfigProblem> problems;
  const auto config = read_agent_config(
      "load:\n"
      "  url: http://127.0.0.1:9100/metrics\n"
      "  successes: ['http_requests_total{code=\"200\"}']\n"
      "  failures: [http_errors_total]\n",
      problems);
  EXPECT_TRUE(problems.empty());
  ASSERT_TRUE(config.load && config.load->page);
  EXPECT_EQ(config.load->target, "/metrics");
  EXPECT_EQ(config.load->page->successes.size(), 1U);
  EXPECT_EQ(config.load->page->failures.size(), 1U);
}

// Every section there is, so that every key is asked for.
constexpr std::string_view kWhole = R"(
agent: { key: "0123456789abcdef" }
peers: { list: [] }
redis: { primary: "127.0.0.1:6379" }
)";

TEST(AgentPage, HasExactlyTheKeysThatAreReadWithTheirDefaults) {
  std::vector<ConfigProblem> problems;
  std::vector<AskedKey> asked;
  (void)read_agent_config(kWhole, problems, &asked);
  EXPECT_TRUE(problems.empty());
  EXPECT_GT(testing::compare_keys(testing::page("agent.md"), asked,
                                  {"none", "the host's name", "3 of law.period",
                                   "500ms, half of law.period at most"}),
            60U);
}

TEST(AgentPage, ShowsExamplesThatWork) {
  EXPECT_GE(testing::try_examples(testing::page("agent.md"), problems_of), 3U);
}

}  // namespace
}  // namespace spillway::app::agent
