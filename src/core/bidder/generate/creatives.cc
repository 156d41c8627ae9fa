#include "bidder/generate/creatives.h"

#include <cstdint>
#include <string>

#include "bidder/model.h"

namespace spillway::bidder::generate {

namespace {

constexpr uint16_t kVast3 = 3;

std::string two_digits(uint32_t value) { return (value < 10 ? "0" : "") + std::to_string(value); }

std::string banner(const std::string& host, const std::string& click, Size size) {
  return R"(<a href=")" + click + R"("><img src="https://)" + host + "/" + std::to_string(size.w) +
         "x" + std::to_string(size.h) + R"(.png" width=")" + std::to_string(size.w) +
         R"(" height=")" + std::to_string(size.h) + R"("></a>)";
}

std::string vast(const CreativeSettings& settings, const std::string& host,
                 const std::string& click, const std::string& mime) {
  std::string out = R"(<VAST version="3.0"><Ad id=")" + std::to_string(settings.id) +
                    R"("><InLine><AdSystem>Example</AdSystem><AdTitle>Example</AdTitle>)"
                    "<Impression><![CDATA[https://" +
                    host +
                    "/seen?a=${AUCTION_ID}]]></Impression><Creatives><Creative><Linear>"
                    "<Duration>00:00:" +
                    two_digits(settings.duration_s) +
                    "</Duration><VideoClicks><ClickThrough><![CDATA[" + click +
                    R"(]]></ClickThrough></VideoClicks><MediaFiles><MediaFile)"
                    R"( delivery="progressive" type=")" +
                    mime + R"(")";
  if (settings.media == Media::kVideo) {
    out += R"( width=")" + std::to_string(settings.size.w) + R"(" height=")" +
           std::to_string(settings.size.h) + R"(")";
  }
  return out + "><![CDATA[https://" + host + "/" + std::to_string(settings.id) +
         "]]></MediaFile></MediaFiles></Linear></Creative></Creatives></InLine></Ad></VAST>";
}

std::string native(const std::string& host, const std::string& click) {
  return R"({"native":{"ver":"1.2","link":{"url":")" + click +
         R"("},"assets":[{"id":1,"title":{"text":"An example worth a look"}}],)"
         R"("imptrackers":["https://)" +
         host + R"(/seen?a=${AUCTION_ID}"]}})";
}

}  // namespace

Creative make_creative(const CreativeSettings& settings) {
  const std::string host = "cdn." + std::string(settings.domain);
  Creative out{.id = settings.id,
               .line_item = settings.line_item,
               .media = settings.media,
               .click_url = "https://" + std::string(settings.domain) + "/from/" +
                            std::to_string(settings.id)};
  switch (settings.media) {
    case Media::kBanner:
      out.w = settings.size.w;
      out.h = settings.size.h;
      out.markup = banner(host, out.click_url, settings.size);
      break;
    case Media::kVideo:
    case Media::kAudio:
      if (settings.media == Media::kVideo) {
        out.w = settings.size.w;
        out.h = settings.size.h;
      }
      out.mime = settings.media == Media::kVideo ? "video/mp4" : "audio/mpeg";
      out.duration_s = settings.duration_s;
      out.protocols = {kVast3};
      out.markup = vast(settings, host, out.click_url, out.mime);
      break;
    case Media::kNative:
      out.markup = native(host, out.click_url);
      break;
  }
  return out;
}

}  // namespace spillway::bidder::generate
