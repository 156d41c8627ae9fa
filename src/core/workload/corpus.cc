#include "workload/corpus.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/decimal.h"
#include "base/rng.h"
#include "openrtb/document.h"
#include "workload/request_template.h"

namespace spillway::workload {

namespace {

using Media = Corpus::Media;

constexpr std::array<std::pair<int, int>, 6> kSizes = {
    {{300, 250}, {728, 90}, {320, 50}, {160, 600}, {970, 250}, {300, 600}}};
constexpr std::array<std::string_view, 6> kCountries = {"USA", "DEU", "GBR", "FRA", "JPN", "BRA"};

std::string quoted_number(std::string_view name, uint64_t value) {
  return R"(")" + std::string(name) + std::to_string(value) + R"(")";
}

std::string banner(base::Rng& rng) {
  const auto [w, h] = kSizes[rng.below(kSizes.size())];
  const std::string size = R"("w":)" + std::to_string(w) + R"(,"h":)" + std::to_string(h);
  std::string out = R"("banner":{"format":[{)" + size + "}]";
  if (rng.uniform() < 0.5) {
    out += "," + size;
  }
  return out + R"(,"pos":)" + std::to_string(rng.below(4)) + "}";
}

std::string media_object(Media media, base::Rng& rng) {
  switch (media) {
    case Media::kBanner:
      return banner(rng);
    case Media::kVideo:
      return R"("video":{"mimes":["video/mp4"],"minduration":5,"maxduration":30,)"
             R"("protocols":[2,3,5,6],"w":640,"h":360,"linearity":1,"plcmt":1})";
    case Media::kNative:
      return R"("native":{"request":"{\"ver\":\"1.2\",\"assets\":[{\"id\":1,\"required\":1,)"
             R"(\"title\":{\"len\":90}}]}","ver":"1.2"})";
    case Media::kAudio:
      return R"("audio":{"mimes":["audio/mpeg"],"minduration":5,"maxduration":30})";
  }
  return "";
}

Media draw_media(const CorpusSettings& settings, base::Rng& rng) {
  const double draw = rng.uniform();
  if (draw < settings.video_ratio) {
    return Media::kVideo;
  }
  if (draw < settings.video_ratio + settings.native_ratio) {
    return Media::kNative;
  }
  return draw < settings.video_ratio + settings.native_ratio + settings.audio_ratio
             ? Media::kAudio
             : Media::kBanner;
}

std::string imp(const CorpusSettings& settings, size_t number, Media media, base::Rng& rng) {
  std::string out = R"({"id":")" + std::to_string(number) + R"(",)" + media_object(media, rng);
  out += R"(,"tagid":)" + quoted_number("slot-", rng.below(40)) + R"(,"secure":1)";
  if (rng.uniform() >= settings.no_floor_ratio) {
    const auto width =
        static_cast<uint64_t>(settings.floor_high.micros - settings.floor_low.micros);
    // Whole cents, as publishers set them.
    const int64_t floor = settings.floor_low.micros + static_cast<int64_t>(rng.below(width + 1));
    out += R"(,"bidfloor":)";
    base::append_micros(out, floor / 10'000 * 10'000);
    out += R"(,"bidfloorcur":"USD")";
  }
  return out + "}";
}

std::string inventory(const CorpusSettings& settings, base::Rng& rng) {
  const uint64_t publisher = rng.below(settings.publishers);
  const std::string owner =
      R"("publisher":{"id":)" + quoted_number("pub-", publisher) + R"(},"cat":["IAB12"]})";
  if (rng.uniform() < settings.app_ratio) {
    return R"("app":{"id":)" + quoted_number("app-", publisher) + R"(,"bundle":"example.app)" +
           std::to_string(publisher) + R"(","name":"Example",)" + owner;
  }
  const std::string domain = "site" + std::to_string(publisher) + ".example";
  return R"("site":{"id":)" + quoted_number("site-", publisher) + R"(,"domain":")" + domain +
         R"(","page":"https://)" + domain + "/article/" + std::to_string(rng.below(1000)) +
         R"(",)" + owner;
}

std::string device(base::Rng& rng) {
  std::string out =
      R"("device":{"ua":"Mozilla/5.0 (X11; Linux x86_64) Example/1.0","ip":"192.0.2.)";
  out += std::to_string(rng.below(255)) + R"(","devicetype":)" + std::to_string(1 + rng.below(7));
  out += R"(,"os":"Linux","language":"en","geo":{"country":")";
  out += kCountries[rng.below(kCountries.size())];
  return out + R"("}})";
}

Corpus::Item item(const CorpusSettings& settings, base::Rng& rng, openrtb::Document& document) {
  const Media media = draw_media(settings, rng);
  const uint32_t tmax_ms = settings.tmax_ms[rng.below(settings.tmax_ms.size())];
  std::string text =
      R"({"id":"","at":1,"cur":["USD"],"tmax":)" + std::to_string(tmax_ms) + R"(,"imp":[)";
  text += imp(settings, 1, media, rng);
  if (rng.uniform() < settings.two_imps_ratio) {
    text += "," + imp(settings, 2, Media::kBanner, rng);
  }
  text += "]," + inventory(settings, rng) + "," + device(rng);
  text += R"(,"user":{"id":)" + quoted_number("u-", rng.below(100'000)) + "}";
  if (rng.uniform() < 0.3) {
    text += R"(,"bcat":["IAB25","IAB26"],"badv":["blocked.example"])";
  }
  text += R"(,"source":{"fd":0,"tid":)" + quoted_number("t-", rng.next()) + "}}";
  return {.request = RequestTemplate(std::move(text), document, {}),
          .tmax_ms = tmax_ms,
          .media = media};
}

}  // namespace

Corpus Corpus::generate(const CorpusSettings& settings) {
  Corpus corpus;
  base::Rng rng(settings.seed);
  openrtb::Document document;
  corpus.items_.reserve(settings.requests);
  for (uint32_t i = 0; i < settings.requests; ++i) {
    corpus.items_.push_back(item(settings, rng, document));
  }
  return corpus;
}

double Corpus::gzip_ratio() const {
  const auto packed =
      std::count_if(items_.begin(), items_.end(), [](const Item& item) { return item.gzip; });
  return items_.empty() ? 0 : static_cast<double>(packed) / static_cast<double>(items_.size());
}

std::string Corpus::bytes(uint64_t index, std::string_view id) const {
  return at(index).request.bytes({.id = id, .tid = id, .seconds = "0", .millis = "0", .user = id});
}

}  // namespace spillway::workload
