// What lies behind a text must never count as a part of it, whatever it is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {
namespace {

constexpr std::string_view kWhole =
    R"({"id":"a","imp":[{"id":"1","w":12,"x y":[],"banner":{}},[-1.5e2,true]],"é":null})";

/// Whether a walk of the first `size` bytes accepts, with the rest and then `behind` following.
bool accepts(std::string_view text, size_t size, std::string_view behind) {
  std::string bytes(text);
  while (bytes.size() < text.size() + Document::kPadding + 16) {
    bytes += behind;
  }
  Document document;
  const auto result = document.walk(std::string_view(bytes).substr(0, size));
  if (!result) {
    EXPECT_LE(document.failed_at(), size);
    EXPECT_EQ(document.size(), 0U);
  }
  return result.has_value();
}

TEST(WalkBeyond, ACutTextIsRefusedThoughTheRestOfItFollows) {
  for (size_t size = 0; size < kWhole.size(); ++size) {
    EXPECT_FALSE(accepts(kWhole, size, " ")) << kWhole.substr(0, size);
  }
  EXPECT_TRUE(accepts(kWhole, kWhole.size(), " "));
}

TEST(WalkBeyond, ACutTextIsRefusedWhateverFollows) {
  for (const std::string_view behind :
       {"}", "]", "[", "{", "\"", ",", ":", "1", "[],", "{},", "\"\":", "\\u0061", "]}", "\"a\":1,",
        "-", "e1", "true", "\x80"}) {
    for (size_t size = 0; size < kWhole.size(); ++size) {
      const std::string_view cut = kWhole.substr(0, size);
      EXPECT_FALSE(accepts(cut, size, behind)) << cut << " | " << behind;
    }
    EXPECT_TRUE(accepts(kWhole, kWhole.size(), behind)) << behind;
  }
}

TEST(WalkBeyond, ObjectsKnowWhichMembersTheyMayHave) {
  std::string bytes(R"({"id":null,"\u0069mp":[{}],"other":{"w":1}})");
  const size_t size = bytes.size();
  bytes.append(Document::kPadding, '\0');
  Document d;
  ASSERT_TRUE(d.walk(std::string_view(bytes).substr(0, size)));
  EXPECT_TRUE(d.node(0).may_have(Key::id));
  EXPECT_TRUE(d.node(0).may_have(Key::imp));
  EXPECT_TRUE(d.node(0).may_have(Key::kOther));
  EXPECT_EQ(d.find(0, Key::id), kAbsent) << "null is absent";
  EXPECT_EQ(d.member(0, "id"), 1U);
  EXPECT_EQ(d.find(0, Key::imp), 2U);
  const NodeId inner = d.find(0, "other");
  EXPECT_EQ(d.node(inner).members, uint64_t{1} << (static_cast<unsigned>(Key::w) % 64));
  EXPECT_EQ(d.find(inner, Key::h), kAbsent);
  EXPECT_EQ(d.find(3, Key::w), kAbsent) << "an empty object has none";
}

}  // namespace
}  // namespace spillway::openrtb
