#include "workload/script.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;
using Does = ScriptedCall::Does;

TEST(Script, ReadsACallALineAndBeginsAgainAfterTheLast) {
  auto script = Script::parse(
      "{\"ms\": 23.4, \"does\": "
      "\"bid\"}\n\n{\"ms\":0,\"does\":\"hang\"}\r\n{\"ms\":5,\"does\":502}");
  ASSERT_TRUE(script.has_value()) << script.error();
  ASSERT_EQ(script->size(), 3);
  EXPECT_EQ(script->next().delay, 23400us);
  EXPECT_EQ(script->next().does, Does::kHang);
  const ScriptedCall third = script->next();
  EXPECT_EQ(third.does, Does::kStatus);
  EXPECT_EQ(third.status, 502);
  EXPECT_EQ(script->next().does, Does::kBid);
}

TEST(Script, SaysWhichLineIsWrong) {
  for (const char* line :
       {"{}", "no", R"({"ms":-1,"does":"bid"})", R"({"ms":1})", R"({"ms":1,"does":"sulk"})",
        R"({"ms":1,"does":404})", R"({"ms":60001,"does":"bid"})", R"({"ms":"1","does":"bid"})"}) {
    const auto script = Script::parse(std::string("{\"ms\":1,\"does\":\"bid\"}\n") + line);
    ASSERT_FALSE(script.has_value()) << line;
    EXPECT_TRUE(script.error().starts_with("line 2: ")) << script.error();
  }
  EXPECT_FALSE(Script::parse("\n").has_value());
}

}  // namespace
}  // namespace spillway::workload
