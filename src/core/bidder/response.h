#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/money.h"
#include "bidder/model.h"
#include "bidder/notice.h"

namespace spillway::bidder {

/// One bid to be written; what it points to outlives the call.
struct BidToWrite {
  std::string_view imp;  ///< Its id, decoded.
  std::string_view deal{};
  const Advertiser* advertiser = nullptr;
  const Creative* creative = nullptr;
  int64_t line_item = 0;
  base::Cpm price;
  int32_t w = 0;  ///< Of the slot that the creative fills, 0 for none.
  int32_t h = 0;
  Claims claims;
};

/// What all bids of an answer share.
struct AnswerToWrite {
  std::string_view request;  ///< The request's id, decoded.
  base::Currency currency;
  std::string_view seat{};
  size_t exchange = 0;  ///< Index of the signer's.
  int64_t cattax = 1;   ///< The request's: categories are said in it where the advertiser has some.
  int64_t expires_in_s = 0;
  const NoticeSigner* signer = nullptr;  ///< Null: bids name no addresses.
  std::string_view explain{};            ///< JSON for ext.explain; empty: none.
};

/// Reused memory of append_answer.
struct WriterMemory {
  std::string markup;
  std::string bid_id;
  std::string claims;
};

/// Appends a bid response of OpenRTB 2.6: one seatbid, each bid with id, impid, price, adm (see
/// append_markup), adomain, cat, attr, crid, cid, w, h, dealid, mtype, dur, protocol, apis,
/// language, exp and signed nurl, burl, lurl. Requires at least one bid. Nothing is allocated but
/// what the strings grow. Cost: linear in the markup, and one signature for each of the addresses.
void append_answer(std::string& out, const AnswerToWrite& answer, std::span<const BidToWrite> bids,
                   WriterMemory& memory);

/// Appends {"id":…,"nbr":…} with ext.explain where there is one.
void append_no_bid(std::string& out, std::string_view request, int nbr, std::string_view explain);

/// The id of a bid: its key in hexadecimal.
void append_bid_id(std::string& out, const Claims& claims);

}  // namespace spillway::bidder
