#include "observe/mode_order.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "resilience/guard.h"

namespace spillway::observe {
namespace {

std::string wrong_with(std::string_view body) {
  const auto order = parse_mode_order(body);
  return order ? "accepted" : order.error();
}

TEST(ModeOrder, ReadsModeDurationAndReason) {
  const auto order =
      parse_mode_order(R"({"mode":"forced_open","for":"10m","why":"partner asked \u263a"})");
  ASSERT_TRUE(order) << order.error();
  EXPECT_EQ(order->mode, resilience::Mode::kForcedOpen);
  EXPECT_EQ(order->lasting, std::chrono::minutes(10));
  EXPECT_EQ(order->why, "partner asked \u263a");
}

TEST(ModeOrder, LastsAnHourWhenItDoesNotSay) {
  const auto order = parse_mode_order(R"({"why":"x","mode":"shadow"})");
  ASSERT_TRUE(order) << order.error();
  EXPECT_EQ(order->mode, resilience::Mode::kShadow);
  EXPECT_EQ(order->lasting, std::chrono::hours(1));
}

TEST(ModeOrder, KnowsEveryMode) {
  for (const auto& [name, mode] : {std::pair{"enforce", resilience::Mode::kEnforce},
                                   {"shadow", resilience::Mode::kShadow},
                                   {"disabled", resilience::Mode::kDisabled},
                                   {"forced_open", resilience::Mode::kForcedOpen}}) {
    const auto order = parse_mode_order(std::string(R"({"why":"x","mode":")") + name + "\"}");
    ASSERT_TRUE(order) << order.error();
    EXPECT_EQ(order->mode, mode);
  }
}

TEST(ModeOrder, NamesTheFieldThatIsWrong) {
  EXPECT_TRUE(wrong_with("").starts_with("body: must be JSON: "));
  EXPECT_TRUE(wrong_with(R"({"mode":"shadow","why":"x")").starts_with("body: must be JSON: "));
  EXPECT_TRUE(wrong_with(R"({"mode":"shadow","why":"x"} {})").starts_with("body: must be JSON: "));
  EXPECT_TRUE(
      wrong_with("{\"mode\":\"shadow\",\"why\":\"\xff\"}").starts_with("body: must be JSON"));
  EXPECT_TRUE(wrong_with("[1]").starts_with("body: must be a JSON object"));
  EXPECT_EQ(wrong_with(R"({"why":"x"})"), "mode: is required");
  EXPECT_EQ(wrong_with(R"({"mode":"shadow"})"), "why: is required");
  EXPECT_EQ(wrong_with(R"({"mode":"open","why":"x"})"),
            "mode: must be one of enforce, shadow, disabled, forced_open; is \"\\\"open\\\"\"");
  EXPECT_TRUE(wrong_with(R"({"mode":3,"why":"x"})").ends_with("forced_open; is 3"));
  EXPECT_EQ(wrong_with(R"({"mode":"shadow","mode":"shadow","why":"x"})"), "mode: is given twice");
  EXPECT_TRUE(wrong_with(R"({"mode":"shadow","why":""})").starts_with("why: must be text"));
  EXPECT_TRUE(wrong_with(R"({"mode":"shadow","why":7})").starts_with("why: must be text"));
  EXPECT_TRUE(wrong_with(R"({"mode":"shadow","why":"x","ttl":1})").starts_with("ttl: unknown"));
  EXPECT_TRUE(wrong_with("{\"mode\":\"shadow\",\"why\":\"" + std::string(201, 'w') + "\"}")
                  .starts_with("why: must be text of 1 to 200 bytes"));
  EXPECT_TRUE(wrong_with(std::string(5000, ' ')).starts_with("body: must be at most"));
}

TEST(ModeOrder, RefusesDurationsWithoutUnitOrOutOfRange) {
  for (const char* bad : {"\"10\"", "\"ten\"", "\"-1m\"", "\"0s\"", "\"999ms\"", "\"31d\"", "10",
                          "\"1.5h\"", "\"10 m\"", "null", "\"99999999999h\""}) {
    const std::string body = R"({"mode":"shadow","why":"x","for":)" + std::string(bad) + "}";
    EXPECT_TRUE(wrong_with(body).starts_with("for: must be a duration")) << bad;
  }
}

TEST(ModeOrder, ParsesDurationsInEveryUnit) {
  using std::chrono::hours;
  EXPECT_EQ(parse_duration("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(parse_duration("30s"), std::chrono::seconds(30));
  EXPECT_EQ(parse_duration("10m"), std::chrono::minutes(10));
  EXPECT_EQ(parse_duration("1h"), hours(1));
  EXPECT_EQ(parse_duration("7d"), hours(7 * 24));
  EXPECT_EQ(parse_duration("1000d"), hours(24'000));
  EXPECT_FALSE(parse_duration("1001d"));
  EXPECT_FALSE(parse_duration("m"));
  EXPECT_FALSE(parse_duration(""));
  EXPECT_FALSE(parse_duration("1mm"));
}

}  // namespace
}  // namespace spillway::observe
