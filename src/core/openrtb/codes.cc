#include "openrtb/codes.h"

#include <string_view>

namespace spillway::openrtb {

NonBid non_bid_of(Loss loss) {
  switch (loss) {
    case Loss::kBelowFloor:
      return NonBid::kBelowFloor;
    case Loss::kBelowDealFloor:
      return NonBid::kBelowDealFloor;
    case Loss::kSize:
      return NonBid::kCreativeSize;
    case Loss::kAdvertiser:
      return NonBid::kCreativeAdvertiser;
    case Loss::kNotSecure:
      return NonBid::kNotSecure;
    default:
      return static_cast<int>(loss) >= 520 ? static_cast<NonBid>(loss) : NonBid::kRejected;
  }
}

std::string_view describe(Loss loss) {
  switch (loss) {
    case Loss::kWon:
      return "won";
    case Loss::kInternal:
      return "internal error";
    case Loss::kExpired:
      return "the opportunity expired";
    case Loss::kInvalidResponse:
      return "the answer was not valid";
    case Loss::kInvalidDeal:
      return "the deal was not offered";
    case Loss::kInvalidAuctionId:
      return "the auction id does not match";
    case Loss::kInvalidAdomain:
      return "the advertiser domain is not valid";
    case Loss::kMissingMarkup:
      return "no markup";
    case Loss::kMissingCrid:
      return "no creative id";
    case Loss::kMissingPrice:
      return "no usable price";
    case Loss::kBelowFloor:
      return "below the auction floor";
    case Loss::kBelowDealFloor:
      return "below the deal's floor";
    case Loss::kOutbid:
      return "another bid was higher";
    case Loss::kDealWon:
      return "a deal's bid was preferred";
    case Loss::kSeatBlocked:
      return "the seat may not buy here";
    case Loss::kCreativeGeneral:
      return "the creative was filtered";
    case Loss::kSize:
      return "the size was not offered";
    case Loss::kFormat:
      return "the creative's format does not fit";
    case Loss::kAdvertiser:
      return "the advertiser is blocked";
    case Loss::kStoreId:
      return "the advertised app is blocked";
    case Loss::kNotSecure:
      return "the creative is not secure";
    case Loss::kLanguage:
      return "the creative's language does not fit";
    case Loss::kCategory:
      return "the category is blocked or not allowed";
    case Loss::kAttribute:
      return "a creative attribute is blocked";
    case Loss::kAdType:
      return "the type of banner is blocked";
    case Loss::kNotAllowedInDeal:
      return "the creative is not allowed in the deal";
    case Loss::kNoFxRate:
      return "no rate for the bid's currency";
    case Loss::kPriceSanity:
      return "the price is beyond the sanity limit";
    case Loss::kNoTransparency:
      return "the transparency that was demanded is missing";
    case Loss::kGroup:
      return "its group cannot win as a whole";
  }
  return "";
}

std::string_view describe(NonBid code) {
  switch (code) {
    case NonBid::kNoBid:
      return "no bid";
    case NonBid::kError:
      return "error";
    case NonBid::kTimeout:
      return "no answer in time";
    case NonBid::kInvalidResponse:
      return "the answer was not valid";
    case NonBid::kUnreachable:
      return "the bidder could not be reached";
    case NonBid::kBlocked:
      return "not asked: blocked for this request";
    case NonBid::kChannel:
      return "not asked: channel not bought";
    case NonBid::kMediaType:
      return "not asked: media type not bought";
    case NonBid::kOptimized:
      return "not asked: traffic share";
    case NonBid::kPrivacy:
      return "request blocked, privacy";
    case NonBid::kRejected:
      return "the bid was rejected";
    case NonBid::kBelowFloor:
      return "the bid was below the floor";
    case NonBid::kBelowDealFloor:
      return "below the deal's floor";
    case NonBid::kDuplicate:
      return "the bid repeats another";
    case NonBid::kCreativeSize:
      return "the creative's size was not offered";
    case NonBid::kNotSecure:
      return "the creative is not secure";
    case NonBid::kCreativeAdvertiser:
      return "the creative's advertiser is blocked";
    case NonBid::kCircuitOpen:
      return "not asked: circuit open";
    case NonBid::kConcurrency:
      return "not asked: too many calls in flight";
    case NonBid::kQps:
      return "not asked: over the agreed rate";
    case NonBid::kHostEjected:
      return "not asked: no healthy host";
    case NonBid::kDeadlineTooShort:
      return "not asked: too little time left";
    case NonBid::kShed:
      return "not asked: load shed";
    case NonBid::kNoFxRate:
      return "no rate for the bid's currency";
    case NonBid::kPriceSanity:
      return "the price is beyond the sanity limit";
    case NonBid::kHouseServed:
      return "a house ad was served";
    case NonBid::kNoTransparency:
      return "the transparency that was demanded is missing";
    case NonBid::kGroup:
      return "its group cannot win as a whole";
  }
  return "";
}

std::string_view describe(NoBid code) {
  switch (code) {
    case NoBid::kUnknown:
      return "unknown";
    case NoBid::kTechnical:
      return "technical error";
    case NoBid::kInvalidRequest:
      return "the request is not valid";
    case NoBid::kInsufficientTime:
      return "too little time for an auction";
    case NoBid::kShed:
      return "load shed";
  }
  return "";
}

}  // namespace spillway::openrtb
