#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "bidder/model.h"
#include "bidder/text_pool.h"
#include "openrtb/document.h"

namespace spillway::bidder {

/// What is known of a user's segments. The three that are not kKnown differ: a user without
/// segments matches what only excludes; of an unknown one, or one that could not be asked for,
/// nothing is known.
enum class SegmentState : uint8_t {
  kUnknownUser,  ///< No user id, or the store has no such user.
  kKnown,        ///< The store has some.
  kNone,         ///< The store knows the user, without segments.
  kCouldNotAsk,  ///< The store did not answer: what the request itself says may include the user,
                 ///< and matches nothing that excludes anybody.
};

/// A size in pixels.
struct PixelSize {
  int32_t w = 0;
  int32_t h = 0;

  bool operator==(const PixelSize&) const = default;
};

/// A banner size by its ratio, from a least width on.
struct RatioSize {
  int32_t wratio = 0;
  int32_t hratio = 0;
  int32_t wmin = 0;

  bool operator==(const RatioSize&) const = default;
};

/// A private deal that an imp offers.
struct DealFacts {
  std::string_view id;
  base::Cpm floor;
  base::Currency floor_currency;
  bool floor_given = false;  ///< Else the imp's floor applies.
  bool floor_known = true;   ///< False: there is one, and it cannot be read. Do not bid.
  int at = 0;                ///< 1, 2, 3 (the floor is the price); 0: the auction's.
  std::vector<std::string_view> wseat;
  std::vector<std::string_view> wadomain;  ///< Lower case, no leading "www.".
};

/// What an imp says of one of its media. Empty lists: it does not say.
struct MediaFacts {
  bool offered = false;
  PixelSize size;  ///< Of the player; 0x0 when unknown. Of banners see ImpFacts::sizes.
  int32_t duration_min_s = 0;
  int32_t duration_max_s = 0;           ///< 0: not said.
  std::vector<int32_t> durations_s;     ///< rqddurs: exactly one of these.
  std::vector<std::string_view> mimes;  ///< Lower case.
  std::vector<int32_t> protocols;
  std::vector<int32_t> apis;
  std::vector<int32_t> battr;
  int32_t position = 0;  ///< 0: unknown.
};

inline constexpr size_t kMediaKinds = 4;

/// What one imp says. Sizes, ratios and deals beyond kListMost of each are left out, as if they had
/// not been said: what one imp can make the bidder look at is bounded.
struct ImpFacts {
  static constexpr size_t kListMost = 128;

  openrtb::NodeId node = openrtb::kAbsent;
  std::string_view id;
  MediaFacts media[kMediaKinds];  ///< By Media.
  std::vector<PixelSize> sizes;   ///< Of the banner: w and h, and formats.
  std::vector<RatioSize> ratios;  ///< Of the banner: flexible formats.
  base::Cpm floor;
  base::Currency floor_currency;
  bool floor_known = true;  ///< False: there is one, and it cannot be read. Do not bid.
  bool secure = false;
  bool instl = false;
  bool private_auction = false;
  std::vector<DealFacts> deals;  ///< The first `deal_count` of them.
  size_t deal_count = 0;
  bool deals_cut = false;  ///< There are more, so that nothing that restricts deals may match.

  [[nodiscard]] const MediaFacts& of(Media medium) const {
    return media[static_cast<size_t>(medium)];
  }

  [[nodiscard]] std::span<const DealFacts> offered_deals() const {
    return {deals.data(), deal_count};
  }
};

/// Where the user is. "" is unknown.
struct GeoFacts {
  std::string_view country;  ///< Alpha-2, upper case.
  std::string_view region;   ///< Upper case, without the country.
  std::string_view metro;
  std::string_view zip;  ///< Upper case, without blanks.
  double lat = 0;        ///< Degrees.
  double lon = 0;
  bool has_point = false;

  [[nodiscard]] bool empty() const {
    return country.empty() && region.empty() && metro.empty() && zip.empty() && !has_point;
  }
};

/// What a request says of itself, read once, and what enrichment adds to it. Nothing here judges:
/// whether the request is valid is openrtb::validate's business; members of a wrong type count as
/// absent, and so do explicit nulls. Values are in the spelling of the catalog (canonical.h); a
/// value that has none is absent, hence unknown, hence matches nothing that restricts it.
///
/// One thread owns it. Text points into the document's bytes or into the facts' own pool: it lives
/// until the next read(), while the document's bytes do. After warm-up a read allocates nothing.
/// Memory: bounded by the document. Cost: one look at each member of the request.
struct RequestFacts {
  std::string_view id;
  int64_t tmax_ms = 0;  ///< 0: not said.
  int at = 2;           ///< The specification's default.
  bool test = false;
  std::vector<base::Currency> currencies;  ///< USD alone when the request says none.
  std::vector<std::string_view> bcat;      ///< Upper case.
  std::vector<std::string_view> badv;      ///< Lower case, no leading "www.".
  std::vector<std::string_view> wseat;
  std::vector<std::string_view> bseat;
  std::vector<std::string_view> wlang;  ///< Lower case, first subtag: creatives in these alone.
  std::vector<std::string_view> acat;   ///< Upper case; alone allowed where there are any.
  int64_t cattax = 1;                   ///< The taxonomy of bcat and acat; 0: none that is one.
  /// Whether all of bcat can be read: texts, and IAB's codes where that is the taxonomy. If not, it
  /// cannot be obeyed, and the request takes no creative.
  bool bcat_readable = true;

  std::string_view user_id;  ///< Strings and numbers alike.
  std::string_view buyeruid;

  int32_t device_type = 0;    ///< 0: unknown.
  std::string_view os;        ///< Lower case.
  std::string_view language;  ///< Lower case, first subtag.
  std::string_view ip;        ///< device.ip, else device.ipv6.
  std::string_view user_agent;
  std::string_view ifa;
  bool limited = false;  ///< device.lmt or device.dnt is 1.
  GeoFacts geo;          ///< device.geo, or user.geo when that says nothing. Never a mixture.

  std::string_view site_id;
  std::string_view app_id;
  std::string_view publisher_id;
  std::string_view domain;  ///< Lower case, no leading "www."; from site.page when need be.
  std::string_view bundle;
  std::vector<std::string_view> categories;  ///< Of site, app, page, section and content.

  SegmentState segment_state = SegmentState::kUnknownUser;
  std::vector<uint32_t> segment_numbers;        ///< Segments whose ids are numbers,
  std::vector<std::string_view> segment_texts;  ///< and those whose are not.

  std::vector<ImpFacts> imp_memory;
  size_t imp_count = 0;
  size_t imps_dropped = 0;  ///< Beyond imps_max.

  [[nodiscard]] std::span<const ImpFacts> imps() const { return {imp_memory.data(), imp_count}; }

  /// Reads a walked document. Segments are those of user.data; their state is kUnknownUser until
  /// enrichment says more.
  void read(const openrtb::Document& document, size_t imps_max = 40);

  /// Adds one segment by its id, a text or a number: the number 7 and the text "7" are the same.
  /// `segment` is copied.
  void add_segment(std::string_view segment);

  void add_segment(uint32_t segment) { segment_numbers.push_back(segment); }

  /// Adds many, one a line, as a store gives them. Numbers, which most are, in one look at each
  /// byte.
  void add_segments(std::string_view lines);

  /// Takes all segments away, the request's own too: there is no basis to use them.
  void clear_segments();

  /// Takes ids away that may not be used: user_id, buyeruid, ifa.
  void clear_ids();

  /// Adds a location found by other means: all of it when the request has none; only what is
  /// missing when the countries agree; nothing otherwise. Values in any spelling, copied.
  void add_geo(const GeoFacts& found);

  TextPool pool;
  std::string scratch;
};

}  // namespace spillway::bidder
