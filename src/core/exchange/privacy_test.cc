#include "exchange/privacy.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "openrtb/consent/bit_writer.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::exchange {
namespace {

using openrtb::consent::BitWriter;
using openrtb::consent::tcf_text;

constexpr DspPrivacy kSeven{.name = "alpha", .gvl_id = 7};  // Consented in tcf_text.
constexpr DspPrivacy kNine{.name = "nine", .gvl_id = 9, .legitimate_interest = true};
constexpr DspPrivacy kUnlisted{.name = "beta"};

PrivacyDecision decided(const std::string& json, const PrivacyPolicy& policy = {},
                        const DspPrivacy& dsp = kSeven) {
  const openrtb::Padded text(json);
  openrtb::Document document;
  EXPECT_TRUE(document.walk(text.view())) << json;
  return decide(read_privacy(document), policy, dsp);
}

/// "class: reasons".
std::string told(const std::string& json, const PrivacyPolicy& policy = {},
                 const DspPrivacy& dsp = kSeven) {
  const PrivacyDecision decision = decided(json, policy, dsp);
  return std::string(to_string(decision.copy)) + ": " + to_string(decision.reasons);
}

/// A request with this consent string in the 2.6 place, GDPR applying.
std::string consent(const std::string& text) {
  return R"({"regs":{"gdpr":1},"user":{"consent":")" + text + "\"}}";
}

TEST(Privacy, ARequestThatSaysNothingPassesWhole) {
  for (const char* json :
       {"{}", R"({"regs":null,"user":{},"device":{"lmt":0,"dnt":0}})",
        R"({"regs":{"coppa":0,"gdpr":0,"us_privacy":"1YNN","gpp":"","gpp_sid":[-1]}})",
        R"({"regs":{"us_privacy":""},"user":{"consent":"","ext":{"consent":null}}})"}) {
    EXPECT_EQ(told(json), "full: ") << json;
    EXPECT_EQ(told(json, {}, kUnlisted), "full: ") << json;
  }
}

TEST(Privacy, ChildrenAndLimitedTrackingScrubOrCostTheCall) {
  EXPECT_EQ(told(R"({"regs":{"coppa":1}})"), "child: coppa");
  EXPECT_EQ(told(R"({"regs":{"ext":{"coppa":1}}})"), "child: coppa");
  EXPECT_EQ(told(R"({"device":{"lmt":1}})"), "no_ids: lmt");
  EXPECT_EQ(told(R"({"device":{"dnt":1}})"), "no_ids: dnt");
  EXPECT_EQ(told(R"({"regs":{"coppa":1},"device":{"lmt":1,"dnt":1}})"), "child: coppa,lmt,dnt");
  constexpr auto kNoCall = PrivacyAction::kNoCall;
  EXPECT_EQ(told(R"({"regs":{"coppa":1}})", {.coppa = kNoCall}), "no_call: coppa");
  EXPECT_EQ(told(R"({"device":{"dnt":1}})", {.lmt = kNoCall}), "no_call: dnt");
  EXPECT_EQ(told(R"({"device":{"lmt":1}})", {.coppa = kNoCall, .us = kNoCall, .gdpr = kNoCall}),
            "no_ids: lmt");
}

TEST(Privacy, OptingOutOfSaleIsReadInBothPlaces) {
  EXPECT_EQ(told(R"({"regs":{"us_privacy":"1YYN"}})"), "no_ids: us_privacy");
  EXPECT_EQ(told(R"({"regs":{"ext":{"us_privacy":"1YYN"}}})"), "no_ids: us_privacy");
  EXPECT_EQ(told(R"({"regs":{"us_privacy":"1YNN","ext":{"us_privacy":"1-y-"}}})"),
            "no_ids: us_privacy");
  EXPECT_EQ(told(R"({"regs":{"us_privacy":"what"}})"), "no_ids: us_privacy");
  EXPECT_EQ(told(R"({"regs":{"us_privacy":"1YYN"}})", {.us = PrivacyAction::kNoCall}),
            "no_call: us_privacy");
  EXPECT_EQ(told(R"({"regs":{"ext":{"gpc":"1"}}})"), "no_ids: gpc");
  EXPECT_EQ(told(R"({"regs":{"ext":{"gpc":1}}})"), "no_ids: gpc");
  EXPECT_EQ(told(R"({"regs":{"ext":{"gpc":"0"}}})"), "full: ");
}

TEST(Privacy, ThePublisherMaySayThatADspGetsNoSale) {
  const auto request = [](const std::string& names) {
    return R"({"regs":{"us_privacy":"1YYN"},"ext":{"prebid":{"nosale":[)" + names + "]}}}";
  };
  EXPECT_EQ(told(request(R"("*")")), "full: ");
  EXPECT_EQ(told(request(R"("x","alpha")")), "full: ");
  EXPECT_EQ(told(request(R"("x","alpha")"), {}, kUnlisted), "no_ids: us_privacy");
  EXPECT_EQ(told(request("")), "no_ids: us_privacy");
}

std::string gpp(const std::string& text, const std::string& sids, bool in_ext = false) {
  const std::string members =
      R"("gpp":")" + text + '"' + (sids.empty() ? "" : R"(,"gpp_sid":[)" + sids + "]");
  return in_ext ? R"({"regs":{"ext":{)" + members + "}}}" : R"({"regs":{)" + members + "}}";
}

/// The header of one section, or of two (the second by its distance).
std::string gpp_header(unsigned id, unsigned further = 0) {
  BitWriter writer;
  writer.put(3, 6).put(1, 6).put(further == 0 ? 1 : 2, 12).put(0, 1).put_fibonacci(id);
  if (further != 0) {
    writer.put(0, 1).put_fibonacci(further);
  }
  return writer.text();
}

TEST(Privacy, GppSectionsThatApplyCount) {
  const std::string out = BitWriter().put(1, 6).put(0, 12).put(0b01, 2).put(0, 60).text();
  const std::string in = BitWriter().put(1, 6).put(0, 12).put(0b10, 2).put(0, 60).text();
  const std::string two = gpp_header(6, 1) + "~1YYN~" + in;
  for (const bool in_ext : {false, true}) {
    EXPECT_EQ(told(gpp(gpp_header(7) + '~' + out, "7", in_ext)), "no_ids: gpp_opt_out");
    EXPECT_EQ(told(gpp(gpp_header(7) + '~' + in, "7", in_ext)), "full: ");
    EXPECT_EQ(told(gpp(two, "7", in_ext)), "full: ") << "section 6 does not apply";
    EXPECT_EQ(told(gpp(two, "6,7", in_ext)), "no_ids: gpp_opt_out");
    EXPECT_EQ(told(gpp(two, "", in_ext)), "no_ids: gpp_opt_out") << "without ids all apply";
    EXPECT_EQ(told(gpp(two, "-1", in_ext)), "full: ");
    EXPECT_EQ(told(gpp(two, "8", in_ext)), "no_ids: gpp_unreadable") << "missing";
    EXPECT_EQ(told(gpp(two, "99999999", in_ext)), "no_ids: gpp_unreadable");
    EXPECT_EQ(told(gpp("", "7", in_ext)), "no_ids: gpp_unreadable");
    EXPECT_EQ(told(gpp("rubbish", "", in_ext)), "no_ids: gpp_unreadable");
  }
}

TEST(Privacy, TheEuropeanSectionIsAConsentString) {
  const std::string all = gpp_header(2) + '~' + tcf_text({1, 2, 7});
  EXPECT_EQ(told(gpp(all, "2")), "full: ");
  EXPECT_EQ(told(gpp(all, "2"), {}, kUnlisted), "no_ids: gdpr_no_vendor_id");
  EXPECT_EQ(told(gpp("", "2")), "no_ids: gdpr_no_consent");
  EXPECT_EQ(told(R"({"regs":{"gdpr":0,"gpp_sid":[2]}})"), "no_ids: gdpr_no_consent");
}

TEST(Privacy, GdprNeedsAReadableConsentOfThisVendor) {
  for (const char* json : {R"({"regs":{"gdpr":1}})", R"({"regs":{"ext":{"gdpr":1}}})",
                           R"({"regs":{"gdpr":0,"ext":{"gdpr":1}}})"}) {
    EXPECT_EQ(told(json), "no_ids: gdpr_no_consent") << json;
    EXPECT_EQ(told(json, {.gdpr = PrivacyAction::kNoCall}), "no_call: gdpr_no_consent");
  }
  EXPECT_EQ(told(consent("garbage")), "no_ids: gdpr_bad_consent");
  EXPECT_EQ(told(consent("BOJ8RZAOJ8RZAABAB8AAAAAZ-A")), "no_ids: gdpr_bad_consent");
  EXPECT_EQ(told(consent(tcf_text({1, 2, 7}))), "full: ");
  EXPECT_EQ(told(consent(tcf_text({1, 2, 7})), {}, kUnlisted), "no_ids: gdpr_no_vendor_id");
  EXPECT_EQ(told(consent(tcf_text({1, 2, 7})), {}, {.name = "x", .gvl_id = 6}),
            "no_ids: gdpr_purpose_1,gdpr_purpose_2,gdpr_purpose_7");
  const std::string ext =
      R"({"regs":{"ext":{"gdpr":1}},"user":{"ext":{"consent":")" + tcf_text({1, 2, 7}) + "\"}}}";
  EXPECT_EQ(told(ext), "full: ");
}

TEST(Privacy, EachPurposeIsAskedFor) {
  constexpr PrivacyPolicy kStrict{.gdpr = PrivacyAction::kNoCall};
  EXPECT_EQ(told(consent(tcf_text({2, 7})), kStrict), "no_ids: gdpr_purpose_1");
  EXPECT_EQ(told(consent(tcf_text({1, 7})), kStrict), "no_call: gdpr_purpose_2");
  EXPECT_EQ(told(consent(tcf_text({1, 7}))), "no_ids: gdpr_purpose_2");
  EXPECT_EQ(told(consent(tcf_text({1, 2})), kStrict), "no_ids: gdpr_purpose_7");
}

TEST(Privacy, InterestCountsWhenTheDspClaimsIt) {
  const std::string request = consent(tcf_text({1}, {1, 2, 7}));
  EXPECT_EQ(told(request, {}, kNine), "no_ids: gdpr_purpose_1") << "storage by consent only";
  EXPECT_EQ(told(request, {}, {.name = "nine", .gvl_id = 9}),
            "no_ids: gdpr_purpose_1,gdpr_purpose_2,gdpr_purpose_7");
}

TEST(Privacy, OfSeveralConsentStringsAllMustAllow) {
  const auto both = [](const std::string& first, const std::string& second) {
    return R"({"regs":{"gdpr":1},"user":{"consent":")" + first + R"(","ext":{"consent":")" +
           second + "\"}}}";
  };
  const std::string all = tcf_text({1, 2, 7});
  EXPECT_EQ(told(both(all, all)), "full: ");
  EXPECT_EQ(told(both(all, tcf_text({1, 7}))), "no_ids: gdpr_purpose_2");
  EXPECT_EQ(told(both(all, "x")), "no_ids: gdpr_bad_consent");
}

TEST(Privacy, WhereGdprIsNotSaidTheCountryDecides) {
  constexpr PrivacyPolicy kAssume{.gdpr_when_unknown = true};
  const std::string none = "gdpr_no_consent";
  EXPECT_EQ(told(R"({"user":{"geo":{"country":"FRA"}}})"), "no_ids: " + none);
  EXPECT_EQ(told(R"({"device":{"geo":{"country":"de"}}})"), "no_ids: " + none);
  EXPECT_EQ(told(R"({"user":{"geo":{"country":"USA"}},"device":{"geo":{"country":"GBR"}}})"),
            "no_ids: " + none);
  EXPECT_EQ(told(R"({"user":{"geo":{"country":"USA"}}})", kAssume), "full: ");
  EXPECT_EQ(told(R"({"regs":{"gdpr":0},"user":{"geo":{"country":"FRA"}}})"), "full: ");
  EXPECT_EQ(told("{}", kAssume), "no_ids: " + none);
  EXPECT_EQ(told(R"({"user":{"consent":"x"}})"), "no_ids: gdpr_bad_consent");
}

TEST(Privacy, ReasonsHaveNames) {
  for (unsigned i = 0; i < static_cast<unsigned>(PrivacyReason::kCount); ++i) {
    EXPECT_FALSE(to_string(static_cast<PrivacyReason>(i)).empty()) << i;
  }
}

}  // namespace
}  // namespace spillway::exchange
