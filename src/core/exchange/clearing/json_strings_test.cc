#include "exchange/clearing/json_strings.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace spillway::exchange::clearing {
namespace {

/// "object.key=raw" for each string, then how it ended.
std::string strings_of(std::string_view json) {
  JsonStrings strings(json);
  JsonString text;
  std::string out;
  JsonWalk walk = JsonWalk::kFound;
  while ((walk = strings.next(text)) == JsonWalk::kFound) {
    out +=
        std::string(text.object) + "." + std::string(text.key) + "=" + std::string(text.raw) + " ";
  }
  return out + (walk == JsonWalk::kNone ? "end" : "broken");
}

TEST(JsonStringsTest, AStringIsNamedByItsMemberAndTheObjectAroundIt) {
  EXPECT_EQ(strings_of(R"({"a":"1","b":{"c":"2","d":["3",{"e":"4"},"5"],"f":6},"g":"7"})"),
            ".a=1 b.c=2 b.d=3 d.e=4 b.d=5 .g=7 end");
  EXPECT_EQ(strings_of(R"(["x",["y"]])"), ".=x .=y end");
  EXPECT_EQ(strings_of(R"({"a\"b":"c\\","d":true,"e":"\"f"})"), R"(.a\"b=c\\ .e=\"f end)");
  EXPECT_EQ(strings_of(""), "end");
}

TEST(JsonStringsTest, WhatIsNoJsonBreaksOff) {
  for (const std::string_view text : {"{", "}", "[}", R"({"a)", R"({"a":"b)", R"({"a":"b"]})"}) {
    EXPECT_TRUE(strings_of(text).ends_with("broken")) << text;
  }
  EXPECT_TRUE(strings_of(std::string(33, '[') + std::string(33, ']')).ends_with("broken"));
  EXPECT_EQ(strings_of(std::string(32, '[') + std::string(32, ']')), "end");
}

TEST(JsonStringsTest, EscapesAreDecoded) {
  std::string out;
  unescape_json(R"(a\"b\\c\/d\n\u0041\u00e9\u12)", out);
  EXPECT_EQ(out.substr(0, 11), "a\"b\\c/d A?\x12");
  unescape_json("\\", out);
  EXPECT_EQ(out, "\\");
}

}  // namespace
}  // namespace spillway::exchange::clearing
