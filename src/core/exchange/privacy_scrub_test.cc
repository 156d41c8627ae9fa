#include "exchange/privacy_scrub.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "exchange/privacy.h"
#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"
#include "openrtb/path_edits.h"

namespace spillway::exchange {
namespace {

using openrtb::Document;
using openrtb::Key;
using openrtb::NodeId;

std::string scrubbed(const Document& document, PrivacyClass copy) {
  openrtb::EditList edits(document);
  scrub(document, copy, edits);
  return edits.bytes();
}

std::string scrubbed(const std::string& json, PrivacyClass copy = PrivacyClass::kNoIds) {
  const openrtb::Padded text(json);
  Document document;
  EXPECT_TRUE(document.walk(text.view())) << json;
  return scrubbed(document, copy);
}

std::string ip_of(std::string_view text) { return truncated_ip(text).value_or("none"); }

TEST(PrivacyText, AddressesLoseTheirHost) {
  EXPECT_EQ(ip_of("192.0.2.77"), "192.0.2.0");
  EXPECT_EQ(ip_of("255.255.255.255"), "255.255.255.0");
  EXPECT_EQ(ip_of("2001:db8:85a3:8d3:1319:8a2e:370:7348"), "2001:db8:85a3::");
  EXPECT_EQ(ip_of("2001:DB8::1"), "2001:db8::");
  EXPECT_EQ(ip_of("2001:db8:0:5::"), "2001:db8::");
  EXPECT_EQ(ip_of("::1"), "::");
  EXPECT_EQ(ip_of("::"), "::");
  EXPECT_EQ(ip_of("0:0:5:6::9"), "0:0:5::");
  EXPECT_EQ(ip_of("::ffff:1.2.3.4"), "1.2.3.0");
  EXPECT_EQ(ip_of("64:ff9b::1.2.3.4"), "64:ff9b::");
  EXPECT_EQ(ip_of("1:2:3:4:5:6:7::"), "1:2:3::");
  EXPECT_EQ(ip_of("::2:3:4:5:6:7:8"), "0:2:3::");
}

TEST(PrivacyText, WhatIsNoAddressHasNone) {
  for (const char* text : {"",
                           "x",
                           "1.2.3",
                           "1.2.3.4.5",
                           "1.2.3.256",
                           "1.2.3.",
                           ".1.2.3",
                           "1..2.3",
                           "1.2.3.4 ",
                           "0x1.2.3.4",
                           "+1.2.3.4",
                           "fe80::1%eth0",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1::2::3",
                           ":1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:",
                           "1:2:3:4:5:6:7:8::",
                           "12345::",
                           "g::",
                           ":::",
                           ":",
                           "::1.2.3",
                           "1.2.3.4::",
                           "2001:db8::1/64",
                           "[::1]"}) {
    EXPECT_EQ(ip_of(text), "none") << text;
  }
}

std::string degrees(std::string_view number) { return rounded_degrees(number).value_or("none"); }

TEST(PrivacyText, CoordinatesAreRoundedAlikeOnBothSidesOfZero) {
  EXPECT_EQ(degrees("-33.8688"), "-33.87");
  EXPECT_EQ(degrees("33.8688"), "33.87");
  EXPECT_EQ(degrees("151.2093"), "151.21");
  EXPECT_EQ(degrees("0.005"), "0.01");
  EXPECT_EQ(degrees("-0.005"), "-0.01");
  EXPECT_EQ(degrees("-0.0049999999999999999"), "0");
  EXPECT_EQ(degrees("2.675"), "2.68") << "which no double is";
  EXPECT_EQ(degrees("-1.005000"), "-1.01");
  EXPECT_EQ(degrees("89.995"), "90");
  EXPECT_EQ(degrees("-1.5e2"), "-150");
  EXPECT_EQ(degrees("338688e-4"), "33.87");
  EXPECT_EQ(degrees("10"), "10");
  for (const char* text : {"", "x", "\"1\"", "--1", "1e400", "-1e400", "1000000000"}) {
    EXPECT_EQ(degrees(text), "none") << text;
  }
}

constexpr std::string_view kPerson =
    R"({"id":"r","user":{"id":"u","buyeruid":"b","yob":1980,"gender":"F","keywords":"k",)"
    R"("kwarray":["k"],"customdata":"c","data":[{"id":"d"}],"eids":[{"source":"s"}],)"
    R"("geo":{"lat":-33.8688,"lon":151.2093,"accuracy":5,"zip":"2000-1234","city":"Sydney",)"
    R"("country":"AUS","ext":{"x":1}},"consent":"c","ext":{"consent":"c2","eids":[],"data":1,)"
    R"("prebid":{"buyeruids":{"a":"1"}}},"x":1},"device":{"ifa":"i","didsha1":"1","didmd5":"2",)"
    R"("dpidsha1":"3","dpidmd5":"4","macsha1":"5","macmd5":"6","ua":"UA","ip":"192.0.2.77",)"
    R"("ipv6":"2001:db8:1:2::3","lmt":0,"geo":{"lat":1,"lon":2.5},"ext":{"atts":3,"idfv":"v"},)"
    R"("idfa":"x"},"ext":{"prebid":{"bidderconfig":[{"config":{}}],"data":{},"channel":{}}}})";

TEST(PrivacyScrub, ACopyWithoutIdsKeepsWhatNamesNobody) {
  EXPECT_EQ(scrubbed(std::string(kPerson)),
            R"({"id":"r","user":{"geo":{"lat":-33.87,"lon":151.21,"city":"Sydney",)"
            R"("country":"AUS"},"consent":"c","ext":{"consent":"c2"}},"device":{"ua":"UA",)"
            R"("ip":"192.0.2.0","ipv6":"2001:db8:1::","lmt":0,"geo":{"lat":1,"lon":2.5},)"
            R"("ext":{"atts":3}},"ext":{"prebid":{"channel":{}}}})");
}

TEST(PrivacyScrub, AChildHasNoLocation) {
  EXPECT_EQ(scrubbed(std::string(kPerson), PrivacyClass::kChild),
            R"({"id":"r","user":{"consent":"c","ext":{"consent":"c2"}},"device":{"ua":"UA",)"
            R"("ip":"192.0.2.0","ipv6":"2001:db8:1::","lmt":0,)"
            R"("ext":{"atts":3}},"ext":{"prebid":{"channel":{}}}})");
}

TEST(PrivacyScrub, TheFullCopyIsTheRequest) {
  EXPECT_EQ(scrubbed(std::string(kPerson), PrivacyClass::kFull), kPerson);
}

TEST(PrivacyScrub, WhatIsNoAddressOrNumberGoes) {
  EXPECT_EQ(scrubbed(R"({"device":{"ip":"x","ipv6":"","geo":{"lat":"1.23456","lon":1e99}}})"),
            R"({"device":{"geo":{}}})");
  EXPECT_EQ(scrubbed(R"({"user":{"buyeruid":null,"\u0069d":"x"}})"), R"({"user":{}})");
}

TEST(PrivacyScrub, WhatTheExchangeAddsIsWithheldToo) {
  const openrtb::Padded text(R"({"id":"r"})");
  Document document;
  ASSERT_TRUE(document.walk(text.view()));
  for (const PrivacyClass copy : {PrivacyClass::kFull, PrivacyClass::kNoIds}) {
    openrtb::PathEdits edits;
    edits.set({Key::user, Key::buyeruid}, R"("b")");
    edits.set({Key::device, Key::ip}, R"("192.0.2.77")");
    edits.set({Key::device, Key::ipv6}, R"("rubbish")");
    withhold(copy, edits);
    openrtb::EditList out(document);
    edits.apply(document, document.root(), out);
    EXPECT_EQ(
        out.bytes(),
        copy == PrivacyClass::kFull
            ? R"({"id":"r","user":{"buyeruid":"b"},"device":{"ip":"192.0.2.77","ipv6":"rubbish"}})"
            : R"({"id":"r","device":{"ip":"192.0.2.0"}})");
  }
}

TEST(PrivacyScrub, TellsWhatItTook) {
  const openrtb::Padded text(
      R"({"user":{"id":"u","geo":{"lat":1.234}},"device":{"ip":"10.0.0.1","ua":"u"}})");
  Document document;
  ASSERT_TRUE(document.walk(text.view()));
  EXPECT_EQ(scrubbed_paths(document, PrivacyClass::kNoIds),
            (std::vector<std::string>{"user.id", "user.geo.lat", "device.ip"}));
  EXPECT_EQ(scrubbed_paths(document, PrivacyClass::kChild),
            (std::vector<std::string>{"user.id", "user.geo", "device.ip"}));
  EXPECT_TRUE(scrubbed_paths(document, PrivacyClass::kFull).empty());
}

/// Objects with members in random places and order, of which the secret ones hold "SECRET".
class RandomRequest {
 public:
  explicit RandomRequest(uint64_t seed) : rng_(seed) {}

  std::string make() {
    return "{" +
           members({{"id", "\"r\""},
                    {"user", user()},
                    {"device", device()},
                    {"ext", R"({"prebid":{"bidderconfig":["SECRET"]}})"},
                    {"site", R"({"id":"s"})"}}) +
           "}";
  }

 private:
  struct Member {
    std::string name, json;
  };

  std::string members(std::vector<Member> all) {
    std::string out;
    while (!all.empty()) {
      const size_t at = rng_.below(all.size());
      if (rng_.below(4) != 0) {
        out += (out.empty() ? "\"" : ",\"") + all[at].name + "\":" + all[at].json;
      }
      all.erase(all.begin() + static_cast<ptrdiff_t>(at));
    }
    return out;
  }

  /// A value of any shape around the secret.
  std::string secret() {
    static constexpr const char* kShapes[] = {"\"SECRET\"", R"(["a","SECRET"])",
                                              R"({"uids":[{"id":"SECRET"}]})", R"("\"SECRET\\")",
                                              R"([{"x":{"y":["SECRET"]}}])"};
    return kShapes[rng_.below(std::size(kShapes))];
  }

  std::string geo() {
    return "{" +
           members({{"lat", "-12.345678"},
                    {"lon", "98.765432e0"},
                    {"zip", secret()},
                    {"accuracy", "7"},
                    {"country", "\"USA\""},
                    {"ext", secret()}}) +
           "}";
  }

  std::string user() {
    return "{" +
           members({{"id", secret()},
                    {"buyeruid", secret()},
                    {"keywords", secret()},
                    {"kwarray", secret()},
                    {"customdata", secret()},
                    {"data", secret()},
                    {"eids", secret()},
                    {"new_id", secret()},
                    {"geo", geo()},
                    {"consent", "\"c\""},
                    {"ext", "{" +
                                members({{"consent", "\"c\""},
                                         {"eids", secret()},
                                         {"data", secret()},
                                         {"prebid", secret()}}) +
                                "}"}}) +
           "}";
  }

  std::string device() {
    return "{" +
           members({{"ifa", secret()},
                    {"didsha1", secret()},
                    {"didmd5", secret()},
                    {"dpidsha1", secret()},
                    {"dpidmd5", secret()},
                    {"macsha1", secret()},
                    {"macmd5", secret()},
                    {"idfa", secret()},
                    {"ip", "\"198.51.100.123\""},
                    {"ipv6", "\"2001:db8:1:dead:beef::1\""},
                    {"ua", "\"u\""},
                    {"geo", geo()},
                    {"ext", "{" + members({{"atts", "1"}, {"idfv", secret()}}) + "}"}}) +
           "}";
  }

  base::Rng rng_;
};

TEST(PrivacyScrub, NoIdSurvivesInAnyRequest) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const std::string request = RandomRequest(seed).make();
    for (const PrivacyClass copy : {PrivacyClass::kNoIds, PrivacyClass::kChild}) {
      const std::string out = scrubbed(request, copy);
      for (const char* secret : {"SECRET", "100.123", "dead", "12.3456", "98.76543"}) {
        ASSERT_EQ(out.find(secret), std::string::npos) << request << '\n' << out;
      }
      const openrtb::Padded text(out);
      Document document;
      ASSERT_TRUE(document.walk(text.view())) << out;
      EXPECT_TRUE(scrubbed_paths(document, copy).empty()) << out;
    }
  }
}

/// Whether two values are the same JSON: members in any order.
bool same(const Document& a, NodeId x, const Document& b, NodeId y) {
  if (a.kind(x) != b.kind(y)) {
    return false;
  }
  if (!a.is(x, openrtb::Kind::kObject)) {
    return a.raw(x) == b.raw(y);
  }
  size_t count = 0;
  for (const NodeId child : a.children(x)) {
    count += same(a, child, b, b.find(y, std::string_view(a.name(child)))) ? 1 : 0;
  }
  return y != openrtb::kAbsent && count == a.node(x).children && count == b.node(y).children;
}

TEST(PrivacyVectors, DspsAreSentTheUserDeviceAndRegsOfTheReference) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(SPILLWAY_VECTORS) / "auction";
  if (!fs::exists(root)) {
    GTEST_SKIP() << "no shared test data";
  }
  size_t cases = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().stem().string();
    if (!name.starts_with("ccpa-") && !name.starts_with("lmt-") && !name.starts_with("gdpr-") &&
        !name.starts_with("coppa-") && !name.starts_with("activity-tid")) {
      continue;
    }
    std::ifstream in(entry.path(), std::ios::binary);
    const openrtb::Padded file(std::string(std::istreambuf_iterator<char>(in), {}));
    Document whole;
    ASSERT_TRUE(whole.walk(file.view())) << name;
    const openrtb::Padded text(std::string(whole.raw(whole.find(0, "request"))));
    Document request;
    ASSERT_TRUE(request.walk(text.view())) << name;
    PrivacyPolicy policy;
    policy.gdpr_when_unknown = whole.is(
        whole.find(whole.find(0, "switches"), "assume_gdpr_applies"), openrtb::Kind::kTrue);
    for (const NodeId dsp : whole.children(whole.find(0, "dsps"))) {
      const std::string dsp_name = whole.string(whole.find(dsp, "dsp"));
      const PrivacyDecision decision =
          decide(read_privacy(request), policy, {.name = dsp_name, .gvl_id = 32});
      const openrtb::Padded sent_text(scrubbed(request, decision.copy));
      Document sent;
      ASSERT_TRUE(sent.walk(sent_text.view())) << name;
      const NodeId expected = whole.find(dsp, "expect_request");
      for (const Key key : {Key::user, Key::device, Key::regs, Key::source}) {
        EXPECT_TRUE(same(whole, whole.find(expected, key), sent, sent.find(0, key)))
            << name << '\n'
            << sent_text.view();
      }
      ++cases;
    }
  }
  EXPECT_GE(cases, 8U);
}

}  // namespace
}  // namespace spillway::exchange
