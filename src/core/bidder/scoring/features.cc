#include "bidder/scoring/features.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/hash.h"

namespace spillway::bidder {

namespace {

constexpr uint64_t kBuckets = 1024;

constexpr std::array<std::string_view, kFeatures> kNames{
    "hour",
    "weekday",
    "weekend",
    "device_mobile",
    "device_pc",
    "device_tv",
    "device_tablet",
    "os_ios",
    "os_android",
    "app",
    "user_known",
    "segment_count",
    "media_banner",
    "media_video",
    "media_audio",
    "media_native",
    "imp_width",
    "imp_height",
    "position",
    "instl",
    "secure",
    "floor_cpm",
    "deal",
    "first_price",
    "creative_width",
    "creative_height",
    "creative_duration",
    "segment_targeted",
    "goal_value",
    "campaign_bucket",
    "creative_bucket",
    "publisher_bucket",
};

}  // namespace

std::string_view to_string(Feature feature) { return kNames[static_cast<size_t>(feature)]; }

std::optional<Feature> feature_named(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    return std::nullopt;
  }
  return static_cast<Feature>(found - kNames.begin());
}

float bucket_of(int64_t id) {
  return static_cast<float>(base::mix64(static_cast<uint64_t>(id)) % kBuckets);
}

float bucket_of(std::string_view id) { return static_cast<float>(base::hash64(id) % kBuckets); }

}  // namespace spillway::bidder
