#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/counter.h"
#include "base/histogram.h"
#include "bidder/notice.h"
#include "bidder/scoring/ab_split.h"
#include "bidder/stages.h"
#include "resilience/shedder.h"

namespace spillway::app::bidding {

/// What became of a notice.
enum class NoticeEnd : uint8_t {
  kSettled,      ///< A win became spend, or a loss gave the money back.
  kOvercharged,  ///< A win above what was reserved: that much was charged.
  kDuplicate,    ///< Its bid was settled before; nothing moved.
  kLate,         ///< A win after its bid was given back, or of another process: charged anew.
  kUnknown,      ///< Of a bid and a campaign that are not known here: money untouched.
  kTest,
  kMalformed,
  kUnknownExchange,
  kBadSignature,
  kExpired,
  kBusy,  ///< Its count cannot be written down now: answered 503, to be sent again.
};

inline constexpr size_t kNoticeEnds = 11;

[[nodiscard]] std::string_view to_string(NoticeEnd end);

/// What was wrong with a notice's price; it counts all the same.
enum class PriceDoubt : uint8_t {
  kMissing,       ///< None, or a macro that nobody replaced: the bid's own is taken.
  kUnreadable,    ///< No decimal number: the same.
  kAboveCeiling,  ///< Above the bid: the bid's own is taken.
};

inline constexpr size_t kPriceDoubts = 3;

[[nodiscard]] std::string_view to_string(PriceDoubt doubt);

/// What one worker counts beside its pipeline.
struct WorkerStats {
  std::array<std::array<base::Counter, resilience::kShedReasons + 1>, 2> shed;  ///< By level.
  static constexpr size_t kShedForMemory = resilience::kShedReasons;
  std::array<std::array<base::Counter, kNoticeEnds>, bidder::kNoticeKinds> notices;
  std::array<base::Counter, kPriceDoubts> price_doubts;
  std::array<base::Counter, bidder::kArms> arms;  ///< Answers with a bid, by bidder::Arm.
  /// Notices that had an effect, by bidder::Arm.
  std::array<std::array<base::Counter, bidder::kNoticeKinds>, bidder::kArms> arm_notices;
  base::Counter not_found, wrong_method, unknown_exchange, callers_gone;
  base::Counter invalid;    ///< Answered 400.
  base::Counter in_flight;  ///< Requests now.
  base::Counter turns;      ///< Grows while the worker's loop turns.
  base::Histogram queue_age, answer_time;
  bidder::PipelineStats pipeline;
};

}  // namespace spillway::app::bidding
