#include "app/dsp/farm_config.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/reader.h"
#include "workload/bidding.h"
#include "workload/fault.h"
#include "workload/latency.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> problems_of(std::string_view text) {
  std::vector<ConfigProblem> problems;
  (void)read_farm_config(text, problems);
  std::vector<std::string> lines;
  for (const auto& problem : problems) {
    lines.push_back(to_string(problem, "farm.yaml"));
  }
  return lines;
}

TEST(FarmConfig, ReadsEveryKeyOfADsp) {
  std::vector<ConfigProblem> problems;
  const FarmConfig config = read_farm_config(R"(
seed: 7
admin: { listen: "127.0.0.1:0" }
dsps:
  - name: alpha
    listen: 127.0.0.1:0
    latency: { kind: pareto, min: 5ms, alpha: 1.5, cap: 2s }
    bid_rate: 0.25
    notice_url: "http://127.0.0.1:9/alpha"
    price: { kind: lognormal, median: 1.2, sigma: 0.3, cap: 9 }
    nobid: nbr
    faults:
      - { kind: slow, from: 40s, to: 60s, share: 0.5, latency: { kind: constant, value: 400ms } }
      - { kind: "429", retry_after: 2s }
)",
                                             problems);
  for (const auto& problem : problems) {
    ADD_FAILURE() << to_string(problem, "farm.yaml");
  }
  ASSERT_EQ(config.dsps.size(), 1);
  const auto& partner = config.dsps[0].partner;
  EXPECT_EQ(config.seed, 7);
  EXPECT_EQ(partner.latency.kind, workload::Latency::Kind::kPareto);
  EXPECT_EQ(partner.latency.typical, 5ms);
  EXPECT_EQ(partner.latency.cap, 2s);
  EXPECT_EQ(partner.style.bid_ratio, 0.25);
  EXPECT_EQ(partner.style.price.low.micros, 1'200'000);
  EXPECT_EQ(partner.style.nobid, workload::NoBidSpelling::kNbr);
  ASSERT_EQ(partner.faults.size(), 2);
  EXPECT_EQ(partner.faults[0].from, 40s);
  EXPECT_EQ(partner.faults[0].latency->typical, 400ms);
  EXPECT_EQ(partner.faults[1].kind, workload::FaultKind::kOverload);
  EXPECT_EQ(partner.faults[1].retry_after, 2s);
}

TEST(FarmConfig, SaysEverythingThatIsWrongWithItsLine) {
  const auto problems = problems_of(R"(
dsps:
  - name: alpha
    bid_rat: 0.5
  - name: alpha
    bid_rate: 2
    notice_url: "ftp://x"
    faults:
      - { kind: sleepy }
      - { kind: slow }
)");
  std::string all;
  for (const auto& line : problems) {
    all += line + "\n";
  }
  EXPECT_NE(all.find("farm.yaml:4: dsps[0].bid_rat"), std::string::npos) << all;
  EXPECT_NE(all.find("dsps[1].bid_rate"), std::string::npos) << all;
  EXPECT_NE(all.find("dsps[1].notice_url"), std::string::npos) << all;
  EXPECT_NE(all.find("dsps[1].name: stands twice"), std::string::npos) << all;
  EXPECT_NE(all.find("dsps[1].faults[0].kind"), std::string::npos) << all;
  EXPECT_NE(all.find("a slow fault needs latency, added or added_to"), std::string::npos) << all;
}

TEST(FarmConfig, AFarmWithoutDspsIsAMistake) { EXPECT_FALSE(problems_of("seed: 1").empty()); }

TEST(FarmConfig, AFaultCallIsJson) {
  std::vector<ConfigProblem> problems;
  const auto call =
      read_fault_call(R"({"kind": "slow", "for": "20s", "added": "300ms"})", problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(call.fault.kind, workload::FaultKind::kSlow);
  EXPECT_EQ(call.fault.added, 300ms);
  EXPECT_EQ(call.lasting, 20s);
}

TEST(FarmConfig, AFaultCallWithoutAKindIsRefused) {
  std::vector<ConfigProblem> problems;
  (void)read_fault_call(R"({"for": "20s"})", problems);
  EXPECT_FALSE(problems.empty());
}

TEST(FarmConfig, AddressesAreLiteralsAndAFaultsHostIsOneOfThem) {
  EXPECT_TRUE(problems_of("dsps: [{ name: a, listen: 127.0.0.1:0, hosts: [127.0.0.2], "
                          "faults: [{ kind: hang, host: 127.0.0.2 }] }]")
                  .empty());
  EXPECT_FALSE(problems_of("dsps: [{ name: a, hosts: [127.0.0.1] }]").empty()) << "twice";
  EXPECT_FALSE(problems_of("dsps: [{ name: a, hosts: [localhost] }]").empty());
  EXPECT_FALSE(
      problems_of("dsps: [{ name: a, faults: [{ kind: hang, host: 127.0.0.9 }] }]").empty());
}

TEST(FarmConfig, AScriptThatCannotBeReadIsAMistakeOfItsKey) {
  const auto problems = problems_of("dsps:\n  - name: a\n    script: /nowhere/calls.ndjson\n");
  ASSERT_EQ(problems.size(), 1);
  EXPECT_TRUE(problems[0].starts_with("farm.yaml:3: dsps[0].script: ")) << problems[0];
}

}  // namespace
}  // namespace spillway::app
