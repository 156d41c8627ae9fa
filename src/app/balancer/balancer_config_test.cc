#include "app/balancer/balancer_config.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/page_fixture.h"
#include "app/config/reader.h"

namespace spillway::app::balancing {
namespace {

std::string problems_of(std::string_view text) {
  std::vector<ConfigProblem> problems;
  (void)read_balancer_config(text, problems);
  std::string out;
  for (const auto& problem : problems) {
    out += to_string(problem, "f") + "\n";
  }
  return out;
}

std::string with(std::string_view more) {
  return "balancer: { backend: ex }\nhaproxies: [{ name: a, socket: /run/a.sock }]\n" +
         std::string(more);
}

TEST(BalancerConfig, TheLeastIsABackendAndAHaproxy) {
  EXPECT_EQ(problems_of(with("")), "");
  EXPECT_NE(problems_of("haproxies: [{ name: a, socket: /run/a.sock }]").find("balancer.backend"),
            std::string::npos);
  EXPECT_NE(problems_of("balancer: { backend: ex }").find("haproxies"), std::string::npos);
}

TEST(BalancerConfig, EveryMistakeNamesItsKey) {
  for (const auto& [text, key] : std::vector<std::pair<std::string, std::string>>{
           {"watchdog: { dead_after: 3 }", "watchdog.dead_after"},
           {"servers: { agent_send: \"\" }", "servers.agent_send"},
           {"servers: { agent_send: \"a;b\" }", "servers.agent_send"},
           {"servers: { options: \"proto h2; del server x/y\" }", "servers.options"},
           {"servers: { weight: 300 }", "servers.weight"},
           {"registry: { kind: consul }", "registry.url"},
           {"registry: { kind: etcd, url: \"http://h:1/x\" }", "registry.url"},
           {"registry: { kind: redis }", "registry.redis"},
           {"registry: { kind: static }", "registry.instances"},
           {"registry: { kind: static, instances: [{ id: \"a b\", host: 10.0.0.1, port: 1 }] }",
            "registry.instances[0]"},
           {"registry: { kind: zookeeper }", "registry.kind"},
           {"admin: { listen: \"0.0.0.0:1\" }", "admin.listen"},
           {"effect: { tolerance: 1 }", "effect.tolerance"}}) {
    EXPECT_NE(problems_of(with(text)).find(key), std::string::npos)
        << text << ": " << problems_of(with(text));
  }
  EXPECT_NE(problems_of("balancer: { backend: ex }\nhaproxies: [{ name: a, socket: h:1 }]")
                .find("haproxies[0].socket"),
            std::string::npos);
}

// Every list and mapping there is, so that every key is asked for.
constexpr std::string_view kWhole = R"(
balancer: { backend: ex }
haproxies: [{ name: a, socket: /run/a.sock }]
registry: { kind: static, instances: [{ id: a, host: 10.0.0.1, port: 80 }] }
)";

TEST(BalancerConfig, OfAFileThatIsNoYamlNothingElseIsSaid) {
  const std::string said = problems_of("a: [");
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  EXPECT_NE(said.find("is no YAML"), std::string::npos) << said;
}

TEST(BalancerPage, HasExactlyTheKeysThatAreReadWithTheirDefaults) {
  std::vector<ConfigProblem> problems;
  std::vector<AskedKey> asked;
  (void)read_balancer_config(kWhole, problems, &asked);
  EXPECT_TRUE(problems.empty());
  EXPECT_GT(testing::compare_keys(testing::page("balancer.md"), asked, {"required", "none"}), 20U);
}

TEST(BalancerPage, ShowsExamplesThatWork) {
  EXPECT_GE(testing::try_examples(testing::page("balancer.md"), problems_of), 3U);
}

}  // namespace
}  // namespace spillway::app::balancing
