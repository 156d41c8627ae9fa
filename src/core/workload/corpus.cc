#include "workload/corpus.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/hash.h"
#include "base/rng.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"
#include "workload/money_per_time.h"
#include "workload/request_template.h"

namespace spillway::workload {

namespace {

using openrtb::Key;

/// What an imp offers first, as far as it says.
Corpus::Media media_of(const openrtb::Document& document, openrtb::NodeId imp) {
  if (document.find(imp, Key::banner) != openrtb::kAbsent) {
    return Corpus::Media::kBanner;
  }
  if (document.find(imp, Key::video) != openrtb::kAbsent) {
    return Corpus::Media::kVideo;
  }
  if (document.find(imp, Key::native) != openrtb::kAbsent) {
    return Corpus::Media::kNative;
  }
  return document.find(imp, Key::audio) != openrtb::kAbsent ? Corpus::Media::kAudio
                                                            : Corpus::Media::kBanner;
}

Corpus::Item item_of(std::string text, bool gzip, openrtb::Document& document) {
  uint32_t tmax_ms = 0;
  auto media = Corpus::Media::kBanner;
  {
    const openrtb::Padded padded(text);
    if (document.walk(padded.view())) {
      const auto tmax = document.integer(document.find(document.root(), Key::tmax)).value_or(0);
      tmax_ms =
          tmax > 0 && tmax <= std::numeric_limits<int32_t>::max() ? static_cast<uint32_t>(tmax) : 0;
      media = media_of(document, document.first_child(document.find(document.root(), Key::imp)));
    }
  }
  RequestTemplate request(std::move(text), document, {});
  const bool valid = request.well_formed();
  return {.request = std::move(request),
          .tmax_ms = tmax_ms,
          .media = media,
          .gzip = gzip,
          .valid = valid};
}

}  // namespace

CorpusSettings honest_bidder_settings(uint64_t seed) {
  return {.seed = seed,
          .requests = 4096,
          .imps_max = 8,
          .publishers = 500,
          .deals_ratio = 0.15,
          .consent_ratio = 0.3,
          .gzip_ratio = 0.2,
          .invalid_ratio = 0.1,
          .users = 10'000'000};
}

uint64_t UserLaw::user(double draw) const {
  const double power = 1 - exponent;
  const double top = std::pow(static_cast<double>(users), power);
  const double value = std::pow(1 + draw * (top - 1), 1 / power);
  return std::clamp<uint64_t>(static_cast<uint64_t>(value), 1, users);
}

Corpus::Corpus(std::vector<Item> items, UserLaw law, uint64_t seed)
    : items_(std::move(items)), law_(law), seed_(seed) {
  SPILLWAY_ASSERT(!items_.empty());
  const auto packed =
      std::count_if(items_.begin(), items_.end(), [](const Item& item) { return item.gzip; });
  gzip_ratio_ = static_cast<double>(packed) / static_cast<double>(items_.size());
}

Corpus Corpus::from_texts(const std::vector<std::string>& texts, const TextSettings& settings) {
  openrtb::Document document;
  base::Rng rng(settings.seed);
  std::vector<Item> items;
  items.reserve(texts.size());
  for (const std::string& text : texts) {
    items.push_back(item_of(money_per_time_rescaled(text, settings.time_scale, document),
                            rng.uniform() < settings.gzip_ratio, document));
  }
  return {std::move(items), {}, settings.seed};
}

uint64_t Corpus::user(uint64_t number) const {
  return law_.user(base::unit(base::combine64(seed_, number)));
}

std::string Corpus::bytes(uint64_t index, std::string_view id) const {
  return at(index).request.bytes({.id = id, .tid = id, .seconds = "0", .millis = "0", .user = id});
}

}  // namespace spillway::workload
