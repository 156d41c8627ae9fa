#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway::bidder {

/// What models see of a candidate on an imp: numbers, in this order. Names are those of
/// docs/scoring.md and of model files; new ones go to the end. NaN is "not known", which trees take
/// as missing. Flags are 0 or 1.
enum class Feature : uint16_t {
  // When, in UTC.
  kHour,     ///< 0 to 23.
  kWeekday,  ///< 0 is Monday.
  kWeekend,
  // Who and where.
  kDeviceMobile,  ///< OpenRTB device types 1 and 4.
  kDevicePc,
  kDeviceTv,  ///< 3, 6 and 7.
  kDeviceTablet,
  kOsIos,
  kOsAndroid,
  kApp,           ///< An app, not a site.
  kUserKnown,     ///< It has an id that may be used.
  kSegmentCount,  ///< NaN: could not be read.
  // What is for sale, to the medium of the creative.
  kMediaBanner,
  kMediaVideo,
  kMediaAudio,
  kMediaNative,
  kImpWidth,  ///< Of the banner's first size or the player, in device-independent pixels.
  kImpHeight,
  kPosition,  ///< OpenRTB's list of placements on a page.
  kInstl,
  kSecure,
  kFloorCpm,  ///< Of the deal or the imp, in units of its own currency.
  kDeal,      ///< The candidate would be bought under a deal.
  kFirstPrice,
  // What is offered.
  kCreativeWidth,
  kCreativeHeight,
  kCreativeDuration,  ///< Seconds; NaN: neither video nor audio.
  kSegmentTargeted,   ///< The line item asks for segments.
  kGoalValue,         ///< In units of the campaign's currency.
  kCampaignBucket,    ///< A stable hash of the campaign's id, 0 to 1023.
  kCreativeBucket,    ///< Of the creative's.
  kPublisherBucket,   ///< Of the publisher's id, else of the domain or bundle; NaN: neither.
};

inline constexpr size_t kFeatures = 32;

/// One candidate's features, by Feature.
using FeatureRow = std::array<float, kFeatures>;

/// snake_case, as model files name it.
[[nodiscard]] std::string_view to_string(Feature feature);

[[nodiscard]] std::optional<Feature> feature_named(std::string_view name);

[[nodiscard]] constexpr float& at(FeatureRow& row, Feature feature) {
  return row[static_cast<size_t>(feature)];
}

/// The bucket features of an id: its stable hash modulo 1024.
[[nodiscard]] float bucket_of(int64_t id);
[[nodiscard]] float bucket_of(std::string_view id);

}  // namespace spillway::bidder
