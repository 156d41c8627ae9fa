#include "app/bidder/stats.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace spillway::app::bidding {

std::string_view to_string(NoticeEnd end) {
  constexpr std::array<std::string_view, kNoticeEnds> kNames{
      "settled",   "overcharged",      "duplicate",     "late",    "unknown", "test",
      "malformed", "unknown_exchange", "bad_signature", "expired", "busy"};
  return kNames.at(static_cast<size_t>(end));
}

std::string_view to_string(PriceDoubt doubt) {
  constexpr std::array<std::string_view, kPriceDoubts> kNames{"missing", "unreadable",
                                                              "above_ceiling"};
  return kNames.at(static_cast<size_t>(doubt));
}

}  // namespace spillway::app::bidding
