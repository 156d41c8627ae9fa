#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "exchange/clearing/bid.h"
#include "exchange/clearing/formats.h"
#include "exchange/clearing/judged_bid.h"
#include "exchange/clearing/vast.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"

namespace spillway::exchange::clearing {
namespace {

using openrtb::Loss;

bool warned(const Bid& bid, Warning warning) {
  return (bid.warnings & static_cast<uint32_t>(warning)) != 0;
}

/// A scene whose one imp has these members.
void ask(Scene& scene, std::string_view imp, std::string_view request = "") {
  scene.ask(R"({"id":"req-1",)" + std::string(request) + R"("imp":[{"id":"1",)" + std::string(imp) +
            "}]}");
}

std::string adm(std::string_view json_text) { return R"("adm":")" + std::string(json_text) + '"'; }

constexpr std::string_view kInline =
    R"(<?xml version='1.0'?><!-- <Wrapper> --><VAST version='3.0'><Ad><InLine><Creatives><Creative>)"
    R"(<Linear><Duration> 00:00:15.200 </Duration><MediaFiles><MediaFile delivery='progressive' )"
    R"(type='video/mp4' width='640'><![CDATA[https://m.example/a.mp4]]></MediaFile></MediaFiles>)"
    R"(</Linear></Creative></Creatives></InLine></Ad></VAST>)";

TEST(VastTest, AnInlineDocumentTellsItsVersionItsDurationAndItsMedia) {
  std::string asked;
  const auto facts = read_vast(kInline, [&](std::string_view type) {
    asked = type;
    return true;
  });
  EXPECT_TRUE(facts.is_vast);
  EXPECT_EQ(facts.protocol, 3);
  EXPECT_EQ(facts.duration_ms, 15'200);
  EXPECT_TRUE(facts.has_media);
  EXPECT_TRUE(facts.has_taken);
  EXPECT_EQ(asked, "video/mp4");
}

TEST(VastTest, EveryVersionHasItsNumberAndAnotherAsWrapper) {
  const auto protocol = [](std::string_view version, std::string_view kind) {
    return read_vast("<VAST version=\"" + std::string(version) + "\"><Ad><" + std::string(kind) +
                         "></Ad></VAST>",
                     [](std::string_view) { return false; })
        .protocol;
  };
  EXPECT_EQ(protocol("1.0", "InLine"), 1);
  EXPECT_EQ(protocol("2.0", "InLine"), 2);
  EXPECT_EQ(protocol("2.0", "Wrapper"), 5);
  EXPECT_EQ(protocol("3", "Wrapper"), 6);
  EXPECT_EQ(protocol("4.0", "InLine"), 7);
  EXPECT_EQ(protocol("4.0.1", "Wrapper"), 8);
  EXPECT_EQ(protocol("4.1", "InLine"), 11);
  EXPECT_EQ(protocol("4.2", "Wrapper"), 14);
  EXPECT_EQ(protocol("4.3", "InLine"), 15);
  EXPECT_EQ(protocol("30.0", "InLine"), 0);
  EXPECT_EQ(protocol("", "InLine"), 0);
  EXPECT_EQ(read_vast("<DAAST version='1.0'><Ad><Wrapper/></Ad></DAAST>",
                      [](std::string_view) { return false; })
                .protocol,
            10);
}

TEST(VastTest, ADurationIsAClockOrNone) {
  EXPECT_EQ(clock_ms("01:02:03"), 3'723'000);
  EXPECT_EQ(clock_ms(" 00:00:30.500\n"), 30'500);
  for (const std::string_view text : {"", "30", "00:00:3x", "0:00:30", "00-00-30", "00:00:30.5"}) {
    EXPECT_EQ(clock_ms(text), 0) << text;
  }
}

TEST(VastTest, BrokenMarkupEndsSomewhere) {
  for (const std::string_view text :
       {"<VAST", "<VAST version", "<VAST version='3", "<VAST><!--", "<VAST><![CDATA[", "<VAST>< >",
        "<VAST><Duration", "<VAST><MediaFile type=", "<VAST><MediaFile =\"\" type='a'>"}) {
    const auto facts = read_vast(text, [](std::string_view) { return true; });
    EXPECT_TRUE(facts.is_vast) << text;
    EXPECT_EQ(facts.duration_ms, 0) << text;
  }
}

TEST(FormatRulesTest, VideoMarkupThatIsNoVastIsAWarningUnlessEnforced) {
  Scene scene;
  ask(scene, R"("video":{"mimes":["video/mp4"]})");
  EXPECT_EQ(scene.loss(adm(kInline)), Loss::kWon);
  EXPECT_EQ(scene.answer.bids.front().warnings, 0U);
  EXPECT_TRUE(warned(scene.bid(adm("<div>")), Warning::kVast));
  EXPECT_EQ(scene.answer.bids.front().loss, Loss::kWon);
  scene.dsp.checks.vast = Check::kEnforce;
  EXPECT_EQ(scene.loss(adm("<div>")), Loss::kFormat);
  scene.dsp.checks.vast = Check::kSkip;
  EXPECT_FALSE(warned(scene.bid(adm("<div>")), Warning::kVast));
}

TEST(FormatRulesTest, OneMediaFileMustBeOfATypeThePlayerTakes) {
  Scene scene;
  scene.dsp.checks.mime = Check::kEnforce;
  ask(scene, R"("video":{"mimes":["video/webm","VIDEO/MP4"]})");
  EXPECT_EQ(scene.loss(adm(kInline)), Loss::kWon);
  ask(scene, R"("video":{"mimes":["video/webm"]})");
  EXPECT_EQ(scene.loss(adm(kInline)), Loss::kFormat);
  // A wrapper names none: what it leads to is the player's to judge.
  EXPECT_EQ(scene.loss(adm("<VAST version='3.0'><Ad><Wrapper></Wrapper></Ad></VAST>")), Loss::kWon);
}

TEST(FormatRulesTest, ADurationMustBeWithinTheImpsOrOneOfTheExactOnes) {
  Scene scene;
  scene.dsp.checks.duration = Check::kEnforce;
  ask(scene, R"("video":{"mimes":["video/mp4"],"minduration":10,"maxduration":15})");
  EXPECT_EQ(scene.loss(adm(kInline)), Loss::kWon);
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"dur":16)"), Loss::kFormat);
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"dur":9)"), Loss::kFormat);
  EXPECT_EQ(scene.loss(adm("<VAST/>")), Loss::kWon);
  ask(scene, R"("audio":{"mimes":["audio/mp4"],"rqddurs":[15,30]})");
  EXPECT_EQ(scene.loss(adm(kInline)), Loss::kWon);
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"dur":30)"), Loss::kWon);
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"dur":20)"), Loss::kFormat);
}

TEST(FormatRulesTest, AProtocolAndEveryApiMustBeAmongThePlayers) {
  Scene scene;
  scene.dsp.checks.protocol = Check::kEnforce;
  ask(scene, R"("video":{"mimes":["video/mp4"],"protocols":[2,3],"api":[7]})");
  EXPECT_EQ(scene.loss(adm(kInline)), Loss::kWon);
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"protocol":7)"), Loss::kFormat);
  EXPECT_EQ(scene.loss(adm("<VAST version='4.2'><Ad><InLine></Ad></VAST>")), Loss::kFormat);
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"apis":[7])"), Loss::kWon);
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"apis":[7,2])"), Loss::kFormat);
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"api":1)"), Loss::kFormat);
}

TEST(FormatRulesTest, AVideoLargerThanItsPlayerIsAnotherSize) {
  Scene scene;
  scene.dsp.checks.video_size = Check::kEnforce;
  ask(scene, R"("video":{"mimes":["video/mp4"],"w":640,"h":480})");
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"w":640,"h":360)"), Loss::kWon);
  EXPECT_EQ(scene.loss(adm(kInline) + R"(,"w":1920,"h":480)"), Loss::kSize);
}

TEST(FormatRulesTest, ABannerWiderThanTheBoundIsRefusedWhateverWasOffered) {
  Scene scene;
  scene.dsp.checks.size = Check::kSkip;
  scene.dsp.checks.banner_size_max = {.w = 100, .h = 100};
  EXPECT_EQ(scene.loss(R"("w":100,"h":50)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("w":101,"h":50)"), Loss::kSize);
  EXPECT_EQ(scene.loss(R"("w":10,"h":101)"), Loss::kSize);
}

/// A native request with a title, a main image and a text, the last not required.
constexpr std::string_view kNative =
    R"("native":{"request":"{\"ver\":\"1.2\",\"assets\":[{\"id\":1,\"required\":1,\"title\":{\"len\":5}},)"
    R"({\"id\":2,\"required\":1,\"img\":{\"wmin\":300,\"hmin\":200}},{\"id\":3,\"data\":{\"type\":2}}]}"})";

std::string native(std::string_view assets) {
  return adm(R"({\"native\":{\"link\":{\"url\":\"https://c.example\"},\"assets\":[)" +
             std::string(assets) + "]}}");
}

TEST(FormatRulesTest, NativeMarkupMustGiveTheRequiredAssetsAsTheyWereAsked) {
  Scene scene;
  scene.dsp.checks.native = Check::kEnforce;
  ask(scene, kNative);
  const std::string title = R"({\"id\":1,\"title\":{\"text\":\"héllo\"}})";
  const std::string image = R"({\"id\":2,\"img\":{\"url\":\"https://i\",\"w\":300,\"h\":250}})";
  EXPECT_EQ(scene.loss(native(title + ',' + image)), Loss::kWon);
  EXPECT_EQ(scene.loss(native(title + ',' + image + R"(,{\"id\":9,\"data\":{\"value\":\"x\"}})")),
            Loss::kWon);
  EXPECT_EQ(scene.loss(native(title)), Loss::kFormat) << "an image is missing";
  EXPECT_EQ(scene.loss(native(image + R"(,{\"id\":1,\"data\":{\"value\":\"x\"}})")), Loss::kFormat)
      << "of another kind";
  EXPECT_EQ(scene.loss(native(image + R"(,{\"id\":1,\"title\":{\"text\":\"sixsix\"}})")),
            Loss::kFormat)
      << "too long";
  EXPECT_EQ(scene.loss(native(title + R"(,{\"id\":2,\"img\":{\"url\":\"u\",\"w\":299}})")),
            Loss::kFormat)
      << "too small";
  EXPECT_EQ(scene.loss(adm(R"({\"assets\":[]})")), Loss::kFormat) << "no link";
  EXPECT_EQ(scene.loss(adm("no json")), Loss::kFormat);
  EXPECT_EQ(scene.loss(adm(R"({\"link\":{},\"assetsurl\":\"https://a\"})")), Loss::kWon);
  scene.dsp.checks.native = Check::kWarn;
  EXPECT_TRUE(warned(scene.bid(adm("no json")), Warning::kNative));
}

TEST(FormatRulesTest, ABannerOfABlockedTypeIsRefusedWhereItsMarkupTells) {
  Scene scene;
  const std::string script = adm("<script>show()</script>");
  const std::string hidden = adm("\\u003cscript>show()</script>");
  ask(scene, R"("banner":{"btype":[1,3]})");
  EXPECT_EQ(scene.loss(script), Loss::kAdType);
  EXPECT_EQ(scene.loss(hidden), Loss::kAdType);
  EXPECT_EQ(scene.loss(adm("<b>text</b>")), Loss::kAdType);
  EXPECT_EQ(scene.loss(adm("<img src=https://a.example/a.png>")), Loss::kWon);
  EXPECT_EQ(scene.loss(adm("no markup")), Loss::kWon);
  scene.dsp.checks.btype = Check::kWarn;
  EXPECT_TRUE(warned(scene.bid(script), Warning::kBtype));
  scene.dsp.checks.btype = Check::kEnforce;
  ask(scene, R"("banner":{"btype":[]})");
  EXPECT_EQ(scene.loss(script), Loss::kWon);
  ask(scene, R"("banner":{"btype":[4]},"video":{"mimes":["video/mp4"]})");
  EXPECT_EQ(scene.loss(adm("<iframe></iframe>")), Loss::kAdType);
  EXPECT_EQ(scene.loss(adm("<VAST version='3.0'><iframe></VAST>") + R"(,"mtype":2)"), Loss::kWon)
      << "only banners have such types";
}

TEST(FormatRulesTest, ALanguageComparesByItsMainPartAndSilenceIsTaken) {
  Scene scene;
  scene.dsp.checks.language = Check::kEnforce;
  ask(scene, R"("banner":{})", R"("wlang":["en","de"],)");
  EXPECT_EQ(scene.loss(""), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("language":"EN-us")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("language":"fr")"), Loss::kLanguage);
  ask(scene, R"("banner":{})", R"("wlangb":["zh-Hant"],)");
  EXPECT_EQ(scene.loss(R"("langb":"zh-hant")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("langb":"zh-Hans")"), Loss::kLanguage);
  EXPECT_EQ(scene.loss(R"("language":"fr")"), Loss::kWon);
}

TEST(FormatRulesTest, ABidThatWaitsShorterThanTheImpMayTakeHasExpired) {
  Scene scene;
  scene.dsp.checks.expiry = Check::kEnforce;
  ask(scene, R"("banner":{},"exp":300)");
  EXPECT_EQ(scene.loss(""), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("exp":300)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("exp":299)"), Loss::kExpired);
}

TEST(FormatRulesTest, ABlockedAppIsNotAdvertised) {
  Scene scene;
  ask(scene, R"("banner":{})", R"("bapp":["com.bad.app","123456"],)");
  EXPECT_EQ(scene.loss(R"("bundle":"com.good.app")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("bundle":"com.bad.app")"), Loss::kStoreId);
  scene.dsp.checks.bapp = Check::kWarn;
  EXPECT_TRUE(warned(scene.bid(R"("bundle":"123456")"), Warning::kBapp));
  ask(scene, R"("banner":{})");
  EXPECT_EQ(scene.bid(R"("bundle":"123456")").warnings, 0U);
}

TEST(FormatRulesTest, TransparencyIsOwedWhereTheRequestDemandsIt) {
  Scene scene;
  const std::string some = R"("ext":{"dsa":{"behalf":"A","paid":"A","adrender":1}})";
  for (const std::string_view regs :
       {R"("regs":{"dsa":{"dsarequired":2}},)", R"("regs":{"ext":{"dsa":{"dsarequired":3}}},)"}) {
    ask(scene, R"("banner":{})", regs);
    EXPECT_EQ(scene.loss(""), Loss::kNoTransparency) << regs;
    EXPECT_EQ(scene.loss(R"("ext":{"dsa":1})"), Loss::kNoTransparency) << regs;
    EXPECT_EQ(scene.loss(some), Loss::kWon) << regs;
    EXPECT_EQ(scene.loss(R"("ext":{"dsa":{"behalf":")" + std::string(101, 'a') + R"("}})"),
              Loss::kNoTransparency);
  }
  ask(scene, R"("banner":{})", R"("regs":{"ext":{"dsa":{"dsarequired":1}}},)");
  EXPECT_EQ(scene.loss(""), Loss::kWon);
  ask(scene, R"("banner":{})", R"("regs":{"ext":{"dsa":{"pubrender":2}}},)");
  EXPECT_EQ(scene.loss(some), Loss::kNoTransparency) << "both would render it";
  ask(scene, R"("banner":{})", R"("regs":{"ext":{"dsa":{"pubrender":0}}},)");
  EXPECT_EQ(scene.loss(some), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("ext":{"dsa":{"adrender":0}})"), Loss::kNoTransparency) << "nobody would";
  scene.dsp.checks.dsa = Check::kSkip;
  EXPECT_EQ(scene.loss(R"("ext":{"dsa":{"adrender":0}})"), Loss::kWon);
}

TEST(FormatsTest, NativeRequestsAreReadOnceAnImpAndForgottenWithTheRequest) {
  Scene scene;
  ask(scene, kNative);
  const auto& first = scene.formats.native(0, scene.imp().node);
  ASSERT_EQ(first.size(), 3U);
  EXPECT_TRUE(first[0].required);
  EXPECT_EQ(first[1].wmin, 300);
  EXPECT_FALSE(first[2].required);
  ask(scene, R"("native":{"request":"no json"})");
  EXPECT_TRUE(scene.formats.native(0, scene.imp().node).empty());
}

}  // namespace
}  // namespace spillway::exchange::clearing
