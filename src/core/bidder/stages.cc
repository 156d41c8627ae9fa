#include "bidder/stages.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace spillway::bidder {

std::string_view to_string(Stage stage) {
  constexpr std::array<std::string_view, kStages> kNames{
      "validate", "shed", "enrich", "retrieve", "score", "cap", "pace", "price", "choose", "build"};
  return kNames.at(static_cast<size_t>(stage));
}

std::string_view to_string(DropReason drop) {
  constexpr std::array<std::string_view, kDrops> kNames{
      "none",      "bad_score",   "outscored", "capped",           "caps_unread", "no_user",
      "throttled", "ahead",       "exhausted", "unknown_campaign", "no_floor",    "worthless",
      "no_rate",   "below_floor", "outranked", "cap_taken",        "cap_memory",  "no_money"};
  return kNames.at(static_cast<size_t>(drop));
}

Stage stage_of(DropReason drop) {
  if (drop <= DropReason::kOutscored) {
    return Stage::kScore;
  }
  if (drop <= DropReason::kNoUser) {
    return Stage::kCap;
  }
  if (drop <= DropReason::kUnknownCampaign) {
    return Stage::kPace;
  }
  return drop <= DropReason::kBelowFloor ? Stage::kPrice : Stage::kChoose;
}

std::string_view to_string(NoBidReason reason) {
  constexpr std::array<std::string_view, kNoBidReasons> kNames{
      "none",         "invalid",  "shed",         "seat_blocked", "privacy",
      "transparency", "deadline", "no_candidate", "unscored",     "capped",
      "paced",        "priced",   "unchosen",     "caller_gone"};
  return kNames.at(static_cast<size_t>(reason));
}

int nbr_of(NoBidReason reason) {
  switch (reason) {
    case NoBidReason::kInvalid:
      return 2;
    case NoBidReason::kShed:
      return 525;
    case NoBidReason::kDeadline:
      return 15;
    case NoBidReason::kCapped:
      return 9;
    default:
      return 0;
  }
}

}  // namespace spillway::bidder
