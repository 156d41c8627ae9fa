#include "exchange/response.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::exchange {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The reply to one DSP's answer.
std::string reply_to(const std::string& answer, const std::string& request) {
  FakeMarket market;
  market.add("alpha", answers(answer));
  return market.run(request).body;
}

TEST(Response, AWinningBidIsTheDspsOwnObjectMemberForMember) {
  const std::string answer = response_json(
      R"({"id":"b","impid":"1","x":{"big":12345678901234567890123,"s":"\u00e9\/"},"price":1.50,"adm":"<b>x</b>",)"
      R"("w":300,"h":250,"ext":{"k":[1, 2]}})");
  EXPECT_TRUE(has(
      reply_to(answer, request_json()),
      R"("seatbid":[{"bid":[{"id":"b","impid":"1","x":{"big":12345678901234567890123,"s":"\u00e9\/"},"adm":"<b>x</b>",)"
      R"("w":300,"h":250,"ext":{"k":[1, 2]},"mtype":1,"price":1.5}],"seat":"alpha"}])"))
      << reply_to(answer, request_json());
}

TEST(Response, NoticeUrlsStayInside) {
  const std::string answer = response_json(bid_json(
      "b", "1", "1", R"(,"w":300,"h":250,"nurl":"http://n","burl":"http://b","lurl":"http://l")"));
  const std::string reply = reply_to(answer, request_json());
  EXPECT_TRUE(has(reply, R"("id":"b")"));
  EXPECT_FALSE(has(reply, "url")) << reply;
}

TEST(Response, MacrosAreExpandedInTheMarkup) {
  const std::string answer = response_json(
      R"({"id":"b","impid":"1","price":2.5,"adid":"ad&1","w":300,"h":250,)"
      R"("adm":"${AUCTION_ID}|${AUCTION_BID_ID}|${AUCTION_IMP_ID}|${AUCTION_SEAT_ID}|${AUCTION_AD_ID}|${AUCTION_PRICE}|)"
      R"(${AUCTION_CURRENCY}|${AUCTION_MBR}|${AUCTION_LOSS}|${AUCTION_MIN_TO_WIN}|${AUCTION_MULTIPLIER}|)"
      R"(${AUCTION_IMP_TS}|${UNKNOWN}|\"${AUCTION_PRICE:B64}\" https://x.example/?a=${AUCTION_AD_ID}"})",
      R"(,"bidid":"resp-7")");
  EXPECT_TRUE(
      has(reply_to(answer, request_json()),
          R"("adm":"r1|resp-7|1|alpha|ad&1|2.5|USD|1|0||1|1700000000123|${UNKNOWN}|\"Mi41\" )"
          R"(https://x.example/?a=ad%261")"))
      << reply_to(answer, request_json());
}

TEST(Response, ThePriceMacroIsTheClearingPrice) {
  FakeMarket market;
  market.add(
      "alpha",
      answers(response_json(
          R"({"id":"b","impid":"1","price":4,"adm":"${AUCTION_PRICE} ${AUCTION_MBR}","w":300,"h":250})")));
  market.add("beta", bids("1.99"));
  market.run(request_json(kBannerImp, R"(,"at":2)"));
  EXPECT_TRUE(has(market.reply.body, R"("adm":"2 0.5")")) << market.reply.body;
}

TEST(Response, TheRequestIdIsEchoedInItsOwnSpelling) {
  for (const std::string_view id :
       {R"("plain")", R"("a\u0000b")", R"("\u0069d\/\"\\")", R"("é<>&")"}) {
    const std::string request =
        R"({"id":)" + std::string(id) + R"(,"imp":[)" + std::string(kBannerImp) + "]}";
    FakeMarket market;
    market.add("alpha", bids("1"));
    EXPECT_TRUE(
        market.run(request).body.starts_with(R"({"id":)" + std::string(id) + ",\"seatbid\""))
        << market.reply.body;
    market.behaviour[0] = answers_no_bid();
    market.start.has_origin = true;
    EXPECT_EQ(market.run(request).body, R"({"id":)" + std::string(id) + R"(,"nbr":0})");
  }
}

TEST(Response, AnExtThatIsNoObjectIsLeftOut) {
  const std::string reply = reply_to(
      response_json(bid_json("b", "1", "1", R"(,"w":300,"h":250,"ext":"x")")), request_json());
  EXPECT_TRUE(has(reply, R"("id":"b")")) << reply;
  EXPECT_FALSE(has(reply, "ext"));
}

TEST(Response, MtypeIsSaidOnceWhateverTheBidSaid) {
  for (const std::string_view mtype : {"", R"(,"mtype":null)", R"(,"mtype":1)"}) {
    const std::string reply =
        reply_to(response_json(bid_json("b", "1", "1", R"(,"w":300,"h":250)" + std::string(mtype))),
                 request_json());
    const auto at = reply.find(R"("mtype":1)");
    ASSERT_NE(at, std::string::npos) << reply;
    EXPECT_EQ(reply.find("mtype", at + 5), std::string::npos) << reply;
  }
}

TEST(Response, SeatsAreInOrderAndTheirBidsInOrderOfImp) {
  FakeMarket market;
  const std::string both = R"({"id":"r1","seatbid":[{"seat":"z","bid":[)" +
                           bid_json("bz", "2", "5") + R"(]},{"seat":"a","bid":[)" +
                           bid_json("b3", "3", "5") + "," + bid_json("b1", "1", "5") + "]}]}";
  market.add("alpha", answers(both));
  market.run(
      request_json(R"({"id":"1","banner":{"w":300,"h":250}},{"id":"2","banner":{"w":300,"h":250}},)"
                   R"({"id":"3","banner":{"w":300,"h":250}})"));
  const std::string& body = market.reply.body;
  EXPECT_LT(body.find(R"("id":"b1")"), body.find(R"("id":"b3")"));
  EXPECT_LT(body.find(R"("id":"b3")"), body.find(R"("seat":"a")"));
  EXPECT_LT(body.find(R"("seat":"a")"), body.find(R"("id":"bz")"));
  EXPECT_EQ(body.find(R"("seat":"a")"), body.rfind(R"("seat":"a")"));
}

TEST(Response, EveryReplyIsOneJsonDocument) {
  FakeMarket market;
  market.add("alpha", answers(response_json(bid_json("b\\u0000\\\"", "1", "1.000001"))));
  market.add("beta", is_refused(520));
  market.add_house().adm = "<a title=\"q\\\" \n>";
  market.run(request_json(
      R"({"id":"1","banner":{"w":300,"h":250}},{"id":"\u0032","banner":{"w":300,"h":250}})",
      R"(,"test":1)"));
  openrtb::Document document;
  const openrtb::Padded padded(market.reply.body);
  EXPECT_TRUE(document.walk(padded.view())) << market.reply.body;
  EXPECT_TRUE(has(market.reply.body, R"("impid":"\u0032")"));
}

}  // namespace
}  // namespace spillway::exchange
