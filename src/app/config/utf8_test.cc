#include "app/config/utf8.h"

#include <string_view>

#include <gtest/gtest.h>

namespace spillway::app {
namespace {

TEST(Utf8, TakesAllThatIsValidAndPointsAtWhatIsNot) {
  constexpr size_t kNone = std::string_view::npos;

  struct Row {
    std::string_view text;
    size_t at;
  };

  for (const auto& [text, at] : {Row{"", kNone},
                                 {"plain", kNone},
                                 {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", kNone},
                                 {"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", kNone},
                                 {"a\xff", 1},
                                 {"a\x80", 1},
                                 {"ab\xc3", 2},
                                 {"\xc3(", 0},
                                 {"\xe2\x82(", 0},
                                 {"\xc0\x80", 0},
                                 {"\xe0\x80\x80", 0},
                                 {"\xf0\x80\x80\x80", 0},
                                 {"\xed\xa0\x80", 0},
                                 {"\xf4\x90\x80\x80", 0},
                                 {"\xf5\x80\x80\x80", 0}}) {
    EXPECT_EQ(first_invalid_utf8(text), at) << text;
  }
}

}  // namespace
}  // namespace spillway::app
