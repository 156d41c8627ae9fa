#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/sockets.h"

// One DSP behind four addresses, of which one goes bad.

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRequest =
    R"({"id":"req-1","tmax":300,"imp":[{"id":"1","bidfloor":0.5,"banner":{"w":300,"h":250}}],)"
    R"("site":{"id":"s"}})";
constexpr std::string_view kLabels = R"({dsp="d",region="default",path="display")";
constexpr size_t kHosts = 4;

FakeDsp::Answer no_bid(const Message& /*request*/) {
  return {.bytes = "HTTP/1.1 204 No Content\r\n\r\n"};
}

FakeDsp::Answer broken(const Message& /*request*/) {
  return {.bytes = "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"};
}

class FourHosts : public testing::Test {
 protected:
  void SetUp() override {
    for (int tries = 0; tries < 20 && hosts_.size() < kHosts; ++tries) {
      listen_everywhere();
    }
    ASSERT_EQ(hosts_.size(), kHosts) << "no port is free on all four addresses";
    exchange_ = std::make_unique<ExchangeProcess>(
        fmt::format("accounts:\n  - {{ response_margin: 40ms }}\n"
                    "guards:\n"
                    "  hosts: {{ interval: 1s, volume: 10, eject_min: 2s, warm: 500ms }}\n"
                    "dsps:\n"
                    "  - name: d\n"
                    "    max_connections: 16\n"
                    "    endpoints:\n"
                    "      - url: \"http://dsp.example:{}/\"\n"
                    "        addresses: [127.0.0.1, 127.0.0.2, 127.0.0.3, 127.0.0.4]\n",
                    hosts_[0]->port()));
    ASSERT_TRUE(exchange_->started());
    for (int i = 0; i < 6; ++i) {
      callers_.emplace_back([this, caller = exchange_->auction()] {
        while (!ending_) {
          (void)caller.post("/openrtb2/auction", kRequest);
        }
      });
    }
    ASSERT_TRUE(until([this] { return calls() >= 400; }));
    epoch_ = circuit_part("\"epoch\":");
  }

  void TearDown() override {
    ending_ = true;
    for (auto& caller : callers_) {
      caller.join();
    }
  }

  void listen_everywhere() {
    hosts_.clear();
    hosts_.push_back(std::make_unique<FakeDsp>(no_bid));
    for (size_t i = 1; i < kHosts; ++i) {
      auto next =
          std::make_unique<FakeDsp>(no_bid, fmt::format("127.0.0.{}", i + 1), hosts_[0]->port());
      if (next->port() == 0) {
        return;
      }
      hosts_.push_back(std::move(next));
    }
  }

  [[nodiscard]] static bool until(const std::function<bool()>& holds) {
    const auto end = Clock::now() + 20s;
    while (!holds() && Clock::now() < end) {
      std::this_thread::yield();
    }
    return holds();
  }

  [[nodiscard]] uint64_t calls() const {
    uint64_t sum = 0;
    for (const auto& host : hosts_) {
      sum += host->calls();
    }
    return sum;
  }

  [[nodiscard]] size_t busiest() const {
    const auto found =
        std::ranges::max_element(hosts_, {}, [](const auto& host) { return host->calls(); });
    return static_cast<size_t>(found - hosts_.begin());
  }

  [[nodiscard]] std::string address(size_t host) const {
    return fmt::format("127.0.0.{}:{}", host + 1, hosts_[host]->port());
  }

  [[nodiscard]] std::string circuits() const {
    return exchange_->admin().call("GET", "/admin/circuits").body;
  }

  /// What follows `key` in /admin/circuits, up to the comma.
  [[nodiscard]] std::string circuit_part(std::string_view key) const {
    const std::string text = circuits();
    const size_t at = text.find(key);
    return at == std::string::npos ? "" : text.substr(at, text.find(',', at) - at);
  }

  [[nodiscard]] double metric(std::string_view name, std::string_view more = "}") const {
    return exchange_->metrics()[fmt::format("spillway_exchange_{}{}{}", name, kLabels, more)];
  }

  /// The share of the next 500 calls that `host` gets.
  [[nodiscard]] double share(size_t host) const {
    const uint64_t all = calls();
    const uint64_t its = hosts_[host]->calls();
    EXPECT_TRUE(until([&] { return calls() >= all + 500; }));
    return static_cast<double>(hosts_[host]->calls() - its) / static_cast<double>(calls() - all);
  }

  void expect_left_out_and_back(size_t host, const std::string& rule) {
    const std::string its_host = "host=" + address(host);
    const auto ejected = exchange_->wait_for_event({"event=host_ejected", its_host, rule}, 20s);
    ASSERT_NE(ejected, "") << circuits();
    EXPECT_NE(ejected.find("key=d/default/display"), std::string::npos) << ejected;
    EXPECT_LT(share(host), 0.05);
    EXPECT_EQ(metric("dsp_hosts"), 4);
    EXPECT_EQ(metric("dsp_hosts_ejected"), 1);
    EXPECT_GE(metric("dsp_host_ejections_total", fmt::format(",{}\"}}", labelled(rule))), 1);
    const std::string shown = circuits();
    EXPECT_NE(shown.find(fmt::format(R"("address":"{}","ejected":true)", address(host))),
              std::string::npos)
        << shown;

    hosts_[host]->set_script(no_bid);
    ASSERT_NE(exchange_->wait_for_event({"event=host_returned", its_host}, 20s), "");
    const uint64_t before = hosts_[host]->calls();
    EXPECT_TRUE(until([&] { return hosts_[host]->calls() >= before + 100; })) << circuits();
    EXPECT_EQ(circuit_part("\"state\":"), "\"state\":\"closed\"");
    EXPECT_EQ(circuit_part("\"epoch\":"), epoch_) << "the circuit moved";
    EXPECT_EQ(exchange_->metrics()["spillway_exchange_deadline_misses_total"], 0);
  }

  static std::string labelled(const std::string& rule) {
    return "rule=\"" + rule.substr(rule.find('=') + 1);
  }

  std::vector<std::unique_ptr<FakeDsp>> hosts_;
  std::unique_ptr<ExchangeProcess> exchange_;
  std::vector<std::thread> callers_;
  std::atomic<bool> ending_{false};
  std::string epoch_;
};

TEST_F(FourHosts, OneThatBreaksLosesItsCallsAndComesBackWhenItIsWell) {
  const size_t bad = busiest();
  hosts_[bad]->set_script(broken);
  expect_left_out_and_back(bad, "rule=consecutive_5xx");
}

TEST_F(FourHosts, OneThatIsSlowLosesItsCallsAndComesBackWhenItIsWell) {
  const size_t bad = busiest();
  hosts_[bad]->set_script([](const Message& request) {
    FakeDsp::Answer answer = no_bid(request);
    answer.after = 80ms;
    return answer;
  });
  expect_left_out_and_back(bad, "rule=latency");
}

}  // namespace
}  // namespace spillway::e2e
