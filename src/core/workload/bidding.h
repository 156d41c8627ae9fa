#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/rng.h"
#include "base/time.h"
#include "openrtb/document.h"
#include "workload/latency.h"

namespace spillway::workload {

/// What a partner is willing to pay: one draw an imp.
struct Price {
  enum class Kind : uint8_t { kUniform, kLognormal };
  Kind kind = Kind::kUniform;
  base::Cpm low{500'000};     ///< Uniform: the lowest. Lognormal: the median. > 0.
  base::Cpm high{4'000'000};  ///< Uniform: the highest. Lognormal: no price is higher.
  double sigma = 0.5;         ///< Lognormal only, (0, 10].

  /// In [1 micro, high].
  [[nodiscard]] base::Cpm draw(base::Rng& rng) const;
};

/// How a partner spells "no bid".
enum class NoBidSpelling : uint8_t {
  k204,           ///< 204 No Content.
  kEmpty,         ///< 200 with an empty body.
  kEmptyObject,   ///< 200 {}
  kEmptySeatbid,  ///< 200 {"id":…,"seatbid":[]}
  kNbr,           ///< 200 {"id":…,"nbr":8}
};

/// "204", "empty", "object", "seatbid", "nbr": in the order of the enum.
[[nodiscard]] std::vector<std::string_view> nobid_names();

/// What kind of bidder a partner is.
struct BidStyle {
  std::string name = "dsp";  ///< Seat, and part of ids and domains.
  double bid_ratio = 0.5;    ///< Of requests it wants to bid on, [0, 1].
  Price price;
  NoBidSpelling nobid = NoBidSpelling::k204;
  /// What nurl, burl and lurl begin with, "/win", "/bill" or "/loss" behind it; empty: a nurl on a
  /// host of no one, and nothing else.
  std::string notice_url = {};
};

[[nodiscard]] std::vector<Problem> validate(const BidStyle& style);

/// What is wrong with a bid on purpose.
enum class Spoil : uint8_t { kNothing, kImpid, kCurrency };

/// An answer of a partner as the wire will see it.
struct BidAnswer {
  uint16_t status = 200;
  std::string body;   ///< Empty for 204.
  uint32_t bids = 0;  ///< 0: a no-bid.
  bool bad_request = false;
  base::Duration tmax{};  ///< The request's; 0 when it has none.
};

/// Reads bid requests and writes bid responses: each imp whose floor the drawn price meets gets a
/// bid of its type, with the imp's own size, secure markup and an id derived from `serial`.
/// A spoilt answer bids on the first imp whatever its floor.
///
/// One thread owns it. Memory: one node table. Cost: about 2 us a KiB.
class Bidding {
 public:
  explicit Bidding(BidStyle style) : style_(std::move(style)) {}

  [[nodiscard]] const BidStyle& style() const { return style_; }

  /// The answer to `request` (Document::kPadding readable bytes behind it). A request that is not
  /// JSON, or has no id, is answered 400. `wants` stands for the draw by bid_ratio when it is
  /// there.
  [[nodiscard]] BidAnswer answer(std::string_view request, uint64_t serial, Spoil spoil,
                                 base::Rng& rng, std::optional<bool> wants = std::nullopt);

  /// A no-bid to the request last answered.
  [[nodiscard]] BidAnswer decline() const;

 private:
  bool append_bid(std::string& out, openrtb::NodeId imp, uint64_t serial, Spoil spoil,
                  base::Rng& rng) const;
  void append_notices(std::string& out, const std::string& host) const;
  [[nodiscard]] BidAnswer no_bid(openrtb::NodeId id) const;

  BidStyle style_;
  openrtb::Document document_;
};

}  // namespace spillway::workload
