#include <chrono>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/metric_families.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

TEST(MetricsPage, IsDocumentedNameByNameWithTypeAndLabels) {
  // A bid below the floor loses: loss codes appear with their first bid.
  FakeDsp dsp([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("0.1"))}; });
  ExchangeProcess exchange(
      fmt::format("dsps:\n  - {{ name: d, endpoint: \"http://127.0.0.1:{}/\" }}\n", dsp.port()));
  ASSERT_TRUE(exchange.started());
  EXPECT_EQ(exchange
                .bid_request(R"({"id":"r","tmax":300,"site":{"id":"s"},"imp":[{"id":"1",)"
                             R"("bidfloor":0.5,"banner":{"w":300,"h":250}}]})")
                .status(),
            204);
  const Families written = documented("spillway_exchange_");
  // What is watched of a DSP appears with the first tick after its first answer.
  Families seen;
  const auto deadline = Clock::now() + std::chrono::seconds(5);
  do {
    seen = exposed(exchange.admin().call("GET", "/metrics").body);
  } while (seen.size() < written.size() && Clock::now() < deadline);
  EXPECT_GT(seen.size(), 30U);
  expect_documented(seen, written);
}

}  // namespace
}  // namespace spillway::e2e
