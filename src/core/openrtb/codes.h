#pragma once

#include <cstdint>
#include <string_view>

namespace spillway::openrtb {

/// Why there is no bid. Source: OpenRTB 2.6 List: No-Bid Reason Codes, and our own range.
enum class NoBid : uint16_t {
  kUnknown = 0,
  kTechnical = 1,
  kInvalidRequest = 2,
  kInsufficientTime = 15,
  kShed = 525,
};

/// Why a bid lost. Source: OpenRTB 2.6 List: Loss Reason Codes. Our own range (520 to 530) is the
/// same number in seatnonbid, loss log and metric label.
enum class Loss : uint16_t {
  kWon = 0,
  kInternal = 1,
  kExpired = 2,
  kInvalidResponse = 3,
  kInvalidDeal = 4,
  kInvalidAuctionId = 5,
  kInvalidAdomain = 6,
  kMissingMarkup = 7,
  kMissingCrid = 8,
  kMissingPrice = 9,
  kBelowFloor = 100,
  kBelowDealFloor = 101,
  kOutbid = 102,
  kDealWon = 103,
  kSeatBlocked = 104,
  kCreativeGeneral = 200,
  kSize = 203,
  kFormat = 204,
  kAdvertiser = 205,
  kStoreId = 206,
  kNotSecure = 207,
  kLanguage = 208,
  kCategory = 209,
  kAttribute = 210,
  kAdType = 211,
  kNotAllowedInDeal = 213,
  kNoFxRate = 526,
  kPriceSanity = 527,
  kNoTransparency = 529,
  kGroup = 530,
};

/// seatnonbid status codes. Source: IAB community extension "Seat Non-Bid", and our own range.
enum class NonBid : uint16_t {
  kNoBid = 0,
  kError = 100,
  kTimeout = 101,
  kInvalidResponse = 102,
  kUnreachable = 103,
  kBlocked = 200,
  kChannel = 201,
  kMediaType = 202,
  kOptimized = 203,
  kPrivacy = 204,
  kRejected = 300,
  kBelowFloor = 301,
  kDuplicate = 302,
  kBelowDealFloor = 304,
  kCreativeSize = 351,
  kNotSecure = 352,
  kCreativeAdvertiser = 355,
  kCircuitOpen = 520,
  kConcurrency = 521,
  kQps = 522,
  kHostEjected = 523,
  kDeadlineTooShort = 524,
  kShed = 525,
  kNoFxRate = 526,
  kPriceSanity = 527,
  kHouseServed = 528,
  kNoTransparency = 529,
  kGroup = 530,
};

/// The one table from loss reasons to seatnonbid: 100 -> 301, 101 -> 304, 203 -> 351, 207 -> 352,
/// 205 -> 355, 520 and above stay, all others 300.
[[nodiscard]] NonBid non_bid_of(Loss loss);

/// Words for people; "" for a number not in the list.
[[nodiscard]] std::string_view describe(Loss loss);
[[nodiscard]] std::string_view describe(NonBid code);
[[nodiscard]] std::string_view describe(NoBid code);

}  // namespace spillway::openrtb
