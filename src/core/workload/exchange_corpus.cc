// The corpus of an exchange's callers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/hash.h"
#include "base/rng.h"
#include "openrtb/consent/bit_writer.h"
#include "openrtb/consent/gpp.h"
#include "openrtb/document.h"
#include "workload/broken_request.h"
#include "workload/corpus.h"
#include "workload/request_template.h"

namespace spillway::workload {

namespace {

namespace consent = openrtb::consent;
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

std::string deals(const CorpusSettings& settings, base::Rng& rng) {
  std::string out =
      R"(,"pmp":{"private_auction":)" + std::to_string(rng.below(2)) + R"(,"deals":[)";
  const uint64_t count = 1 + rng.below(3);
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t floor = settings.floor_high.micros + static_cast<int64_t>(rng.below(3'000'000));
    out += std::string(i == 0 ? "" : ",") + R"({"id":)" + quoted_number("deal-", rng.below(200)) +
           R"(,"at":)" + std::to_string(1 + rng.below(3)) + R"(,"bidfloor":)";
    base::append_micros(out, floor / 10'000 * 10'000);
    out += R"(,"bidfloorcur":"USD"})";
  }
  return out + "]}";
}

/// `regs` and what stands in `user` beside the id: the privacy signals of a request.
struct Signals {
  std::string regs{};
  std::string user{};
};

/// The members of `regs` that say the same in a Global Privacy Platform string of one section.
std::string gpp(unsigned section, std::string_view text) {
  consent::BitWriter header;
  header.put(3, 6).put(1, 6).put(1, 12).put(0, 1).put_fibonacci(section);
  std::string out = R"("gpp":")" + header.text() + "~";
  out += text;
  return out + R"(","gpp_sid":[)" + std::to_string(section) + "]";
}

/// Two thirds under the TCF, with purposes as people choose them: all, some, none; the rest with a
/// U.S. Privacy string. Half of each come in a Global Privacy Platform string.
Signals signals(base::Rng& rng) {
  constexpr unsigned kAllPurposes = 0xffe000;  // 1 to 11
  constexpr unsigned kVendors = 64;
  if (rng.uniform() >= 2.0 / 3) {
    constexpr std::array<std::string_view, 3> kTexts = {"1YNN", "1YYN", "1---"};
    const std::string text(kTexts[rng.below(3)]);
    return {.regs = R"("regs":{)" +
                    (rng.below(2) == 0 ? R"("us_privacy":")" + text + '"'
                                       : gpp(consent::kGppUsPrivacy, text)) +
                    "},"};
  }
  const double mood = rng.uniform();
  const auto purposes = static_cast<unsigned>(mood < 0.6   ? kAllPurposes
                                              : mood < 0.8 ? rng.next() & kAllPurposes
                                                           : 0);
  consent::BitWriter writer;
  writer.put_tcf_head(2, purposes, purposes).put(kVendors, 16).put(0, 1);
  writer.put(mood < 0.8 ? rng.next() : 0, kVendors).put(0, 16).put(0, 1).put(0, 12);
  if (rng.below(2) == 0) {
    return {.regs = R"("regs":{"gdpr":1,)" + gpp(consent::kGppTcfEu, writer.text()) + "},"};
  }
  return {.regs = R"("regs":{"gdpr":1},)", .user = R"(,"consent":")" + writer.text() + R"(")"};
}

std::string imp(const CorpusSettings& settings, size_t number, Media media, base::Rng& rng,
                base::Rng& extras) {
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
  if (extras.uniform() < settings.deals_ratio) {
    out += deals(settings, extras);
  }
  return out + "}";
}

/// All imps, comma between.
std::string imps(const CorpusSettings& settings, Media first, base::Rng& rng, base::Rng& extras) {
  std::string out = imp(settings, 1, first, rng, extras);
  uint64_t count = rng.uniform() < settings.two_imps_ratio ? 2 : 1;
  if (settings.imps_max > 2) {
    count = 1 + extras.below(settings.imps_max);
  }
  for (uint64_t i = 2; i <= count; ++i) {
    out += "," + imp(settings, i, Media::kBanner, rng, extras);
  }
  return out;
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

Corpus::Item item(const CorpusSettings& settings, base::Rng& rng, base::Rng& extras,
                  openrtb::Document& document) {
  const Media media = draw_media(settings, rng);
  const uint32_t tmax_ms = settings.tmax_ms[rng.below(settings.tmax_ms.size())];
  const Signals privacy = extras.uniform() < settings.consent_ratio ? signals(extras) : Signals{};
  std::string text =
      R"({"id":"","at":1,"cur":["USD"],"tmax":)" + std::to_string(tmax_ms) + R"(,"imp":[)";
  text += imps(settings, media, rng, extras) + "],";
  text += privacy.regs + inventory(settings, rng) + "," + device(rng);
  text += R"(,"user":{"id":)" + quoted_number("u-", rng.below(100'000)) + privacy.user + "}";
  if (rng.uniform() < 0.3) {
    text += R"(,"bcat":["IAB25","IAB26"],"badv":["blocked.example"])";
  }
  text += R"(,"source":{"fd":0,"tid":)" + quoted_number("t-", rng.next()) + "}}";
  const bool valid = extras.uniform() >= settings.invalid_ratio;
  if (!valid) {
    text = broken_request(std::move(text), extras);
  }
  return {.request = RequestTemplate(std::move(text), document, {.renew_user = settings.users > 0}),
          .tmax_ms = tmax_ms,
          .media = media,
          .gzip = extras.uniform() < settings.gzip_ratio,
          .valid = valid};
}

}  // namespace

Corpus Corpus::generate(const CorpusSettings& settings) {
  // What only some corpora have comes from a stream of its own: the rest stays the same bytes.
  base::Rng rng(settings.seed);
  base::Rng extras(base::mix64(settings.seed + 1));
  openrtb::Document document;
  std::vector<Item> items;
  items.reserve(settings.requests);
  for (uint32_t i = 0; i < settings.requests; ++i) {
    items.push_back(item(settings, rng, extras, document));
  }
  return {std::move(items),
          {.users = settings.users, .exponent = settings.user_exponent},
          settings.seed};
}

}  // namespace spillway::workload
