#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/counter.h"
#include "base/histogram.h"
#include "bidder/creative_fit.h"
#include "openrtb/consent/privacy.h"

namespace spillway::bidder {

/// The stages of a request, in order.
enum class Stage : uint8_t {
  kValidate,  ///< The body is one valid request, from an exchange that takes our seat.
  kShed,      ///< There is capacity for it.
  kEnrich,    ///< Privacy, place, segments.
  kRetrieve,  ///< Line items that match, best first.
  kScore,     ///< What a click or an action is worth hoping for.
  kCap,       ///< Frequency caps.
  kPace,      ///< Budgets last for their day.
  kPrice,     ///< A price at or above the floor.
  kChoose,    ///< One for each imp, with its place under the caps and its money.
  kBuild,     ///< The answer's bytes.
};

inline constexpr size_t kStages = 10;

[[nodiscard]] std::string_view to_string(Stage stage);

/// Why a candidate that was retrieved is not in the answer.
enum class DropReason : uint8_t {
  kNone,
  // score
  kBadScore,   ///< The model gave no probability.
  kOutscored,  ///< Others of the imp are worth more, and only so many go on.
  // cap
  kCapped,
  kCapsUnread,  ///< The user's counts could not be read, and the campaign is strict.
  kNoUser,      ///< Nobody to count for, and the campaign is strict.
  // pace
  kThrottled,
  kAhead,
  kExhausted,
  kUnknownCampaign,  ///< The grant has no account of it.
  // price
  kNoFloor,  ///< There is a floor that cannot be read.
  kWorthless,
  kNoRate,
  kBelowFloor,
  // choose
  kOutranked,
  kCapTaken,   ///< Another bid has taken the last place meanwhile.
  kCapMemory,  ///< No memory for the counter.
  kNoMoney,    ///< The grant refused the reservation.
};

inline constexpr size_t kDrops = 18;

[[nodiscard]] std::string_view to_string(DropReason drop);
[[nodiscard]] Stage stage_of(DropReason drop);

/// Why a request has no bid at all.
enum class NoBidReason : uint8_t {
  kNone,          ///< It has one.
  kInvalid,       ///< No valid request.
  kShed,          ///< No capacity.
  kSeatBlocked,   ///< wseat or bseat leaves our seat out.
  kPrivacy,       ///< The policy for this request's signals is not to bid.
  kTransparency,  ///< The request demands a declaration (DSA) that the catalog does not have.
  kDeadline,      ///< Out of time.
  kNoCandidate,   ///< No line item matches with a creative that fits.
  kUnscored,      ///< Those that came furthest fell to their score,
  kCapped,        ///< to caps,
  kPaced,         ///< to pacing,
  kPriced,        ///< to their price,
  kUnchosen,      ///< or when they were chosen.
  kCallerGone,
};

inline constexpr size_t kNoBidReasons = 14;

[[nodiscard]] std::string_view to_string(NoBidReason reason);

/// The no-bid code of OpenRTB that says it. Source: OpenRTB 2.6 (AdCOM 1.0), List: No-Bid Reasons;
/// 525 is ours.
[[nodiscard]] int nbr_of(NoBidReason reason);

/// Bids of campaigns with caps that went on without: `open` campaigns.
enum class CapSkip : uint8_t { kUnread, kNoUser };

/// What one worker counts of its requests. Written by that worker, read at scrape.
struct PipelineStats {
  base::Counter requests;  ///< Begun.
  base::Counter answers;   ///< With at least one bid.
  base::Counter bids;
  base::Counter imps;  ///< Of valid requests that were not shed.
  std::array<base::Counter, kNoBidReasons> no_bids;
  std::array<base::Counter, kStages> late;         ///< Out of time before this stage.
  std::array<base::Counter, kStages> over_budget;  ///< Took longer than its budget.
  std::array<base::Histogram, kStages> times;
  std::array<base::Counter, kDrops> drops;
  std::array<base::Counter, kMisfits> misfits;
  base::Counter candidates;               ///< Retrieved.
  base::Counter rounds;                   ///< Retrieved again, because none of an imp's was left.
  std::array<base::Counter, 4> segments;  ///< Requests by SegmentState, after enrichment.
  std::array<base::Counter, 2> caps_skipped;  ///< By CapSkip.
  base::Counter caps_asked, caps_unread;      ///< Requests.
  std::array<base::Counter, static_cast<size_t>(openrtb::consent::PrivacyReason::kCount)> privacy;
  base::Counter ids_withheld;  ///< Requests whose ids were not looked at.
};

}  // namespace spillway::bidder
