#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/clearing/rates.h"
#include "exchange/privacy.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/path_edits.h"
#include "openrtb/validate.h"
#include "openrtb/versions.h"

namespace spillway::exchange {

/// Everything in which the request of one DSP differs from that of another: a value. Bytes are made
/// from the auction and from this alone, so that DSPs share bytes only if all of it is equal.
/// Nodes index the document; views must live until the call returns.
struct DspEdits {
  std::span<const uint32_t> imps = {};  ///< Ascending indices into RequestView::imps.
  int64_t tmax_ms = 0;
  int at = 1;  ///< Stands in for an absent one.
  openrtb::Version version = openrtb::Version::k26;
  /// One of each imp of `imps`: its imp.ext.bidder; kAbsent for none. Or empty: none at all.
  std::span<const openrtb::NodeId> params = {};
  openrtb::NodeId buyeruid = openrtb::kAbsent;  ///< Its user.buyeruid where the user has none.
  openrtb::NodeId schain = openrtb::kAbsent;    ///< Its source.schain.
  std::string_view request_id = {};             ///< Decoded; "" keeps the caller's.
  PrivacyClass copy = PrivacyClass::kFull;      ///< What privacy withholds of the caller's.
  uint32_t discount_ppm = 0;                    ///< What its bid adjustment takes off its prices.
  Floor floor = {};                             ///< DspConfig::floor.
  /// What else privacy takes from this DSP: the last word. Paths are those of OpenRTB 2.6 and name
  /// members (user.eids, device.ip), whatever the DSP's version; whole objects may be removed.
  std::span<const openrtb::PathEdit> privacy = {};
};

/// The bytes that DSPs are sent: the caller's own, with only the imps meant for them, `tmax` as
/// announced, `at` said explicitly when the caller did not, and floors as bids will be held against
/// them: the highest of the imp's, the account's and the DSP's, gross of margin and bid adjustment
/// (those of deals stay: nothing is taken there); without the `ext.prebid` of request, imps and
/// user (see Prebid). All else passes byte for byte.
///
/// Equal edits share bytes within one auction; no DSP sees another's. What a second DSP gets too is
/// joined to one piece, so that sending it is one copy. One thread owns it; variants are at most
/// one a candidate and keep their memory, of joined bytes up to 64 KiB.
class Outgoing {
 public:
  /// What all DSPs of an auction are told alike; views must live until reset.
  struct Shared {
    uint32_t margin_ppm = 0;                 ///< Account::price_margin_ppm.
    Floor floor = {};                        ///< Account::floor.
    const clearing::Rates* rates = nullptr;  ///< Fresh ones, or null.
    /// Where the caller is silent: see fill_silence.
    std::span<const openrtb::PathEdit> fill = {};
    const Seller* seller = nullptr;  ///< Whose node supply chains get; none without an asi.
  };

  /// Starts over for a request; both must outlive the pieces. Floors are announced so that a bid at
  /// one passes.
  void reset(const openrtb::Document& document, const openrtb::RequestView& request,
             const Shared& shared);

  void reset(const openrtb::Document& document, const openrtb::RequestView& request) {
    reset(document, request, Shared());
  }

  /// The request of a DSP. The pieces are valid until reset.
  std::span<const std::string_view> bytes(const DspEdits& dsp);

  /// Different requests made since reset.
  [[nodiscard]] size_t variants() const { return count_; }

 private:
  /// DspEdits that own what they hold.
  struct Variant {
    std::vector<uint32_t> imps;
    std::vector<openrtb::NodeId> params;
    std::string request_id;
    std::vector<openrtb::PathEdit> privacy;
    DspEdits key;  ///< Its views are those of the members above.
    openrtb::EditList edits;
    std::span<const std::string_view> pieces;
    std::string joined;  ///< Empty before the second use.
    std::string_view whole;
  };

  Variant& add(const DspEdits& dsp);
  static std::span<const std::string_view> again(Variant& variant);
  void remove_other_imps(Variant& variant) const;
  void edit_imps(Variant& variant);
  void remove_prebid(openrtb::NodeId ext, const openrtb::Path& path);
  void edit_floor(const DspEdits& dsp, const openrtb::Imp& imp);
  void edit_request(Variant& variant);
  void edit_source(const DspEdits& dsp);

  const openrtb::Document* document_ = nullptr;
  const openrtb::RequestView* request_ = nullptr;
  Shared shared_;
  std::vector<std::unique_ptr<Variant>> variants_;  ///< The first `count_` count.
  size_t count_ = 0;
  openrtb::PathEdits changes_;
  std::string text_;
};

/// Whether two DSPs are sent the same bytes: member by member, what views name by content.
[[nodiscard]] bool same_bytes(const DspEdits& a, const DspEdits& b);

}  // namespace spillway::exchange
