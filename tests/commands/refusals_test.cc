// Whoever asks for JSON gets JSON, also when the command cannot do what it was told.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/config/command_fixture.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::app {
namespace {

using openrtb::Document;

/// A command that must be refused. In `args`, DIR is an empty directory, PORT a port that is taken.
struct Refusal {
  std::string_view name;
  std::string_view part;
  std::string_view args;
  int status;
  std::string_view member;  ///< Of the JSON object: where the reason stands.
  std::string_view reason;  ///< A part of it.
  std::string_view file{};  ///< What DIR/file holds.
};

constexpr std::string_view kMissing = "No such file";

constexpr auto kRefusals = std::to_array<Refusal>({
    {"ExchangeWithoutFile", "exchange", "--config DIR/none", 1, "problems", kMissing},
    {"ExchangeWithBadKey", "exchange", "--config DIR/file", 1, "problems", "exchang",
     "exchang: { listen: 127.0.0.1:0 }\n"},
    {"ExchangeThatCannotListen", "exchange", "--config DIR/file", 1, "error", "PORT",
     "exchange: { listen: 127.0.0.1:PORT }\nadmin: { listen: 127.0.0.1:0 }\n"
     "dsps: [{ name: a, endpoint: \"http://127.0.0.1:9/bid\" }]\n"},
    {"BidderWithoutConfiguration", "bidder", "", 2, "error", "--config"},
    {"BidderWithoutFile", "bidder", "--config DIR/none", 1, "problems", kMissing},
    {"BidderDemoThatCannotWrite", "bidder", "--demo --demo-file DIR/none/demo", 1, "error",
     kMissing},
    {"BidderThatCannotListen", "bidder", "--demo --listen 127.0.0.1:PORT", 1, "error", "PORT"},
    {"AgentWithoutFile", "agent", "--config DIR/none", 1, "problems", kMissing},
    {"BalancerWithoutConfiguration", "balancer", "", 2, "error", "--config"},
    {"BalancerWithoutFile", "balancer", "--config DIR/none", 1, "problems", kMissing},
    {"BalancerStatusOfNoAddress", "balancer", "status --admin nowhere", 1, "error", "--admin"},
    {"BalancerStatusOfNobody", "balancer", "status --admin 127.0.0.1:1", 1, "error", "no balancer"},
    {"LintWithoutFile", "balancer", "lint DIR/none", 2, "error", kMissing},
    {"LintOfSomethingElse", "balancer", "lint DIR/file", 2, "error", "no section", "hello\n"},
    {"ReportWithoutSamples", "balance", "report --samples DIR/none", 1, "error", "cannot be read"},
    {"ReportOfAnEmptyFile", "balance", "report --samples DIR/file", 1, "error", "no samples", "\n"},
    {"ReportOfNoLaw", "balance", "report --samples DIR/none --law magic", 2, "error", "--law"},
    {"ReplayWithoutLog", "replay", "DIR/none", 1, "error", kMissing},
    {"ExplainWithoutLog", "explain", "DIR/none id", 1, "error", kMissing},
    {"ExplainOfNoSuchAuction", "explain", "DIR/file id", 1, "error", "no auction", ""},
    {"FarmWithoutFile", "dsp", "--config DIR/none", 1, "error", kMissing},
    {"FarmWithBadKey", "dsp", "--config DIR/file", 1, "problems", "dsp", "dsp: []\n"},
    {"FarmThatCannotListen", "dsp", "--config DIR/file", 1, "error", "PORT",
     "dsps: [{ name: a, listen: 127.0.0.1:PORT }]\n"},
    {"LoadOfNoAddress", "load", "--target nowhere", 2, "error", "--target"},
    {"LoadOfNoTime", "load", "--target http://127.0.0.1:1/ --duration long", 2, "error",
     "--duration"},
    {"LoadOfNoInterval", "load", "--target http://127.0.0.1:1/ --duration 10ms --every x", 2,
     "error", "--every"},
    {"LoadWithoutGates", "load", "--target http://127.0.0.1:1/ --gates DIR/none", 2, "error",
     kMissing},
    {"CapacityOfNoTime", "load", "capacity --target http://127.0.0.1:1/ --hold long", 2, "error",
     "--hold"},
    {"CompareWithoutRuns", "load", "compare DIR/none DIR/none", 2, "error", kMissing},
    {"StagesOfNoAddress", "stages", "nowhere", 2, "error", "address"},
    {"StagesOfNobody", "stages", "http://127.0.0.1:1", 1, "error", "127.0.0.1:1"},
    {"ModelWithoutFile", "model", "check DIR/none", 1, "why", kMissing},
    {"ModelOfNothing", "model", "convert DIR/none --name m", 1, "error", kMissing},
    {"ModelOfSomethingElse", "model", "convert DIR/file --name m", 1, "error", "DIR/file", "hello"},
    {"DemoWithoutPrograms", "demo", "--seconds 30", 2, "error", "spillway-"},
    {"CatalogWithoutPlace", "catalog", "check DIR/none", 3, "unreadable", "DIR/none"},
    {"MigrationOfNoPlace", "catalog", "migrate sqlite:DIR/none/catalog", 3, "error",
     "unable to open"},
    {"ScenarioWithoutFile", "scenario", "run DIR/none", 2, "error", kMissing},
    {"ScenarioWithBadKey", "scenario", "run DIR/file", 2, "problems", "nonsense", "nonsense: 1\n"},
    {"ComparisonWithoutFile", "scenario", "compare DIR/none", 2, "error", kMissing},
});

std::string filled(std::string_view text, std::string_view directory, std::string_view port) {
  std::string out(text);
  for (const auto& [word, value] :
       {std::pair{std::string_view("DIR"), directory}, std::pair{std::string_view("PORT"), port}}) {
    for (size_t at = 0; (at = out.find(word, at)) != std::string::npos; at += value.size()) {
      out.replace(at, word.size(), value);
    }
  }
  return out;
}

class Refusals : public ::testing::TestWithParam<Refusal> {
 protected:
  Refusals() {
    std::string name = ::testing::TempDir() + "refusals_XXXXXX";
    directory_ = ::mkdtemp(name.data());
    taken_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(taken_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(taken_, 1), 0);
    ::getsockname(taken_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = std::to_string(ntohs(address.sin_port));
  }

  ~Refusals() override {
    ::close(taken_);
    std::filesystem::remove_all(directory_);
  }

  [[nodiscard]] std::string filled(std::string_view text) const {
    return app::filled(text, directory_, port_);
  }

  std::string directory_;
  std::string port_;
  int taken_ = -1;
};

TEST_P(Refusals, AreJsonForWhoAskedForIt) {
  const Refusal& refusal = GetParam();
  std::ofstream(directory_ + "/file") << filled(refusal.file);
  std::string place = SPILLWAY_BINARY_DIR "/libexec";
  if (refusal.part == "demo") {  // where those that it starts are not
    std::filesystem::copy(place + "/spillway-demo", directory_);
    place = directory_;
  }
  const auto ended = testing::run_program(place, refusal.part, filled(refusal.args) + " --json",
                                          testing::Errors::kDropped);
  EXPECT_EQ(ended.status, refusal.status) << ended.out;
  EXPECT_EQ(std::ranges::count(ended.out, '\n'), 1) << ended.out;
  const openrtb::Padded text(ended.out);
  Document document;
  ASSERT_TRUE(document.walk(text.view())) << ended.out;
  const auto member = document.find(document.root(), refusal.member);
  ASSERT_NE(member, openrtb::kAbsent) << ended.out;
  EXPECT_NE(document.raw(member).find(filled(refusal.reason)), std::string::npos) << ended.out;
}

INSTANTIATE_TEST_SUITE_P(OfACommand, Refusals, ::testing::ValuesIn(kRefusals),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(RefusalTable, HasEveryCommandThatCanPrintJson) {
  size_t commands = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPILLWAY_BINARY_DIR "/libexec")) {
    constexpr std::string_view kPrefix = "spillway-";
    const std::string name = entry.path().filename();
    const std::string part = name.substr(kPrefix.size());
    if (part == "trace") {
      continue;  // What it prints is JSON Lines, with no option for it.
    }
    ++commands;
    EXPECT_TRUE(std::ranges::any_of(kRefusals, [&](const Refusal& refusal) {
      return refusal.part == part;
    })) << part;
  }
  EXPECT_GE(commands, 14U);
}

}  // namespace
}  // namespace spillway::app
