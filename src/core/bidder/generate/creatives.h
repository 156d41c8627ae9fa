#pragma once

#include <cstdint>
#include <string_view>

#include "bidder/model.h"

namespace spillway::bidder::generate {

struct Size {
  uint16_t w = 0;
  uint16_t h = 0;
};

/// What a generated creative is of.
struct CreativeSettings {
  int64_t id = 0;
  int64_t line_item = 0;
  Media media = Media::kBanner;
  Size size;                ///< Of banner and video.
  uint16_t duration_s = 0;  ///< Of video and audio.
  std::string_view domain;  ///< The advertiser's.
};

/// A creative that can be served: markup, addresses under the advertiser's domain, all of them
/// https.
[[nodiscard]] Creative make_creative(const CreativeSettings& settings);

}  // namespace spillway::bidder::generate
