#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "base/time.h"
#include "observe/admin.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::observe {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::parser;

constexpr base::Instant kStart{std::chrono::hours(1)};

TEST(CircuitsJson, AnEmptyRegistryIsAnEmptyList) {
  const resilience::Registry registry(1, 7);
  EXPECT_EQ(circuits_json(registry), "{\"circuits\":[],\"parents\":[]}\n");
}

TEST(CircuitsJson, ShowsEveryGuardInOrderOfKeyWithItsNumbers) {
  resilience::Registry registry(1, 7);
  registry.at("zeta/eu/display", {}, kStart);
  resilience::Guard& odd = registry.at("a\"b\\\x01/eu/video", {}, kStart);
  resilience::Guard& alpha = registry.at("alpha/eu/display", {}, kStart);
  std::vector<resilience::Transition> changes;
  odd.set_mode(kStart, resilience::Mode::kForcedOpen, base::kNever, "test", changes);
  EXPECT_FALSE(odd.admit(0, {.now = kStart, .offered = std::chrono::milliseconds(200)}));
  auto permit = alpha.admit(0, {.now = kStart, .offered = std::chrono::milliseconds(200)});
  ASSERT_TRUE(permit);
  permit->finish(kStart + std::chrono::milliseconds(9), resilience::Outcome::kOk);
  auto held = alpha.admit(0, {.now = kStart, .offered = std::chrono::milliseconds(200)});

  parser json;
  const std::string text = circuits_json(registry);
  array circuits;
  ASSERT_EQ(json.parse(text)["circuits"].get(circuits), simdjson::SUCCESS) << text;

  ASSERT_EQ(circuits.size(), 3U);
  const element first = circuits.at(0);
  EXPECT_EQ(std::string_view(first["key"]), "a\"b\\\x01/eu/video");
  EXPECT_EQ(std::string_view(first["mode"]), "forced_open");
  EXPECT_EQ(uint64_t(first["refused"]["520"]), 1U);
  const element second = circuits.at(1);
  EXPECT_EQ(std::string_view(second["key"]), "alpha/eu/display");
  EXPECT_EQ(std::string_view(second["state"]), "closed");
  EXPECT_EQ(std::string_view(second["mode"]), "enforce");
  EXPECT_EQ(double(second["admit_ratio"]), 1.0);
  EXPECT_EQ(int64_t(second["in_flight"]), 1);
  EXPECT_EQ(int64_t(second["limit"]), 512);
  EXPECT_EQ(uint64_t(second["admitted"]["normal"]), 2U);
  EXPECT_EQ(uint64_t(second["outcomes"]["ok"]), 1U);
  EXPECT_EQ(uint64_t(second["outcomes"]["timeout"]), 0U);
  EXPECT_EQ(std::string_view(circuits.at(2)["key"]), "zeta/eu/display");
  held->finish(kStart, resilience::Outcome::kNotSent);
}

TEST(CircuitsJson, ShowsDependenciesAndRegionsWithTheirOverrides) {
  resilience::Registry registry(1, 1);
  registry.at("dsp/eu/display", {}, base::Instant{});
  registry.at("dsp/eu/video", {}, base::Instant{});
  std::vector<resilience::Transition> log;
  ASSERT_TRUE(registry.set_mode("dsp", base::Instant{}, resilience::Mode::kForcedOpen, base::kNever,
                                "drill", log));
  const std::string json = circuits_json(registry);
  EXPECT_NE(json.find(R"("parents":[{"key":"dsp","state":"closed","override":"forced_open",)"
                      R"("leaves":2,"closed_leaves":0},{"key":"dsp/eu","state":"closed",)"
                      R"("override":"enforce","leaves":2,"closed_leaves":0}]})"),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace spillway::observe
