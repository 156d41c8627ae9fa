#include "openrtb/validate.h"

#include <chrono>  // NOLINT(misc-include-cleaner): its literals
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "base/result.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::openrtb {
namespace {

using namespace std::chrono_literals;

std::string told(const base::Result<void, FieldError>& read) {
  return read ? "" : read.error().path + " " + read.error().what;
}

/// Reads a request; keeps what it came from. Who only checks it must come to the same verdict.
struct Reading {
  explicit Reading(std::string_view json, const RequestPolicy& policy = {}) : text(json) {
    if (const auto walked = document.walk(text.view()); !walked) {
      problem = field_error(document, walked.error()).what;
      return;
    }
    problem = told(read_request(document, policy, view));
    RequestView head;
    EXPECT_EQ(told(check_request(document, policy, head)), problem) << json;
    if (problem.empty()) {
      EXPECT_EQ(head.id, view.id);
      EXPECT_EQ(head.imps.size(), view.imps.size());
      EXPECT_EQ(head.tmax, view.tmax);
      EXPECT_EQ(head.test, view.test);
      EXPECT_EQ(head.debug, view.debug);
    }
  }

  Padded text;
  Document document;
  RequestView view;
  std::string problem;
};

/// A request of one banner imp with further members of the request, the imp and the banner.
std::string request(std::string_view more = "", std::string_view imp_more = "",
                    std::string_view banner = R"("w":300,"h":250)") {
  std::string out = R"({"id":"r","imp":[{"id":"1","banner":{)";
  out += banner;
  out += "}";
  out += imp_more.empty() ? "" : ",";
  out += imp_more;
  out += "}]";
  out += more.empty() ? "" : ",";
  out += more;
  return out + "}";
}

std::string problem_of(std::string_view json) { return Reading(json).problem; }

TEST(ReadRequest, accepts_the_least_there_can_be) {
  const Reading reading(R"({"id":"r","imp":[{"id":"1","native":{}}]})");
  EXPECT_EQ(reading.problem, "");
  EXPECT_EQ(reading.view.id, "r");
  ASSERT_EQ(reading.view.imps.size(), 1u);
  EXPECT_EQ(reading.view.imps[0].media, static_cast<uint8_t>(MediaType::kNative));
  EXPECT_EQ(reading.view.tmax, 0ns);
  EXPECT_EQ(reading.view.at, 0);
  ASSERT_EQ(reading.view.currencies.size(), 1u);
  EXPECT_EQ(reading.view.currencies[0].view(), "USD");
  EXPECT_EQ(reading.view.inventory, RequestView::Inventory::kNone);
}

TEST(ReadRequest, reads_what_routing_and_clearing_need) {
  const Reading reading(R"({"id":"r\u00e9","at":2,"tmax":200,"test":1,"cur":["eur","USD","EUR"],
    "badv":["WWW.Bad.Example","b.example"],"bcat":["IAB25"],"cattax":7,"wseat":["s1"],
    "app":{"publisher":{"id":"p1"}},"device":{"geo":{"country":"deu"}},
    "user":{"geo":{"country":"FRA"}},"ext":{"debug":true},
    "imp":[{"id":"1","bidfloor":0.0000001,"bidfloorcur":"gbp","secure":1,"instl":1,
      "banner":{"w":300,"h":250,"format":[{"w":300,"h":250},{"w":728,"h":90},
                {"wratio":16,"hratio":9,"wmin":320}],"battr":[1,3]},
      "video":{"mimes":["video/mp4"],"w":640,"h":480,"battr":[7]},
      "pmp":{"private_auction":1,"deals":[{"id":"d1"},
        {"id":"d2","bidfloor":2.5,"bidfloorcur":"eur","at":3,"wseat":["s1"],
         "wadomain":["WWW.Adv.Example"]},{"id":"d3","bidfloor":0,"at":501}]}}]})");
  ASSERT_EQ(reading.problem, "");
  const RequestView& view = reading.view;
  EXPECT_EQ(view.id, "ré");
  EXPECT_EQ(view.at, 2);
  EXPECT_EQ(view.tmax, 200ms);
  EXPECT_TRUE(view.test);
  EXPECT_TRUE(view.debug);
  ASSERT_EQ(view.currencies.size(), 2u);
  EXPECT_EQ(view.currencies[0].view(), "EUR");
  EXPECT_EQ(view.badv, (std::vector<std::string>{"bad.example", "b.example"}));
  EXPECT_EQ(view.bcat, std::vector<std::string>{"IAB25"});
  EXPECT_EQ(view.cattax, 7);
  EXPECT_EQ(view.wseat, std::vector<std::string>{"s1"});
  EXPECT_EQ(view.inventory, RequestView::Inventory::kApp);
  EXPECT_EQ(view.publisher_id, "p1");
  EXPECT_EQ(view.country, "DEU");
  const Imp& imp = view.imps.at(0);
  EXPECT_EQ(imp.floor.micros, 1);
  EXPECT_EQ(imp.floor_currency.view(), "GBP");
  EXPECT_TRUE(imp.secure && imp.instl && imp.private_auction);
  EXPECT_EQ(imp.media, 3);
  EXPECT_EQ(imp.sizes, (std::vector<Size>{{.w = 300, .h = 250}, {.w = 728, .h = 90}}));
  EXPECT_EQ(imp.ratios, (std::vector<Size>{{.w = 16, .h = 9}}));
  EXPECT_EQ(imp.ratio_wmin, std::vector<int32_t>{320});
  EXPECT_EQ(imp.video_size, (Size{.w = 640, .h = 480}));
  EXPECT_EQ(imp.battr, (std::vector<int32_t>{1, 3, 7}));
  ASSERT_EQ(imp.deals.size(), 3u);
  EXPECT_EQ(imp.deals[0].id, "d1");
  EXPECT_FALSE(imp.deals[0].floor_given);
  EXPECT_EQ(imp.deals[1].floor.micros, 2'500'000);
  EXPECT_EQ(imp.deals[1].floor_currency.view(), "EUR");
  EXPECT_EQ(imp.deals[1].at, 3);
  EXPECT_EQ(imp.deals[1].wseat, std::vector<std::string>{"s1"});
  EXPECT_EQ(imp.deals[1].wadomain, std::vector<std::string>{"adv.example"});
  EXPECT_TRUE(imp.deals[2].floor_given);
  EXPECT_EQ(imp.deals[2].at, 0) << "what is not known here is left to the auction";
}

TEST(ReadRequest, names_the_field_that_has_the_wrong_type_or_range) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"null", " must be a JSON object"},
      {"[]", " must be a JSON object"},
      {R"({"id":7})", "id must be a string"},
      {R"({"id":""})", "id must be there"},
      {R"({"id":null})", "id must be there"},
      {R"({"id":"r"})", "imp must have at least one element"},
      {R"({"id":"r","imp":{}})", "imp must be an array"},
      {R"({"id":"r","imp":[null]})", "imp[0] must be an object"},
      {R"({"id":"r","imp":[{}]})", "imp[0].id must be there"},
      {R"({"id":"r","imp":[{"id":1}]})", "imp[0].id must be a string"},
      {request("\"tmax\":\"9\""), "tmax must be a number"},
      {request("\"tmax\":-0.5"), "tmax must not be negative"},
      {request("\"tmax\":1e400"), "tmax is out of range"},
      {request("\"at\":3"), "at must be 1 or 2"},
      {request("\"at\":1.5"), "at must be a whole number"},
      {request("\"at\":true"), "at must be a number"},
      {request("\"cur\":\"USD\""), "cur must be an array"},
      {request("\"cur\":[1]"), "cur[0] must be a string"},
      {request("\"cur\":[\"ZZZ\",\"US\"]"), "cur has no known currency"},
      {request("\"ext\":[]"), "ext must be an object"},
      {request("\"regs\":{\"ext\":\"\"}"), "regs.ext must be an object"},
      {request("\"regs\":{\"gdpr\":2}"), "regs.gdpr must be 0 or 1"},
      {request("\"regs\":{\"ext\":{\"gdpr\":-1}}"), "regs.ext.gdpr must be 0 or 1"},
      {request("\"regs\":{\"ext\":{\"gdpr\":\"1\"}}"), "regs.ext.gdpr must be a number"},
      {request("\"user\":{\"consent\":1}"), "user.consent must be a string"},
      {request("\"user\":{\"ext\":{\"consent\":2}}"), "user.ext.consent must be a string"},
      {request("\"user\":{\"ext\":{\"eids\":{}}}"), "user.ext.eids must be an array"},
      {request("\"user\":{\"geo\":{\"accuracy\":-1}}"), "user.geo.accuracy must not be negative"},
      {request("\"device\":{\"w\":-1}"), "device.w must not be negative"},
      {request("\"device\":{\"h\":0.5}"), "device.h must be a whole number"},
      {request("\"device\":{\"ppi\":4e9}"), "device.ppi is too large"},
      {request("\"device\":[]"), "device must be an object"},
      {request("\"site\":{},\"app\":{}"), "app must not stand beside another of site, app, dooh"},
      {request("\"dooh\":{},\"app\":{}"), "dooh must not stand beside another of site, app, dooh"},
      {request("\"source\":{\"schain\":{\"nodes\":[{\"hp\":\"1\"}]}}"),
       "source.schain.nodes[0].hp must be a number"},
      {request("", "\"secure\":\"1\""), "imp[0].secure must be a number"},
      {request("", "\"bidfloor\":\"1\""), "imp[0].bidfloor must be a number"},
      {request("", "\"bidfloor\":-0.01"), "imp[0].bidfloor must not be negative"},
      {request("", "\"bidfloor\":1e400"), "imp[0].bidfloor is too large"},
      {request("", "\"bidfloor\":1000000000.000001"), "imp[0].bidfloor is too large"},
      {request("", "\"bidfloorcur\":\"XXY\""), "imp[0].bidfloorcur is not a known currency"},
      {request("", "\"ext\":1"), "imp[0].ext must be an object"},
      {request("", "\"video\":{}"), "imp[0].video.mimes must name at least one type"},
      {request("", "\"audio\":{\"mimes\":[\"a\"],\"sequence\":-1}"),
       "imp[0].audio.sequence must not be negative"},
      {request("", "\"pmp\":{\"deals\":[{\"id\":\"\"}]}"), "imp[0].pmp.deals[0].id must be there"},
      {request("", "\"pmp\":{\"deals\":[null]}"), "imp[0].pmp.deals[0] must be an object"},
      {request("", "\"pmp\":{\"deals\":[{\"id\":\"d\",\"bidfloorcur\":\"ZZZ\"}]}"),
       "imp[0].pmp.deals[0].bidfloorcur is not a known currency"},
      {request("", "", "\"w\":-1"), "imp[0].banner.w must not be negative"},
      {request("", "", "\"format\":[{}]"),
       "imp[0].banner.format[0] must have either w and h, or wmin, wratio and hratio"},
      {request("", "", R"("format":[{"w":1,"h":1},{"w":1,"h":1,"wmin":1}])"),
       "imp[0].banner.format[1] must have either w and h, or wmin, wratio and hratio"},
      {request("", "", R"("format":[{"w":1}])"),
       "imp[0].banner.format[0] must have both w and h, not zero"},
      {request("", "", R"("format":[{"wmin":1,"wratio":1}])"),
       "imp[0].banner.format[0] must have all of wmin, wratio and hratio, not zero"},
      {R"({"id":"r","imp":[{"id":"1","banner":null}]})",
       "imp[0] must have at least one of banner, video, audio, native"},
      {R"({"id":"r","imp":[{"id":"a","native":{}},{"\u0069d":"\u0061","native":{}}]})",
       "imp[1].id is the id of another imp too"},
  };
  for (const auto& [json, expected] : cases) {
    EXPECT_EQ(problem_of(json), expected) << json;
  }
}

TEST(ReadRequest, looks_at_names_that_are_too_long_for_the_table_too) {
  const auto problem = [](std::string_view imp, std::string_view site) {
    return Reading(R"({"id":"r","imp":[{"id":"1","banner":{})" + std::string(imp) +
                   R"(}],"site":{"id":"s")" + std::string(site) + "}}")
        .problem;
  };
  EXPECT_EQ(problem(R"(,"displaymanagerver":"1.2")", R"(,"inventorypartnerdomain":"a.example")"),
            "");
  EXPECT_EQ(problem(R"(,"displaymanagerver":null)", R"(,"displaymanagerver":1)"), "");
  EXPECT_TRUE(problem(R"(,"displaymanagerver":1.2)", "").starts_with("imp[0].displaymanagerver"));
  EXPECT_TRUE(problem("", R"(,"inventorypartnerdomain":[])").starts_with("site.inventorypartner"));
  EXPECT_TRUE(problem(R"(,"display\u006danagerver":{})", "") != "") << "escapes decoded";
}

TEST(ReadRequest, tolerates_unknown_members_unknown_enums_nulls_and_whole_floats) {
  for (const std::string& json :
       {request(R"("zzz":[1],"site":null,"device":null,"tmax":null,"cur":null,"at":null)"),
        request(R"("regs":{"gdpr":null,"ext":{"gdpr":1.0,"x":[]}},"at":1.0)"),
        request("", R"("video":{"mimes":["v"],"plcmt":99,"protocols":[999],"w":6.4e2})"),
        request("", R"("ext":{"ext":[],"id":7,"w":-1},"instl":5)"), request("\"tmax\":0.9"),
        request("\"cur\":[]"), request("", "", "\"format\":[]"), request("", "", ""),
        request("", R"("bidfloor":0.123456789012345678901234567890)"),
        request("", "\"bidfloor\":1000000000")}) {
    EXPECT_EQ(problem_of(json), "") << json;
  }
}

TEST(ReadRequest, floors_the_fraction_of_tmax_and_bounds_it_to_a_day) {
  EXPECT_EQ(Reading(request("\"tmax\":933.99")).view.tmax, 933ms);
  EXPECT_EQ(Reading(request("\"tmax\":2e2")).view.tmax, 200ms);
  EXPECT_EQ(Reading(request("\"tmax\":0.9")).view.tmax, 0ms);
  EXPECT_EQ(Reading(request("\"tmax\":86400000")).view.tmax, 24h);
  EXPECT_EQ(Reading(request("\"tmax\":9e12")).view.tmax, 24h);
}

TEST(ReadRequest, rounds_a_floor_up_and_never_down) {
  EXPECT_EQ(Reading(request("", "\"bidfloor\":0.30000000000000004")).view.imps[0].floor.micros,
            300'001);
  EXPECT_EQ(Reading(request("", "\"bidfloor\":5e-1")).view.imps[0].floor.micros, 500'000);
}

TEST(ReadRequest, warns_of_unknown_currencies_beside_known_ones) {
  const Reading reading(request("\"cur\":[\"ZZZ\",\"eur\"]"));
  ASSERT_EQ(reading.view.currencies.size(), 1u);
  EXPECT_EQ(reading.view.currencies[0].view(), "EUR");
  EXPECT_EQ(reading.view.warnings.size(), 1u);
}

std::string with_imps(size_t count, const std::string& last_id = "") {
  std::string out = R"({"id":"r","imp":[)";
  for (size_t i = 0; i < count; ++i) {
    const bool renamed = i + 1 == count && !last_id.empty();
    out += (i > 0 ? "," : "") +
           (R"({"id":")" + (renamed ? last_id : std::to_string(i)) + R"(","native":{}})");
  }
  return out + "]}";
}

TEST(ReadRequest, drops_imps_over_the_cap_with_a_warning_and_refuses_over_a_thousand) {
  EXPECT_EQ(Reading(with_imps(40)).view.imps_dropped, 0u);
  const Reading reading(with_imps(150));
  EXPECT_EQ(reading.problem, "");
  EXPECT_EQ(reading.view.imps.size(), 40u);
  EXPECT_EQ(reading.view.imps_dropped, 110u);
  EXPECT_EQ(reading.view.imps.back().id, "39");
  EXPECT_EQ(reading.view.warnings.size(), 1u);
  EXPECT_EQ(problem_of(with_imps(1000)), "");
  EXPECT_EQ(problem_of(with_imps(1001)), "imp must have at most 1000 elements");
}

TEST(ReadRequest, finds_a_repeated_imp_id_among_few_among_many_and_among_dropped_ones) {
  EXPECT_EQ(problem_of(with_imps(3, "0")), "imp[2].id is the id of another imp too");
  EXPECT_EQ(problem_of(with_imps(30, "7")), "imp[29].id is the id of another imp too");
  EXPECT_EQ(problem_of(with_imps(100, "98")), "imp[99].id is the id of another imp too");
}

TEST(ReadRequest, switches_refuse_what_is_accepted_without_them) {
  struct Case {
    bool RequestPolicy::* flag;
    std::string json;
    std::string problem;
  };

  const std::vector<Case> cases{
      {.flag = &RequestPolicy::require_inventory,
       .json = request(),
       .problem = "site must be there, or app, or dooh"},
      {.flag = &RequestPolicy::require_site_id_or_page,
       .json = request("\"site\":{\"id\":\"\"}"),
       .problem = "site must have id or page"},
      {.flag = &RequestPolicy::require_site_id_or_page,
       .json = request("\"dooh\":{\"venuetype\":[]}"),
       .problem = "dooh must have id or venuetype"},
      {.flag = &RequestPolicy::require_banner_size,
       .json = request("", "", "\"w\":300"),
       .problem = "imp[0].banner must have w and h, or format"},
      {.flag = &RequestPolicy::refuse_banner_2_4_sizes,
       .json = request("", "", R"("w":1,"h":1,"hmax":9)"),
       .problem = "imp[0].banner.hmax is not accepted; use format"},
      {.flag = &RequestPolicy::refuse_metric,
       .json = request("", "\"metric\":[{}]"),
       .problem = "imp[0].metric is not accepted here"},
      {.flag = &RequestPolicy::check_native,
       .json = request("", R"("native":{"request":"{}"})"),
       .problem = "imp[0].native.request must have at least one asset"},
      {.flag = &RequestPolicy::check_native,
       .json = request("", R"("native":{"request":"{"})"),
       .problem = "imp[0].native.request is not valid JSON"},
  };
  for (const Case& row : cases) {
    EXPECT_EQ(problem_of(row.json), "") << row.json;
    RequestPolicy policy;
    policy.*row.flag = true;
    EXPECT_EQ(Reading(row.json, policy).problem, row.problem) << row.json;
  }
  RequestPolicy sizes;
  sizes.require_banner_size = true;
  EXPECT_EQ(Reading(request("", "\"instl\":1", ""), sizes).problem, "");
  RequestPolicy native;
  native.check_native = true;
  EXPECT_EQ(
      Reading(
          request("", R"("native":{"request":"{\"assets\":[{\"id\":1,\"title\":{\"len\":9}}]}"})"),
          native)
          .problem,
      "");
}

TEST(ReadRequest, reads_again_into_the_same_view_as_into_a_new_one) {
  Reading reading(
      request("\"badv\":[\"a\",\"b\"],\"tmax\":9,\"site\":{\"publisher\":{\"id\":\"p\"}}",
              "\"bidfloor\":2,\"pmp\":{\"deals\":[{\"id\":\"d\"}]}"));
  ASSERT_EQ(reading.problem, "");
  const Padded plain(request());
  ASSERT_TRUE(reading.document.walk(plain.view()));
  ASSERT_TRUE(read_request(reading.document, {}, reading.view));
  EXPECT_TRUE(reading.view.badv.empty());
  EXPECT_EQ(reading.view.publisher_id, "");
  EXPECT_EQ(reading.view.tmax, 0ns);
  ASSERT_EQ(reading.view.imps.size(), 1u);
  EXPECT_EQ(reading.view.imps[0].floor.micros, 0);
  EXPECT_TRUE(reading.view.imps[0].deals.empty());
  EXPECT_EQ(reading.view.imps[0].sizes.size(), 1u);
  reading.view.clear();
  EXPECT_TRUE(reading.view.imps.empty());
  EXPECT_EQ(reading.view.id, "");
}

TEST(ErrorJson, is_short_and_names_the_field) {
  EXPECT_EQ(error_json({.path = "imp[0].banner.w", .what = "must not be \"odd\""}),
            R"({"error":{"field":"imp[0].banner.w","what":"must not be \"odd\""}})");
  Document d;
  const Padded text(R"({"a":1,"a":2})");
  const auto walked = d.walk(text.view());
  ASSERT_FALSE(walked);
  EXPECT_EQ(
      error_json(field_error(d, walked.error())),
      R"j({"error":{"field":"","what":"names a member twice in one object (near byte 13)"}})j");
}

TEST(Currency, knows_codes_in_use_only) {
  const auto known = [](char a, char b, char c) {
    return known_currency(base::Currency{.code = {a, b, c}});
  };
  EXPECT_TRUE(known_currency(base::Currency{}));
  EXPECT_TRUE(known('A', 'E', 'D'));
  EXPECT_TRUE(known('Z', 'W', 'G'));
  EXPECT_FALSE(known('u', 's', 'd'));
  EXPECT_FALSE(known('Z', 'Z', 'Z'));
  EXPECT_FALSE(known('D', 'E', 'M'));
}

}  // namespace
}  // namespace spillway::openrtb
