#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"

namespace spillway::bidder {

/// What a catalog holds, row by row, as an importer or a database delivers it: not yet checked, not
/// yet compiled. Ids are the operator's own, positive, unique within their kind. Times are Unix
/// seconds; an absent one is open. All text is UTF-8.

enum class Status : uint8_t { kActive, kPaused, kArchived };

/// What the advertiser pays for.
enum class Goal : uint8_t { kCpm, kCpc, kCpa };

enum class Pacing : uint8_t { kEven, kFrontLoaded, kAsap };

/// What a campaign does while its caps cannot be read.
enum class CapFailure : uint8_t { kStrict, kOpen };

enum class CapScope : uint8_t { kCampaign, kCreative, kAdvertiser };
enum class CapWindow : uint8_t { kHour, kDay, kWeek, kLifetime };

/// Calendar windows start with the hour, day or Monday of the advertiser's time zone; sliding ones
/// look back from now.
enum class CapKind : uint8_t { kCalendar, kSliding };

/// At most `most` impressions for one user within the window; 0 shows nothing.
struct Cap {
  CapScope scope = CapScope::kCampaign;
  CapWindow window = CapWindow::kDay;
  CapKind kind = CapKind::kCalendar;
  uint32_t most = 0;

  bool operator==(const Cap&) const = default;
};

enum class Media : uint8_t { kBanner, kVideo, kAudio, kNative };

/// Dimensions targeted by lists of values. Values as text: segment and deal ids as they come,
/// countries alpha-2 or alpha-3, regions ISO 3166-2 without the country, sizes "300x250", device
/// types and positions the numbers of OpenRTB's lists, languages ISO 639-1, categories IAB codes
/// (a parent includes its children), domains with all their subdomains.
enum class Dimension : uint8_t {
  kSegment,
  kCountry,
  kRegion,
  kMetro,
  kZip,
  kDeviceType,
  kOs,
  kMedia,
  kSize,
  kSite,
  kApp,
  kDomain,
  kBundle,
  kCategory,
  kLanguage,
  kPosition,
  kDeal,
};
inline constexpr size_t kDimensions = 17;

/// A dimension with either list is restricted: it matches a known value that is in `include` (when
/// there is one) and not in `exclude`, and never an unknown value. Without lists it matches all.
struct Lists {
  std::vector<std::string> include{};
  std::vector<std::string> exclude{};

  [[nodiscard]] bool restricted() const { return !include.empty() || !exclude.empty(); }

  bool operator==(const Lists&) const = default;
};

/// A circle on the ground; degrees and kilometres.
struct Radius {
  double lat = 0;
  double lon = 0;
  double km = 0;
  bool exclude = false;

  bool operator==(const Radius&) const = default;
};

/// Hours of the week in the advertiser's time zone; bit 0 is Monday from 00:00.
using DayParts = std::bitset<168>;

struct Targeting {
  std::array<Lists, kDimensions> lists{};
  std::vector<Radius> radii{};
  std::optional<DayParts> hours{};  ///< Absent: always. Empty: never.

  [[nodiscard]] const Lists& of(Dimension dimension) const {
    return lists[static_cast<size_t>(dimension)];
  }

  [[nodiscard]] Lists& of(Dimension dimension) { return lists[static_cast<size_t>(dimension)]; }

  bool operator==(const Targeting&) const = default;
};

struct Advertiser {
  int64_t id = 0;
  std::string name{};
  std::string domain{};  ///< adomain.
  /// For bcat: IAB codes, and "TAXONOMY:CODE" for other taxonomies ("7:483").
  std::vector<std::string> categories{};
  std::string time_zone = "UTC";  ///< A name of the tz database.
  Status status = Status::kActive;

  bool operator==(const Advertiser&) const = default;
};

struct Campaign {
  int64_t id = 0;
  int64_t advertiser = 0;
  std::string name{};
  Status status = Status::kActive;
  std::optional<int64_t> start_s{};
  std::optional<int64_t> end_s{};
  base::Currency currency{};
  Goal goal = Goal::kCpm;
  /// What the goal is worth, in millionths of the currency: a thousand impressions (CPM), one click
  /// or one action.
  int64_t goal_value_micros = 0;
  base::Cpm most{};             ///< Never bid more.
  double margin_ratio = 0;      ///< Of what the advertiser pays, kept: [0, 1).
  int64_t daily_micros = 0;     ///< Budget a day of the advertiser's time zone; 0: none set.
  int64_t lifetime_micros = 0;  ///< 0: none set.
  Pacing pacing = Pacing::kEven;
  CapFailure cap_failure = CapFailure::kStrict;
  std::vector<Cap> caps{};

  bool operator==(const Campaign&) const = default;
};

/// What is retrieved: a campaign's offer to an audience. Its day, flight and targeting narrow the
/// campaign's.
struct LineItem {
  int64_t id = 0;
  int64_t campaign = 0;
  Status status = Status::kActive;
  std::optional<int64_t> start_s{};
  std::optional<int64_t> end_s{};
  Targeting targeting{};

  bool operator==(const LineItem&) const = default;
};

struct Creative {
  int64_t id = 0;
  int64_t line_item = 0;
  Status status = Status::kActive;
  Media media = Media::kBanner;
  uint16_t w = 0;  ///< 0: any, for audio and native.
  uint16_t h = 0;
  uint16_t duration_s = 0;  ///< Of video and audio.
  bool secure = true;       ///< Every address in it is https.
  // What decides whether it fits comes first: few of them are shown, all are looked at.
  std::string mime{};                  ///< Of video and audio.
  std::vector<uint16_t> attributes{};  ///< OpenRTB creative attributes, for battr.
  std::vector<uint16_t> apis{};        ///< Frameworks that the markup needs.
  std::vector<uint16_t> protocols{};   ///< Of VAST.
  std::string language{};              ///< ISO 639-1; empty: none.
  std::string markup{};  ///< Banner: HTML; video and audio: VAST; native: its JSON. With macros.
  std::string click_url{};

  bool operator==(const Creative&) const = default;
};

/// One consistent reading of a catalog.
struct CatalogRows {
  std::vector<Advertiser> advertisers{};
  std::vector<Campaign> campaigns{};
  std::vector<LineItem> line_items{};
  std::vector<Creative> creatives{};

  bool operator==(const CatalogRows&) const = default;
};

}  // namespace spillway::bidder
