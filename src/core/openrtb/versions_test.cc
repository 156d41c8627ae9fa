#include "openrtb/versions.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"
#include "openrtb/path_edits.h"

namespace spillway::openrtb {
namespace {

/// The request as a partner of this version is sent it; `edits` name 2.6 places.
std::string as(Version version, std::string_view request, std::vector<PathEdit> given = {}) {
  const Padded text(request);
  Document document;
  if (!document.walk(text.view())) {
    ADD_FAILURE() << request;
    return {};
  }
  EditList list(document);
  PathEdits edits;
  for (const PathEdit& edit : given) {
    edits.add(edit);
  }
  place_moved(document, version, edits);
  edits.apply(document, document.root(), list);
  for (const NodeId imp : document.children(document.find(document.root(), Key::imp))) {
    edits.clear();
    place_moved_imp(document, imp, version, edits);
    edits.apply(document, imp, list);
  }
  return list.bytes();
}

constexpr std::string_view k26 =
    R"({"id":"1","regs":{"coppa":0,"gdpr":1,"us_privacy":"1YNN","gpp":"DBAA","gpp_sid":[7]},)"
    R"("user":{"id":"u","consent":"C","eids":[{"source":"s"}]},"source":{"tid":"t","schain":{"nodes":[]}},)"
    R"("imp":[{"id":"a","rwdd":1}]})";
constexpr std::string_view k25 =
    R"({"id":"1","regs":{"coppa":0,"ext":{"gdpr":1,"us_privacy":"1YNN","gpp":"DBAA","gpp_sid":[7]}},)"
    R"("user":{"id":"u","ext":{"consent":"C","eids":[{"source":"s"}]}},"source":{"tid":"t","ext":{"schain":{"nodes":[]}}},)"
    R"("imp":[{"id":"a","ext":{"rwdd":1}}]})";

TEST(Versions, EveryMovedMemberGoesBothWays) {
  EXPECT_EQ(as(Version::k25, k26), k25);
  EXPECT_EQ(as(Version::k26, k25), k26);
}

TEST(Versions, WhatIsInPlaceKeepsItsBytes) {
  EXPECT_EQ(as(Version::k26, k26), k26);
  EXPECT_EQ(as(Version::k25, k25), k25);
  constexpr std::string_view kPlain = R"({ "id":"1" , "regs" : {"ext":{"dsa":{}}, "coppa":1.0} })";
  EXPECT_EQ(as(Version::k26, kPlain), kPlain);
  EXPECT_EQ(as(Version::k25, kPlain), kPlain);
}

TEST(Versions, OfBothPlacesThatOf26CountsAndIsTheOnlyOneSent) {
  constexpr std::string_view kBoth =
      R"({"regs":{"gdpr":1,"ext":{"gdpr":0,"x":2}},"user":{"eids":null,"ext":{"eids":[1]}}})";
  EXPECT_EQ(as(Version::k26, kBoth), R"({"regs":{"gdpr":1,"ext":{"x":2}},"user":{"eids":[1]}})");
  EXPECT_EQ(as(Version::k25, kBoth),
            R"({"regs":{"ext":{"gdpr":1,"x":2}},"user":{"ext":{"eids":[1]}}})");
}

TEST(Versions, EditsOf26PlacesCountWhateverTheVersion) {
  const std::vector<PathEdit> edits = {{.path = {Key::user, Key::eids}, .json = ""},
                                       {.path = {Key::regs, Key::gdpr}, .json = "0"},
                                       {.path = {Key::source}, .json = ""}};
  for (const std::string_view request : {k25, k26}) {
    for (const Version version : {Version::k25, Version::k26}) {
      const std::string out = as(version, request, edits);
      EXPECT_EQ(out.find("eids"), std::string::npos) << out;
      EXPECT_EQ(out.find("schain"), std::string::npos) << out;
      EXPECT_NE(out.find(R"("gdpr":0)"), std::string::npos) << out;
      EXPECT_EQ(out.find(R"("gdpr":1)"), std::string::npos) << out;
    }
  }
}

TEST(Versions, PrebidsRewardedFlagIsTheLastPlaceLookedAt) {
  EXPECT_EQ(as(Version::k26, R"({"imp":[{"ext":{"prebid":{"is_rewarded_inventory":1}}}]})"),
            R"({"imp":[{"ext":{"prebid":{"is_rewarded_inventory":1}},"rwdd":1}]})");
  EXPECT_EQ(as(Version::k25, R"({"imp":[{"ext":{"prebid":{"is_rewarded_inventory":"x"}}}]})"),
            R"({"imp":[{"ext":{"prebid":{"is_rewarded_inventory":"x"}}}]})");
}

struct Member {
  std::string_view object, name;
};

constexpr Member kMembers[] = {
    {.object = "regs", .name = "gdpr"},    {.object = "regs", .name = "us_privacy"},
    {.object = "regs", .name = "gpp"},     {.object = "regs", .name = "gpp_sid"},
    {.object = "user", .name = "consent"}, {.object = "user", .name = "eids"},
    {.object = "source", .name = "schain"}};

/// Every member nowhere, in one place, in the other or in both, beside strangers.
std::string random_request(base::Rng& rng) {
  std::string out = "{";
  for (const std::string_view object : {"regs", "user", "source"}) {
    std::string top = rng.below(2) == 0 ? R"("z":1e2)" : "";
    std::string ext = rng.below(2) == 0 ? R"("y":[{}])" : "";
    const auto put = [&](std::string& to, std::string_view name) {
      to += (to.empty() ? "\"" : ",\"") + std::string(name) +
            "\":" + (rng.below(9) == 0 ? "null" : std::to_string(rng.below(1000)));
    };
    for (const Member& member : kMembers) {
      if (member.object == object && rng.below(3) == 0) {
        put(top, member.name);
      }
      if (member.object == object && rng.below(3) == 0) {
        put(ext, member.name);
      }
    }
    if (!ext.empty() || rng.below(4) == 0) {
      top += (top.empty() ? R"("ext":{)" : R"(,"ext":{)") + ext + "}";
    }
    if (!top.empty() || rng.below(4) == 0) {
      out += (out.size() == 1 ? "\"" : ",\"") + std::string(object) + "\":{" + top + "}";
    }
  }
  return out + "}";
}

/// The members' values by the places of a version, and whether the other place is empty.
std::string values(Version version, std::string_view request) {
  const Padded text(request);
  Document document;
  EXPECT_TRUE(document.walk(text.view())) << request;
  std::string out;
  for (const Member& member : kMembers) {
    const NodeId top = document.find(document.root(), member.object);
    const NodeId at_26 = document.find(top, member.name);
    const NodeId at_25 = document.find(document.find(top, Key::ext), member.name);
    out += std::string(document.raw(version == Version::k26 ? at_26 : at_25)) + ' ';
    EXPECT_EQ(version == Version::k26 ? at_25 : at_26, kAbsent) << request;
  }
  return out;
}

TEST(Versions, ThereAndBackGivesTheSameValuesOnceAndStrangersStay) {
  base::Rng rng(11);
  for (int i = 0; i < 20'000; ++i) {
    const std::string request = random_request(rng);
    const std::string up = as(Version::k26, request);
    const std::string down = as(Version::k25, request);
    const std::string wanted = values(Version::k26, up);
    ASSERT_EQ(values(Version::k25, down), wanted) << request;
    ASSERT_EQ(values(Version::k26, as(Version::k26, down)), wanted) << request;
    ASSERT_EQ(values(Version::k25, as(Version::k25, up)), wanted) << request;
    ASSERT_EQ(as(Version::k26, up), up);
    ASSERT_EQ(as(Version::k25, down), down);
    for (const std::string_view stranger : {R"("z":1e2)", R"("y":[{}])"}) {
      const auto count = [&](const std::string& text) {
        size_t found = 0;
        for (size_t at = text.find(stranger); at != std::string::npos;
             at = text.find(stranger, at + 1)) {
          ++found;
        }
        return found;
      };
      ASSERT_EQ(count(up), count(request)) << request;
      ASSERT_EQ(count(down), count(request)) << request;
    }
  }
}

}  // namespace
}  // namespace spillway::openrtb
