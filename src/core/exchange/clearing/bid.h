#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "exchange/classify.h"
#include "exchange/clearing/formats.h"
#include "exchange/clearing/margin.h"
#include "exchange/clearing/rates.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

/// One bid of one DSP, judged. Nodes index the answer's document.
struct Bid {
  uint32_t dsp = 0;     ///< Index into Snapshot::dsps.
  uint32_t answer = 0;  ///< Caller's number of the answer it came in.
  openrtb::NodeId node = openrtb::kAbsent;
  std::string id;             ///< Decoded.
  std::string seat;           ///< Decoded; the DSP's default when the answer has none.
  uint32_t imp = 0;           ///< Index into RequestView::imps; kNoImp when impid is unknown.
  std::string impid;          ///< As given, decoded.
  base::Cpm price;            ///< As bid, gross of the margin; rounded down to whole micros.
  uint32_t margin_ppm = 0;    ///< The exchange's share of the price; 0 on a deal that was offered.
  uint32_t discount_ppm = 0;  ///< What its DSP's adjustment takes off before; 0 on such a deal.
  uint32_t deal = kNoDeal;    ///< Index into Imp::deals; kNoDeal when none was offered to it.
  uint32_t group = 0;         ///< Bids of one number of an answer win all or none; 0: alone.
  uint8_t at = 0;             ///< 1, 2, 3 (the floor is the price) by its deal; 0: the auction's.
  base::Cpm floor;            ///< The one that applies, in the bid's currency; net of the margin.
  base::Currency currency;
  openrtb::MediaType media = openrtb::MediaType::kBanner;
  openrtb::Size size;  ///< 0x0 when the bid says none.
  std::string deal_id;
  base::Cpm value;  ///< worth() in the reply's currency, rounded down; set by clear().
  openrtb::Loss loss = openrtb::Loss::kWon;  ///< kWon until something speaks against it.
  bool duplicate = false;                    ///< Refused as seatnonbid 302.
  bool notices = false;                      ///< It names a URL to be told at: nurl, burl or lurl.
  uint32_t warnings = 0;  ///< Bit set of checks in mode warn that failed; see Warning.

  static constexpr uint32_t kNoImp = 0xffffffff;

  static constexpr uint32_t kNoDeal = 0xffffffff;
  static constexpr uint8_t kFixedPrice = 3;

  /// Its price by the adjustment and without the margin: floors are compared with it.
  [[nodiscard]] base::Cpm net() const {
    const bool is_whole = (discount_ppm | margin_ppm) == 0;
    return is_whole ? price : net_of(net_of(price, discount_ppm), margin_ppm);
  }

  /// The least price of its own that nets so much.
  [[nodiscard]] base::Cpm gross(base::Cpm net) const {
    const bool is_whole = (discount_ppm | margin_ppm) == 0;
    return is_whole ? net : gross_of(gross_of(net, margin_ppm), discount_ppm);
  }

  /// The most the publisher would get of it: bids are ranked by it. At a fixed price that is the
  /// price, whatever was bid.
  [[nodiscard]] base::Cpm worth() const { return at == kFixedPrice ? floor : net(); }

  [[nodiscard]] bool valid() const { return loss == openrtb::Loss::kWon && !duplicate; }
};

enum class Warning : uint32_t {
  kSize = 1,
  kSecure = 2,
  kBadv = 4,
  kBcat = 8,
  kBattr = 16,
  kMarkup = 32,
  kAdomainType = 64,
  kDeal = 128,
  kVast = 1 << 8,
  kMime = 1 << 9,
  kDuration = 1 << 10,
  kProtocol = 1 << 11,
  kVideoSize = 1 << 12,
  kNative = 1 << 13,
  kLanguage = 1 << 14,
  kExpiry = 1 << 15,
  kBapp = 1 << 16,
  kDsa = 1 << 17,
  kAcat = 1 << 18,
  kBtype = 1 << 19,
};

/// One answer read: what it is, and its bids in document order.
struct Answer {
  AnswerKind kind = AnswerKind::kNone;
  std::string bidid;         ///< response.bidid, decoded.
  int nbr = -1;              ///< response.nbr, -1 when absent.
  size_t bids_over_cap = 0;  ///< Dropped beyond BidChecks::bids_per_answer.
  std::vector<Bid> bids;

  void clear();

  std::string scratch;              ///< Memory of read_answer, kept between answers.
  std::vector<uint64_t> id_hashes;  ///< The same, of numbers.
};

/// Where an answer came from, and what is held against its bids.
struct AnswerSource {
  const DspConfig& dsp;
  uint32_t dsp_index = 0;           ///< Bid::dsp.
  uint32_t answer_index = 0;        ///< Bid::answer.
  uint32_t margin_ppm = 0;          ///< Account::price_margin_ppm.
  Floor floor = {};                 ///< Account::floor.
  std::string_view request_id{};    ///< The id it was asked with; empty: the request's.
  const Rates* rates = nullptr;     ///< Fresh ones; null: nothing is converted.
  AskedFormats* formats = nullptr;  ///< Of the request; null: rules about formats are not asked.
};

/// Reads and judges the body of a 200 answer: walks it into `document`, finds every bid and sets
/// its loss: the first of the rules, in the order of docs/bid_validation.md, that speaks against
/// it. A malformed body has no bids. Bids that are null or no objects are skipped, others are kept
/// with their reason, so that nothing disappears silently. Of the valid bids of one seat on one imp
/// the best `bids_per_seat_and_imp` stay, the others are outbid (102) already here. `body` needs
/// Document::kPadding readable bytes behind it. No allocation beyond the strings. Cost: linear in
/// the body.
void read_answer(std::string_view body, const openrtb::RequestView& request,
                 const AnswerSource& source, openrtb::Document& document, Answer& out);

/// What one imp's auction came to.
struct Cleared {
  static constexpr uint32_t kNobody = 0xffffffff;
  uint32_t winner = kNobody;  ///< Index into the bids handed in.
  base::Cpm price;       ///< What the publisher gets, net of the margin; in the reply's currency.
  base::Cpm gross;       ///< What the winner pays; never above its bid; in its bid's currency.
  base::Cpm min_to_win;  ///< Of the winner, gross, in its bid's currency; zero without a rival.
};

struct Rules {
  int at = 1;  ///< 1 or 2.
  int64_t increment_micros =
      10'000;         ///< Second price: added to the second net bid, never above own bid.
  uint64_t seed = 0;  ///< Ties: least hash(seed, imp id, seat, bid id) wins.
  base::Currency currency = {};  ///< The reply's: bids are compared in it.
  const Rates* rates = nullptr;  ///< Fresh ones; null: bids in other currencies have none (526).
};

/// Clears every imp over the valid bids of all answers, in place: losers get their loss reason
/// (outbid 102). One Cleared per imp, in order. The order of `bids` does not matter to the result,
/// and stays as it is.
///
/// Bids are compared in the reply's currency, each converted once and rounded down; without a rate
/// a bid is lost (526). Of single bids the one that is worth most wins. Bids of one group win all
/// together or not at all: the groups that win are those with which all imps together are worth
/// most (see groups.h); one that could not win as a whole is lost with all its bids (530).
///
/// How the winner pays is its deal's word, else the auction's. First price: its own. Second price:
/// the least gross price, in its own currency, whose net is max(second worth, floor that applies to
/// it) plus the increment, never more than its own; the second is the best single bid of another
/// seat. Fixed price: that floor. An `at` other than 2 is first price. Cost: linear in bids and
/// imps, and for groups the search.
void clear(const openrtb::RequestView& request, const Rules& rules, std::vector<Bid*>& bids,
           std::vector<Cleared>& out);

}  // namespace spillway::exchange::clearing
