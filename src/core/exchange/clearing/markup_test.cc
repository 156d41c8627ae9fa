#include "exchange/clearing/markup.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace spillway::exchange::clearing {
namespace {

TEST(MarkupTest, MarkupIsToldByItsFirstBytes) {
  EXPECT_EQ(sniff(""), MarkupKind::kUnknown);
  EXPECT_EQ(sniff("some text"), MarkupKind::kUnknown);
  EXPECT_EQ(sniff("{\"a\":1}"), MarkupKind::kUnknown);
  EXPECT_EQ(sniff("  <div>"), MarkupKind::kHtml);
  EXPECT_EQ(sniff("<!doctype html><html>"), MarkupKind::kHtml);
  EXPECT_EQ(sniff("<!-- vast --><VAST version='3.0'>"), MarkupKind::kVast);
  EXPECT_EQ(sniff("\xef\xbb\xbf<?xml version='1.0'?>\n<VAST>"), MarkupKind::kVast);
  EXPECT_EQ(sniff("<DAAST>"), MarkupKind::kVast);
  EXPECT_EQ(sniff("{ \"native\" : {}}"), MarkupKind::kNative);
  EXPECT_EQ(sniff("{\"ver\":\"1.2\",\"assets\":[]}"), MarkupKind::kNative);
}

TEST(MarkupTest, ResourcesOverPlainHttpAreFoundWhereverTheyAreLoadedFrom) {
  for (const std::string_view markup : {
           "<img src='http://a/i'>",
           "<IMG SRC = \"HTTP://a/i\">",
           "<img src=http://a/i>",
           "<img src=' http://a/i'>",
           "<img alt='x' src='http://a/i'/>",
           "<script src=\"http://a/s.js\"></script>",
           "<link rel=stylesheet href='http://a/c.css'>",
           "<img srcset='https://a/1 1x, http://a/2 2x'>",
           "<div style=\"background:url(http://a/i)\">",
           "<div style=\"background:url( 'http://a/i')\">",
           "<style>@import \"http://a/c.css\";</style>",
           "<script>new Image().src = 'http://a/p';</script>",
           "<script>load(\"http:\\/\\/a\\/p\")</script>",
           "<script>x</script><img src=http://a/i>",
           "<a href='https://a'><img src='http://a/i'></a>",
           "<!--> <img src='http://a/i'> -->",
           "<img data-src='http://a/i'>",
           "<img src='http://${HOST}/i'>",
           "<VAST><Ad><Impression><![CDATA[http://a/i]]></Impression></Ad></VAST>",
           "<VAST><MediaFile type='video/mp4'> http://a/v.mp4 </MediaFile></VAST>",
           "<VAST><HTMLResource><![CDATA[<img src='http://a/i'>]]></HTMLResource></VAST>",
           "{\"native\":{\"assets\":[{\"img\":{\"url\":\"http://a/i\"}}]}}",
           R"({"assets":[{"id":1,"link":{"url":"http://c"},"img":{"url":"http://a/i"}}]})",
           R"({"native":{"link":{"url":"https://c","clicktrackers":["http://t"]}}})",
           R"({"assets":[],"imptrackers":["https://t","http:\/\/t"]})",
           R"({"assets":[],"eventtrackers":[{"event":1,"method":1,"url":"http://t"}]})",
           R"({"assets":[],"jstracker":"<script src=\"http://t/t.js\"></script>"})",
           R"({"assets":[{"video":{"vasttag":"<VAST><MediaFile>http://a/v</MediaFile></VAST>"}}]})",
           R"({"assetsurl":"\u0068ttp://a"})",
           R"({"link":"http://no.link.object"})",
           R"({"assets":[{"img":{"url":"http://a/i"}})",
           "http://a/i",
           "<img src='http://www.w3.org.evil.example/i'>",
           "<img src='https://a/'><iframe src='http://b/'>",
       }) {
    EXPECT_TRUE(loads_insecurely(markup)) << markup;
  }
}

TEST(MarkupTest, PlainHttpThatLoadsNothingPasses) {
  for (
      const std::string_view markup : {
          "",
          "<img src='https://a/i'>",
          "<svg xmlns='http://www.w3.org/2000/svg'></svg>",
          "<x xmlns:v=\"http://other.example/ns\"></x>",
          "<!DOCTYPE html PUBLIC \"-//W3C//DTD\" \"http://www.w3.org/TR/xhtml1.dtd\"><html>",
          "<p>see http://a for more</p>",
          "<!-- from http://a/ --><img src=https://a>",
          "<a href='http://landing.example'>go</a>",
          "<img alt='see http://a' src='https://a/i'>",
          "<img src='https://a/r?u=http://b/i'>",
          "<img src='https://a/r?u=http%3A%2F%2Fb'>",
          "<script>p = ('https:' == location.protocol ? 'https://' : 'http://') + h</script>",
          "<script>e = d.createElementNS('http://www.w3.org/2000/svg', 'g')</script>",
          "<VAST xmlns='http://iab.example'><ClickThrough><![CDATA[http://a]]></ClickThrough>",
          "<VAST><AdTitle>about http://a</AdTitle></VAST>",
          "{\"native\":{\"title\":\"see http://a\"}}",
          R"({"native":{"link":{"url":"http://c","fallback":"http:\/\/c"},"assets":[]}})",
          R"({"assets":[{"link":{"url":"http://c"},"img":{"url":"https://a/i"}}]})",
          R"({"assets":[{"data":{"value":"http://shown"}},{"title":{"text":"http://shown"}}]})",
          R"({"assets":[],"privacy":"http://p","imptrackers":["https://t?u=http://x"]})",
          R"({"assets":[{"video":{"vasttag":"<VAST><ClickThrough>http://c</ClickThrough></VAST>"}}]})",
          "http:",
          "http://",
      }) {
    EXPECT_FALSE(loads_insecurely(markup)) << markup;
  }
}

TEST(MarkupTest, MarkupCutAnywhereIsReadToItsEnd) {
  const std::string markup =
      "<VAST xmlns='http://n'><!-- http://n --><Ad a = b c='d' e/><![CDATA[<script>'http:'</script>"
      "]]><style>url(http:</style><a href=http://x srcset=',,http://'></VAST>";
  for (size_t length = 0; length <= markup.size(); ++length) {
    EXPECT_FALSE(loads_insecurely(std::string_view(markup).substr(0, length))) << length;
  }
}

TEST(MarkupTest, AMentionOfHttpIsSeenWhereverItStands) {
  for (size_t size = 5; size < 60; ++size) {
    EXPECT_FALSE(may_mention_http(std::string(size, 'h')));
    for (size_t at = 0; at + 5 <= size; ++at) {
      std::string text(size, ':');
      for (const std::string_view mention : {"http:", "HtTp:", "\\u006"}) {
        text.replace(at, 5, mention.substr(0, 5));
        EXPECT_TRUE(may_mention_http(text)) << text;
        EXPECT_FALSE(may_mention_http(std::string_view(text).substr(at + 1))) << text;
      }
      for (const std::string_view other : {"https", "ttp:u", "\\\"x/:", "h\\xp:"}) {
        text.replace(at, 5, other.substr(0, 5));
        EXPECT_FALSE(may_mention_http(text)) << text;
      }
    }
  }
  EXPECT_FALSE(may_mention_http("http"));
}

TEST(MarkupTest, HostileNestingCostsOnePass) {
  std::string markup = "<VAST>http:";
  for (int i = 0; i < 20'000; ++i) {
    markup += "<a><![CDATA[<b ";
  }
  EXPECT_FALSE(loads_insecurely(markup));
  std::string quotes = "<script>";
  for (int i = 0; i < 20'000; ++i) {
    quotes += "http:      ";
  }
  EXPECT_FALSE(loads_insecurely(quotes));
}

}  // namespace
}  // namespace spillway::exchange::clearing
