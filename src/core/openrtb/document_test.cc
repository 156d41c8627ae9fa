#include "openrtb/document.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "openrtb/keys.h"
#include "openrtb/padded.h"

namespace spillway::openrtb {
namespace {

TEST(Document, answers_for_an_absent_node_as_for_a_missing_member) {
  const Document d;
  EXPECT_EQ(d.root(), kAbsent);
  EXPECT_EQ(d.find(kAbsent, Key::id), kAbsent);
  EXPECT_EQ(d.path(d.root(), Key::regs, Key::ext, Key::gdpr), kAbsent);
  EXPECT_EQ(d.raw(kAbsent), "");
  EXPECT_EQ(d.string(kAbsent), "");
  EXPECT_EQ(d.integer(kAbsent), std::nullopt);
  EXPECT_FALSE(d.equals(kAbsent, ""));
  EXPECT_EQ(d.path_of(kAbsent), "");
}

TEST(Document, treats_a_null_member_as_absent_and_an_escaped_name_as_its_plain_form) {
  const Padded text(R"({"\u0069d":"x","user":null,"\u00fcber":7,"empty":null})");
  Document d;
  ASSERT_TRUE(d.walk(text.view()));
  EXPECT_TRUE(d.equals(d.find(0, Key::id), "x"));
  EXPECT_EQ(d.find(0, Key::user), kAbsent);
  EXPECT_EQ(d.integer(d.find(0, "über")), 7);
  EXPECT_EQ(d.find(0, "empty"), kAbsent);
  EXPECT_NE(d.member(0, "empty"), kAbsent);
  EXPECT_EQ(d.name(d.find(0, Key::id)), "id");
}

TEST(Document, decodes_strings_and_writes_them_again) {
  const Padded text(R"(["a\"\\\/\b\f\n\r\t\u0000\u00e9\u20ac\ud83d\ude00z","plain",""])");
  Document d;
  ASSERT_TRUE(d.walk(text.view()));
  const std::string decoded = d.string(1);
  EXPECT_EQ(decoded, std::string("a\"\\/\b\f\n\r\t\0é€😀z", 20));
  EXPECT_TRUE(d.equals(2, "plain"));
  EXPECT_EQ(d.string(3), "");
  std::string out;
  append_json_string(out, decoded);
  EXPECT_EQ(out, R"("a\"\\/\b\f\n\r\t\u0000é€😀z")");
  out.clear();
  append_json_string(out, "</a>&\x1f");
  EXPECT_EQ(out, R"("</a>&\u001f")");
}

TEST(Document, reads_whole_numbers_however_they_are_spelt) {
  const auto read = [](std::string_view number) {
    const Padded text(number);
    Document d;
    EXPECT_TRUE(d.walk(text.view())) << number;
    return d.integer(0);
  };
  EXPECT_EQ(read("3"), 3);
  EXPECT_EQ(read("-3"), -3);
  EXPECT_EQ(read("3.0"), 3);
  EXPECT_EQ(read("3e0"), 3);
  EXPECT_EQ(read("2E+2"), 200);
  EXPECT_EQ(read("1200e-2"), 12);
  EXPECT_EQ(read("0.25e2"), 25);
  EXPECT_EQ(read("10.50e1"), 105);
  EXPECT_EQ(read("-0"), 0);
  EXPECT_EQ(read("0.000e999999999999999999999"), 0);
  EXPECT_EQ(read("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(read("-9223372036854775808.0"), INT64_MIN);
  EXPECT_EQ(read("9223372036854775808"), std::nullopt);
  EXPECT_EQ(read("1e400"), std::nullopt);
  EXPECT_EQ(read("1e99999999999999999999"), std::nullopt);
  EXPECT_EQ(read("1e-99999999999999999999"), std::nullopt);
  EXPECT_EQ(read("0.5"), std::nullopt);
  EXPECT_EQ(read("12e-1"), std::nullopt);
  EXPECT_EQ(read("\"3\""), std::nullopt);
}

TEST(Keys, know_every_name_in_the_list_and_no_other) {
  std::set<std::string_view> names;
  for (uint16_t i = 2; i < static_cast<uint16_t>(Key::kCount); ++i) {
    const auto key = static_cast<Key>(i);
    EXPECT_EQ(key_of(name_of(key)), key);
    names.insert(name_of(key));
    const std::string longer = std::string(name_of(key)) + "_";
    EXPECT_TRUE(key_of(longer) == Key::kOther || name_of(key_of(longer)) == longer);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Key::kCount) - 2);
  EXPECT_EQ(key_of(""), Key::kOther);
  EXPECT_EQ(key_of("ID"), Key::kOther);
  EXPECT_EQ(key_of("bidflooR"), Key::kOther);
  EXPECT_EQ(key_of("a_name_longer_than_any_in_the_list"), Key::kOther);
  EXPECT_EQ(name_of(Key::kOther), "");
}

}  // namespace
}  // namespace spillway::openrtb
