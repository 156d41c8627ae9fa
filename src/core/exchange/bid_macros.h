#pragma once

#include <cstdint>
#include <string>

#include "exchange/clearing/bid.h"
#include "exchange/conclusion.h"
#include "openrtb/macros.h"

namespace spillway::exchange {

/// The macro values of one bid of an ended auction, the same in its markup and in its notices.
/// Prices are in the bid's own currency, and gross. The views live until the next call.
class BidMacros {
 public:
  [[nodiscard]] const openrtb::MacroValues& of_winner(const Conclusion& end,
                                                      const clearing::Bid& bid);

  /// Of a bid that lost, for its loss notice: no price, a loss code, and the price to beat when a
  /// price was what it lacked.
  [[nodiscard]] const openrtb::MacroValues& of_loser(const Conclusion& end,
                                                     const clearing::Bid& bid);

 private:
  void fill_common(const Conclusion& end, const clearing::Bid& bid);

  openrtb::MacroValues values_;
  std::string price_, mbr_, min_to_win_, imp_ts_, ad_id_, loss_;
};

}  // namespace spillway::exchange
