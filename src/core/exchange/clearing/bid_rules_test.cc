#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "exchange/clearing/bid.h"
#include "exchange/clearing/judged_bid.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {
namespace {

using openrtb::Loss;
using openrtb::MediaType;

uint8_t media(std::initializer_list<MediaType> types) {
  uint8_t set = 0;
  for (const MediaType type : types) {
    set = static_cast<uint8_t>(set | static_cast<uint8_t>(type));
  }
  return set;
}

bool warned(const Bid& bid, Warning warning) {
  return (bid.warnings & static_cast<uint32_t>(warning)) != 0;
}

TEST(BidRulesTest, ABidNeedsAnIdAndAnImpOfTheRequest) {
  Scene scene;
  EXPECT_EQ(scene.loss(""), Loss::kWon);
  for (const std::string_view members :
       {R"("id":"")", R"("id":null)", R"("id":7)", R"("impid":"2")", R"("impid":1)",
        R"("impid":null)", R"("impid":"")"}) {
    EXPECT_EQ(scene.loss(members), Loss::kInvalidResponse) << members;
  }
  EXPECT_EQ(scene.bid(R"("impid":"99")").impid, "99");
  EXPECT_EQ(scene.answer.bids.front().imp, Bid::kNoImp);
}

TEST(BidRulesTest, ASeatMustBeAmongTheWantedAndNotAmongTheBlocked) {
  Scene scene;
  scene.request.wseat = {"t"};
  EXPECT_EQ(scene.loss(""), Loss::kSeatBlocked);
  scene.request.wseat = {"t", "s"};
  EXPECT_EQ(scene.loss(""), Loss::kWon);
  scene.request.bseat = {"s"};
  EXPECT_EQ(scene.loss(""), Loss::kSeatBlocked);
}

TEST(BidRulesTest, APriceThatIsNoNumberIsMissing) {
  Scene scene;
  for (const std::string_view price : {"\"1.25\"", "true", "null", "[1]", "{}"}) {
    EXPECT_EQ(scene.loss(R"("price":)" + std::string(price)), Loss::kMissingPrice) << price;
  }
}

TEST(BidRulesTest, APriceMustBePositiveAndSane) {
  Scene scene;
  EXPECT_EQ(scene.loss(R"("price":-1)"), Loss::kInvalidResponse);
  EXPECT_EQ(scene.loss(R"("price":-1e308)"), Loss::kInvalidResponse);
  EXPECT_EQ(scene.loss(R"("price":0)"), Loss::kInvalidResponse);
  EXPECT_EQ(scene.loss(R"("price":1e-9)"), Loss::kInvalidResponse) << "rounds to nothing";
  EXPECT_EQ(scene.loss(R"("price":1e308)"), Loss::kPriceSanity);
  EXPECT_EQ(scene.loss(R"("price":1000)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":1000.000001)"), Loss::kPriceSanity);
  scene.dsp.checks.price_cap.micros = 1'000'000;
  EXPECT_EQ(scene.loss(R"("price":1.000001)"), Loss::kPriceSanity);
}

TEST(BidRulesTest, APriceAtTheFloorPassesAndOneMicroBelowFails) {
  Scene scene;
  scene.imp().floor.micros = 500'000;
  EXPECT_EQ(scene.loss(R"("price":0.5)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":5e-1)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":0.499999)"), Loss::kBelowFloor);
  EXPECT_EQ(scene.loss(R"("price":0.4999999)"), Loss::kBelowFloor) << "rounds down, never up";
  EXPECT_EQ(scene.loss(R"("price":0)"), Loss::kBelowFloor);
}

TEST(BidRulesTest, TheCurrencyMustBeOneOfTheRequest) {
  Scene scene;
  for (const std::string_view cur :
       {R"("cur":"USD",)", R"("cur":"usd",)", R"("cur":"",)", R"("cur":null,)"}) {
    EXPECT_EQ(scene.loss("", cur), Loss::kWon) << cur;
  }
  for (const std::string_view cur :
       {R"("cur":"EUR",)", R"("cur":"dollar",)", R"("cur":"U5D",)", R"("cur":840,)"}) {
    EXPECT_EQ(scene.loss("", cur), Loss::kNoFxRate) << cur;
  }
  scene.request.currencies.push_back({{'E', 'U', 'R'}});
  EXPECT_EQ(scene.loss("", R"("cur":"eur",)"), Loss::kWon);
}

TEST(BidRulesTest, AFloorInAnotherCurrencyFailsClosed) {
  Scene scene;
  scene.request.currencies.push_back({{'E', 'U', 'R'}});
  scene.imp().floor.micros = 1;
  scene.imp().floor_currency = {{'E', 'U', 'R'}};
  EXPECT_EQ(scene.loss(""), Loss::kNoFxRate);
  scene.imp().floor.micros = 0;
  EXPECT_EQ(scene.loss(""), Loss::kWon) << "no floor needs no rate";
}

TEST(BidRulesTest, MarkupMustBeThereAndOfABoundedSize) {
  Scene scene;
  EXPECT_EQ(scene.loss(R"("adm":null)"), Loss::kMissingMarkup);
  EXPECT_EQ(scene.loss(R"("adm":"")"), Loss::kMissingMarkup);
  EXPECT_EQ(scene.loss(R"("adm":{"native":{}})"), Loss::kMissingMarkup);
  EXPECT_EQ(scene.loss(R"("adm":"","nurl":"https://n")"), Loss::kMissingMarkup);
  scene.dsp.checks.allow_nurl_only = true;
  EXPECT_EQ(scene.loss(R"("adm":"","nurl":"https://n")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("adm":"","adid":"a")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("adm":"")"), Loss::kMissingMarkup);
  scene.dsp.checks.markup = Check::kWarn;
  EXPECT_TRUE(warned(scene.bid(R"("adm":"")"), Warning::kMarkup));
  scene.dsp.checks.adm_bytes = 4;
  EXPECT_EQ(scene.loss(R"("adm":"1234")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("adm":"12345")"), Loss::kCreativeGeneral);
}

TEST(BidRulesTest, CridMtypeAndResponseIdAreDemandedOnlyWhenSwitchedOn) {
  Scene scene;
  EXPECT_EQ(scene.loss(""), Loss::kWon);
  scene.dsp.checks.require_crid = true;
  EXPECT_EQ(scene.loss(""), Loss::kMissingCrid);
  EXPECT_EQ(scene.loss(R"("crid":"")"), Loss::kMissingCrid);
  EXPECT_EQ(scene.loss(R"("crid":"c")"), Loss::kWon);
  scene.dsp.checks.require_crid = false;
  scene.dsp.checks.require_mtype = true;
  EXPECT_EQ(scene.loss(""), Loss::kFormat);
  EXPECT_EQ(scene.loss(R"("mtype":1)"), Loss::kWon);
  scene.dsp.checks.require_mtype = false;
  scene.request.id = "other";
  EXPECT_EQ(scene.loss(""), Loss::kWon);
  scene.dsp.checks.require_response_id = true;
  EXPECT_EQ(scene.loss(""), Loss::kInvalidResponse);
}

TEST(BidRulesTest, ADealMustHaveBeenOfferedAndAPrivateAuctionTakesNothingElse) {
  Scene scene;
  EXPECT_EQ(scene.loss(R"("dealid":"d1")"), Loss::kInvalidDeal);
  EXPECT_EQ(scene.loss(R"("dealid":7)"), Loss::kInvalidDeal);
  EXPECT_EQ(scene.loss(R"("dealid":"")"), Loss::kWon);
  scene.imp().deals = {{.id = "d0"}, {.id = "d1"}};
  EXPECT_EQ(scene.loss(R"("dealid":"d1")"), Loss::kWon);
  EXPECT_EQ(scene.loss(""), Loss::kWon);
  scene.imp().private_auction = true;
  EXPECT_EQ(scene.loss(R"("dealid":"d1")"), Loss::kWon);
  EXPECT_EQ(scene.loss(""), Loss::kNotAllowedInDeal);
  scene.dsp.checks.deal = Check::kWarn;
  EXPECT_TRUE(warned(scene.bid(R"("dealid":"d9")"), Warning::kDeal));
  EXPECT_TRUE(scene.answer.bids.front().valid());
}

TEST(BidRulesTest, AnMtypeThatTheImpDoesNotTakeIsTheWrongFormat) {
  Scene scene;
  EXPECT_EQ(scene.loss(R"("mtype":2)"), Loss::kFormat);
  EXPECT_EQ(scene.loss(R"("mtype":0)"), Loss::kWon) << "0 is absent";
  EXPECT_EQ(scene.loss(R"("mtype":99)"), Loss::kWon) << "unknown values are tolerated";
  EXPECT_EQ(scene.loss(R"("mtype":"video")"), Loss::kWon);
}

TEST(BidRulesTest, WithoutMtypeTheOnlyMediaTypeOfTheImpIsTaken) {
  Scene scene;
  scene.imp().media = media({MediaType::kAudio});
  EXPECT_EQ(scene.bid("").media, MediaType::kAudio);
  EXPECT_EQ(scene.answer.bids.front().loss, Loss::kWon);
}

TEST(BidRulesTest, WithoutMtypeTheMarkupTellsTheMediaType) {
  Scene scene;
  scene.imp().media = media({MediaType::kBanner, MediaType::kVideo, MediaType::kNative});
  EXPECT_EQ(scene.bid(R"("adm":"<VAST version=\"4\"/>")").media, MediaType::kVideo);
  EXPECT_EQ(scene.bid(R"("adm":"<?xml?> <vast/>")").media, MediaType::kVideo);
  EXPECT_EQ(scene.bid(R"("adm":"{\"native\":{}}")").media, MediaType::kNative);
  EXPECT_EQ(scene.bid(R"("adm":"<div>")").media, MediaType::kBanner);
  EXPECT_EQ(scene.bid(R"("adm":"what?")").media, MediaType::kBanner);
  scene.imp().media = media({MediaType::kBanner, MediaType::kAudio});
  EXPECT_EQ(scene.bid(R"("adm":"<VAST/>")").media, MediaType::kAudio);
  scene.imp().media = media({MediaType::kVideo, MediaType::kNative});
  EXPECT_EQ(scene.loss(R"("adm":"<div>")"), Loss::kFormat);
}

TEST(BidRulesTest, ABannerMustHaveASizeOfTheImpOrSayNone) {
  Scene scene;
  EXPECT_EQ(scene.loss(R"("w":728,"h":90)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("w":0,"h":0)"), Loss::kWon);
  for (const std::string_view members :
       {R"("w":728,"h":250)", R"("w":300)", R"("w":"300","h":"250")", R"("w":-300,"h":-250)",
        R"("w":1e300,"h":250)", R"("w":300.5,"h":250)"}) {
    EXPECT_EQ(scene.loss(members), Loss::kSize) << members;
  }
  scene.dsp.checks.size = Check::kWarn;
  EXPECT_TRUE(warned(scene.bid(R"("w":1,"h":1)"), Warning::kSize));
  EXPECT_TRUE(scene.answer.bids.front().valid());
  scene.dsp.checks.size = Check::kSkip;
  EXPECT_EQ(scene.bid(R"("w":1,"h":1)").warnings, 0);
}

TEST(BidRulesTest, AFlexibleRatioTakesEverySizeOfItFromItsLeastWidthOn) {
  Scene scene;
  scene.imp().sizes.clear();
  scene.imp().ratios = {{.w = 16, .h = 9}};
  scene.imp().ratio_wmin = {320};
  EXPECT_EQ(scene.loss(R"("w":640,"h":360)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("w":333,"h":187)"), Loss::kWon) << "whole pixels";
  EXPECT_EQ(scene.loss(R"("w":304,"h":171)"), Loss::kSize) << "too narrow";
  EXPECT_EQ(scene.loss(R"("w":640,"h":365)"), Loss::kSize);
}

TEST(BidRulesTest, OnlyBannersAreMeasured) {
  Scene scene;
  scene.imp().media = media({MediaType::kVideo});
  EXPECT_EQ(scene.loss(R"("w":1,"h":1)"), Loss::kWon);
  scene.imp().media = media({MediaType::kBanner});
  scene.imp().sizes.clear();
  EXPECT_EQ(scene.loss(R"("w":1,"h":1)"), Loss::kWon) << "an imp without sizes takes all";
}

TEST(BidRulesTest, ASecureImpTakesNoPlainHttpResource) {
  Scene scene;
  const std::string_view bad = R"("adm":"<img src='http://a.example/i'>")";
  EXPECT_EQ(scene.loss(bad), Loss::kWon);
  scene.imp().secure = true;
  EXPECT_EQ(scene.loss(bad), Loss::kNotSecure);
  EXPECT_EQ(scene.loss(R"("adm":"<img src='\u0068ttp:\/\/a.example/i'>")"), Loss::kNotSecure);
  EXPECT_EQ(scene.loss(R"("adm":"<img src='https://a.example/i'>")"), Loss::kWon);
  scene.dsp.checks.secure = Check::kWarn;
  EXPECT_TRUE(warned(scene.bid(bad), Warning::kSecure));
}

TEST(BidRulesTest, MarkupThatIsAUrlOrComesFromOneMustBeSecureToo) {
  Scene scene;
  scene.imp().secure = true;
  scene.dsp.checks.allow_nurl_only = true;
  EXPECT_EQ(scene.loss(R"("adm":"","nurl":"http://a.example/markup")"), Loss::kNotSecure);
  EXPECT_EQ(scene.loss(R"("adm":null,"nurl":"HTTP:\/\/a.example/markup")"), Loss::kNotSecure);
  EXPECT_EQ(scene.loss(R"("adm":"","nurl":"https://a.example/?u=http://b.example")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("nurl":"http://a.example/win")"), Loss::kWon)
      << "a notice is ours to send";
  EXPECT_EQ(scene.loss(R"("adm":" http://a.example/vast.xml")"), Loss::kNotSecure);
  scene.imp().media = static_cast<uint8_t>(MediaType::kVideo);
  EXPECT_EQ(scene.loss(R"("adm":"<VAST><Ad><Wrapper><VASTAdTagURI><![CDATA[http://a.example/v]]>)"
                       R"(</VASTAdTagURI></Wrapper></Ad></VAST>")"),
            Loss::kNotSecure);
  scene.imp().secure = false;
  EXPECT_EQ(scene.loss(R"("adm":"","nurl":"http://a.example/markup")"), Loss::kWon);
}

TEST(BidRulesTest, ABlockedAdvertiserIsRefusedInEverySpelling) {
  Scene scene;
  scene.request.badv = {"blocked.example"};
  for (const std::string_view members :
       {R"("adomain":["ok.example","blocked.example"])", R"("adomain":["WWW.Blocked.Example"])",
        R"("adomain":["shop.blocked.example"])", R"("adomain":"blocked.example")",
        R"("adomain":["bl\u006fcked.example"])"}) {
    EXPECT_EQ(scene.loss(members), Loss::kAdvertiser) << members;
  }
  for (const std::string_view members :
       {R"("adomain":["unblocked.example"])", R"("adomain":[])", R"("adomain":[null,7])", ""}) {
    EXPECT_EQ(scene.loss(members), Loss::kWon) << members;
  }
  EXPECT_TRUE(warned(scene.bid(R"("adomain":"ok.example")"), Warning::kAdomainType));
  EXPECT_TRUE(scene.answer.bids.front().valid());
}

TEST(BidRulesTest, ABlockedCategoryIsRefusedWithItsChildrenInItsOwnTaxonomyOnly) {
  Scene scene;
  scene.request.bcat = {"IAB25"};
  EXPECT_EQ(scene.loss(R"("cat":["IAB1","IAB25-3"])"), Loss::kCategory);
  EXPECT_EQ(scene.loss(R"("cat":"iab25")"), Loss::kCategory);
  EXPECT_EQ(scene.loss(R"("cat":["IAB250"])"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("cat":["IAB25"],"cattax":6)"), Loss::kWon);
  scene.request.cattax = 6;
  scene.request.bcat = {"25"};
  EXPECT_EQ(scene.loss(R"("cat":["25"],"cattax":6)"), Loss::kCategory);
  EXPECT_EQ(scene.loss(R"("cat":["25-3"],"cattax":6)"), Loss::kWon);
}

TEST(BidRulesTest, CategoriesOfAnotherTaxonomyNeverMatch) {
  Scene scene;
  scene.request.cattax = 7;
  scene.request.bcat = {"IAB25", "53"};
  EXPECT_EQ(scene.loss(R"("cat":["IAB25"])"), Loss::kWon) << "absent is taxonomy 1";
  EXPECT_EQ(scene.loss(R"("cat":["IAB25"],"cattax":null)"), Loss::kWon);
  for (const std::string_view other :
       {"1", "2", "6", "70", "7.5", "true", "\"x\"", "\"7x\"", "[7]"}) {
    EXPECT_EQ(scene.loss(R"("cat":["53"],"cattax":)" + std::string(other)), Loss::kWon) << other;
  }
  EXPECT_EQ(scene.loss(R"("cat":["53"],"cattax":7)"), Loss::kCategory);
  EXPECT_EQ(scene.loss(R"("cat":["53"],"cattax":"7")"), Loss::kCategory) << "quotes hide nothing";
  scene.request.cattax = 1;
  EXPECT_EQ(scene.loss(R"("cat":["IAB25-3"],"cattax":"?")"), Loss::kWon);
}

TEST(BidRulesTest, WhereCategoriesAreAllowedABidNeedsOneOfThem) {
  Scene scene;
  scene.request.acat = {"IAB1", "IAB2-3"};
  EXPECT_EQ(scene.loss(R"("cat":["IAB7","IAB1-4"])"), Loss::kWon) << "a child of an allowed one";
  EXPECT_EQ(scene.loss(R"("cat":"IAB2-3")"), Loss::kWon);
  for (const std::string_view members :
       {"", R"("cat":[])", R"("cat":["IAB2"])", R"("cat":["IAB10"])", R"("cat":[7,null])",
        R"("cat":["IAB1"],"cattax":2)", R"("cat":["IAB1"],"cattax":"one")"}) {
    EXPECT_EQ(scene.loss(members), Loss::kCategory) << members;
  }
  scene.request.bcat = {"IAB1-4"};
  EXPECT_EQ(scene.loss(R"("cat":["IAB1-4"])"), Loss::kCategory) << "a request with both: both hold";
  scene.request.bcat.clear();
  scene.dsp.checks.acat = Check::kWarn;
  EXPECT_TRUE(warned(scene.bid(""), Warning::kAcat));
  scene.dsp.checks.acat = Check::kSkip;
  EXPECT_EQ(scene.bid("").warnings, 0U);
}

TEST(BidRulesTest, ABlockedAttributeIsRefused) {
  Scene scene;
  scene.imp().battr = {3, 8};
  EXPECT_EQ(scene.loss(R"("attr":[1,8])"), Loss::kAttribute);
  EXPECT_EQ(scene.loss(R"("attr":3)"), Loss::kAttribute);
  EXPECT_EQ(scene.loss(R"("attr":[1,"3"])"), Loss::kWon);
  scene.dsp.checks.battr = Check::kWarn;
  EXPECT_TRUE(warned(scene.bid(R"("attr":[3])"), Warning::kBattr));
}

TEST(BidRulesTest, TheFirstRuleInOrderNamesTheReason) {
  Scene scene;
  scene.imp().floor.micros = 2'000'000;
  EXPECT_EQ(scene.loss(R"("adm":"","w":1,"h":1)"), Loss::kBelowFloor);
  EXPECT_EQ(scene.loss(R"("adm":"","price":"x")"), Loss::kMissingPrice);
  EXPECT_EQ(scene.loss(R"("impid":"9","price":"x")"), Loss::kInvalidResponse);
}

}  // namespace
}  // namespace spillway::exchange::clearing
