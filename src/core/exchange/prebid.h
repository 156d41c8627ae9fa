#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

/// What a request says in the members that Prebid.js writes for a Prebid Server, sorted by DSP:
///
///   imp[].ext.prebid.bidder.<name>      the DSPs this imp is for, and the parameters of each
///   user.ext.prebid.buyeruids.<name>    the user's id at each
///   ext.prebid.schains[]                the supply chain told to some
///
/// Names are those of DspConfig, compared without case. Names that are nobody's are left out with a
/// warning. An imp that names no bidder at all is for every DSP. The members themselves are sent to
/// nobody.
///
/// One thread owns it; reused, it allocates nothing after warm-up. Memory: DSPs times imps.
/// Source: prebid-server's documentation of openrtb2/auction.
class Prebid {
 public:
  /// Reads a valid request; nodes index `document`. Warnings go to `request`, at most kWarnings.
  void read(const Snapshot& snapshot, const openrtb::Document& document,
            openrtb::RequestView& request);

  void clear();

  /// Whether the imp is for the DSP. Requires both in range.
  [[nodiscard]] bool allows(size_t dsp, size_t imp) const {
    return params_.empty() || !names_bidders_[imp] || params(dsp, imp) != openrtb::kAbsent;
  }

  /// The DSP's parameters for the imp, kAbsent for none.
  [[nodiscard]] openrtb::NodeId params(size_t dsp, size_t imp) const {
    return params_.empty() ? openrtb::kAbsent : params_[dsp * imps_ + imp];
  }

  /// Whether the request has an ext.prebid object, as all of Prebid.js's server adapter have.
  [[nodiscard]] bool speaks() const { return speaks_; }

  /// The name under which the imp's sender takes bids of the DSP: as the imp spells it, else the
  /// DSP's own. Views into the snapshot or the document that was read. Requires both in range.
  [[nodiscard]] std::string_view seat(const Snapshot& snapshot, const openrtb::Document& document,
                                      size_t dsp, size_t imp) const;

  /// Whether any imp has parameters for anybody.
  [[nodiscard]] bool has_params() const { return !params_.empty(); }

  /// The user's id at the DSP (a string), kAbsent for none.
  [[nodiscard]] openrtb::NodeId buyeruid(size_t dsp) const {
    return dsp < buyeruids_.size() ? buyeruids_[dsp] : openrtb::kAbsent;
  }

  /// The supply chain for the DSP: its own, else the one for "*"; kAbsent for none.
  [[nodiscard]] openrtb::NodeId schain(size_t dsp) const {
    return dsp < schains_.size() && schains_[dsp] != openrtb::kAbsent ? schains_[dsp]
                                                                      : schain_for_all_;
  }

  static constexpr size_t kWarnings = 8;

 private:
  struct Reading;

  void read_imps(Reading& reading);
  void read_buyeruids(Reading& reading);
  void read_schains(Reading& reading);

  size_t imps_ = 0;
  bool speaks_ = false;
  std::vector<openrtb::NodeId> params_;               ///< dsps times imps, or empty.
  std::vector<bool> names_bidders_;                   ///< Of each imp, beside `params_`.
  std::vector<openrtb::NodeId> buyeruids_, schains_;  ///< Of each DSP, or empty.
  openrtb::NodeId schain_for_all_ = openrtb::kAbsent;
  std::string name_;
};

}  // namespace spillway::exchange
