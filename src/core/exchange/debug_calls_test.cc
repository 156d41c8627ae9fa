#include "exchange/debug_calls.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "exchange/replay.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"

namespace spillway::exchange {
namespace {

using openrtb::Key;
using openrtb::NodeId;

class DebugCalls : public ::testing::Test {
 protected:
  DebugCalls() { market_.snapshot.accounts[0].shows_calls = true; }

  DspConfig& add(std::string name, FakeAnswer answer) {
    DspConfig& dsp = market_.add(std::move(name), std::move(answer));
    dsp.endpoints[0].host = "dsp.example";
    dsp.endpoints[0].port = 8443;
    dsp.endpoints[0].tls = true;
    dsp.endpoints[0].target = "/bid?token=s3cret&x=&flag&a=b=c";
    return dsp;
  }

  /// Runs a request with test=1 and walks the reply.
  void ask(std::string_view more = R"(,"test":1)", std::string_view imps = kBannerImp) {
    text_ = openrtb::Padded(market_.run(request_json(imps, more)).body);
    ASSERT_TRUE(document_.walk(text_.view())) << market_.reply.body;
  }

  [[nodiscard]] NodeId ext(std::string_view member) const {
    return document_.find(document_.find(document_.root(), Key::ext), member);
  }

  [[nodiscard]] NodeId call(std::string_view dsp) const {
    return document_.first_child(document_.find(document_.find(ext("debug"), "httpcalls"), dsp));
  }

  [[nodiscard]] std::string text(NodeId call, std::string_view member) const {
    const NodeId at = document_.find(call, member);
    const std::string text = document_.string(at);
    return text.empty() ? std::string(document_.raw(at)) : text;
  }

  FakeMarket market_;
  openrtb::Padded text_{""};
  openrtb::Document document_;
};

TEST_F(DebugCalls, ShowEachCallWithWhatWentOutAndCameBack) {
  add("alpha", bids("1.25"));
  add("beta", answers_status(503)).openrtb = "2.5";
  add("gamma", stays_silent());
  add("refused", is_refused(520));
  ask();
  const NodeId alpha = call("alpha");
  EXPECT_EQ(text(alpha, "requestbody"), market_.seen["alpha/display"]);
  EXPECT_EQ(text(alpha, "responsebody"), market_.behaviour[0].body);
  EXPECT_EQ(text(alpha, "status"), "200");
  EXPECT_EQ(text(alpha, "time_ms"), "20");
  EXPECT_EQ(text(alpha, "error"), "");
  EXPECT_EQ(text(alpha, "requestheaders"),
            R"({"Content-Type":["application/json"],"x-openrtb-version":["2.6"]})");
  EXPECT_EQ(text(call("beta"), "status"), "503");
  EXPECT_EQ(text(call("gamma"), "error"), "timeout");
  EXPECT_EQ(text(call("gamma"), "status"), "0");
  EXPECT_EQ(call("refused"), openrtb::kAbsent);
  EXPECT_EQ(document_.raw(document_.find(ext("responsetimemillis"), "alpha")), "20");
}

TEST_F(DebugCalls, HideSecretsOfUrlsAndNoticesOfBids) {
  add("alpha",
      answers(response_json(bid_json(
          "b", "1", "1",
          R"(,"w":300,"h":250,"nurl":"http://n","burl":{"x":"http://b"},"lurl":"http://l","q":1)"))));
  ask();
  EXPECT_EQ(text(call("alpha"), "uri"),
            "https://dsp.example:8443/bid?token=redacted&x=redacted&flag&a=redacted");
  EXPECT_TRUE(text(call("alpha"), "responsebody")
                  .contains(R"("nurl":"redacted","burl":"redacted","lurl":"redacted","q":1)"))
      << market_.reply.body;
  EXPECT_FALSE(market_.reply.body.contains("http://"));
  EXPECT_FALSE(market_.reply.body.contains("s3cret"));
}

TEST_F(DebugCalls, AreForAccountsThatMayAndRequestsThatAsk) {
  add("alpha", bids("1"));
  ask(R"(,"ext":{"debug":true})");
  EXPECT_NE(ext("debug"), openrtb::kAbsent);
  ask(R"(,"ext":{"prebid":{"debug":true}})");
  EXPECT_NE(ext("debug"), openrtb::kAbsent);
  ask("");
  EXPECT_EQ(ext("debug"), openrtb::kAbsent);
  market_.snapshot.accounts[0].shows_calls = false;
  ask();
  EXPECT_EQ(ext("debug"), openrtb::kAbsent);
  EXPECT_EQ(ext("responsetimemillis"), openrtb::kAbsent);
  ask(R"(,"ext":{"debug":1})");
  EXPECT_EQ(ext("debug"), openrtb::kAbsent);
  EXPECT_TRUE(market_.reply.body.contains("ext.debug: this account is not shown"))
      << market_.reply.body;
}

TEST_F(DebugCalls, ShowGarbageAsTextOfAscii) {
  add("alpha", answers("\xff\x01{\"id\":\"\xc3"));
  ask();
  EXPECT_EQ(text(call("alpha"), "responsebody"), "?\x01{\"id\":\"?") << market_.reply.body;
}

TEST_F(DebugCalls, AreBounded) {
  std::string long_text;
  while (long_text.size() < 2 * kShownBodyBytes) {
    long_text += "\u00fc\u20ac";
  }
  for (int i = 10; i < 50; ++i) {
    add("d" + std::to_string(i),
        answers(response_json(bid_json("b", "1", "1"), R"(,"x":")" + long_text + '"')));
  }
  ask();
  const NodeId first = call("d10");
  EXPECT_EQ(text(first, "cut"), "true");
  const std::string shown = text(first, "responsebody");
  EXPECT_LE(shown.size(), kShownBodyBytes);
  EXPECT_GT(shown.size(), kShownBodyBytes - 4);
  EXPECT_EQ(document_.raw(document_.find(call("d49"), "responsebody")), R"("")");
  EXPECT_EQ(text(call("d49"), "cut"), "true");
  EXPECT_LT(market_.reply.body.size(), kShownBytes + kShownBytes / 4);
}

TEST_F(DebugCalls, OfADspWithTwoEndpointsStandTogether) {
  DspConfig& alpha = add("alpha", bids("1"));
  alpha.endpoints.push_back(alpha.endpoints[0]);
  alpha.endpoints[0].media = 1;
  alpha.endpoints[1].media = 2;
  alpha.endpoints[1].path = "video";
  add("beta", answers_no_bid());
  ask(R"(,"test":1)", std::string(kBannerImp) + R"(,{"id":"2","video":{"mimes":["video/mp4"]}})");
  EXPECT_EQ(
      document_.node(document_.find(document_.find(ext("debug"), "httpcalls"), "alpha")).children,
      2U);
  EXPECT_EQ(document_.node(ext("responsetimemillis")).children, 2U);
}

TEST_F(DebugCalls, ReplayByteForByte) {
  add("alpha", bids("1"));
  add("beta", fails(base::CallError::kRefused));
  ask();
  std::string log;
  append_record(log, market_.record);
  RecordReader reader(log);
  const auto entry = reader.next();
  ASSERT_TRUE(entry.has_value());
  Auction again;
  EXPECT_EQ(replay(market_.snapshot, entry->record, again).body, market_.reply.body);
}

}  // namespace
}  // namespace spillway::exchange
