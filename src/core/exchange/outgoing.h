#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

/// The bytes that DSPs are sent: the caller's own, with only the imps meant for them, `tmax` as
/// announced, `at` said explicitly when the caller did not, and with a margin the floors gross of
/// it (those of deals stay: none is taken there). All else passes byte for byte.
///
/// Equal edits share bytes within one auction; no DSP sees another's. One thread owns it; variants
/// are at most one a candidate and keep their memory.
class Outgoing {
 public:
  /// Starts over for a request; both must outlive the pieces. With `margin_ppm` (see
  /// Account::price_margin_ppm) floors are announced so that a bid at one passes.
  void reset(const openrtb::Document& document, const openrtb::RequestView& request,
             uint32_t margin_ppm = 0);

  /// The request with only `imps` (ascending indices into RequestView::imps), `tmax_ms` announced.
  /// `at` stands in for an absent one. The pieces are valid until reset.
  std::span<const std::string_view> bytes(std::span<const uint32_t> imps, int64_t tmax_ms, int at);

  /// Different requests made since reset.
  [[nodiscard]] size_t variants() const { return count_; }

 private:
  struct Variant {
    std::vector<uint32_t> imps;
    int64_t tmax_ms = 0;
    int at = 0;
    openrtb::EditList edits;
    std::span<const std::string_view> pieces;
  };

  Variant& add();
  void remove_other_imps(Variant& variant) const;
  void raise_floors(Variant& variant) const;

  const openrtb::Document* document_ = nullptr;
  const openrtb::RequestView* request_ = nullptr;
  uint32_t margin_ppm_ = 0;
  std::vector<std::unique_ptr<Variant>> variants_;  ///< The first `count_` count.
  size_t count_ = 0;
};

}  // namespace spillway::exchange
