#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/auction.h"
#include "exchange/bid_macros.h"
#include "exchange/conclusion.h"
#include "exchange/snapshot.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

/// Writes what the caller gets.
///
/// A winning bid is its DSP's own JSON object, member for member and byte for byte, but for:
/// `price` is the clearing price; macros in `adm` are expanded (with the DSP's own response.bidid,
/// and the price in the bid's own currency); `nurl`, `burl` and `lurl` are left out, for a DSP's
/// notice URLs never leave the exchange (see notice_orders.h): with Snapshot::events, `nurl` and
/// `burl` are signed URLs of ours, but for test=1; `ext` is left out unless it is
/// an object; `mtype` is set when the bid has none. Pages get what prebid_answer.h says.
///
/// seatbids are in order of seat (for Prebid.js the bidder as the page names it), their bids in
/// order of imp, at most one an imp. The request id is echoed in the spelling it came in. No bid is
/// 204, or 200 with nbr for callers that need a body: those with an Origin, test=1, ext.debug, or
/// an account that wants it.
///
/// One thread owns it; it keeps its scratch memory.
class ResponseWriter {
 public:
  /// The reply of an ended auction.
  void write(const Conclusion& end, ReplyBytes& out);

 private:
  struct Line {
    std::string_view seat;
    uint32_t imp = 0;
    const clearing::Bid* bid = nullptr;  ///< Null for a house ad.
    const HouseFill* house = nullptr;
  };

  void collect_lines(const Conclusion& end);
  void append_seat_bids(std::string& out, const Conclusion& end);
  void append_bid(std::string& out, const Conclusion& end, const Line& line);
  void append_house(std::string& out, const Conclusion& end, const Line& line);

  std::vector<Line> lines_;
  BidMacros macros_;
  std::string price_, imp_ts_, text_;
};

/// 400 with the field and what is wrong with it.
void write_invalid(const openrtb::FieldError& error, ReplyBytes& out);

/// No bid before anything was read: 204, or 200 `{"id":"","nbr":525}`.
void write_shed(const Account& account, const Start& start, ReplyBytes& out);

/// 415: a media type this exchange does not speak.
void write_unsupported(ReplyBytes& out);

}  // namespace spillway::exchange
