#pragma once

#include <cstdint>
#include <string_view>

#include "exchange/clearing/bid.h"
#include "exchange/clearing/bid_rules.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

/// The rules of price_rules.cc, for judge() alone; each returns the reason against the bid or kWon.
/// They stand in the order they are asked in, which matters: price() finds the deal and the margin,
/// floor() needs the currency.
[[nodiscard]] openrtb::Loss price(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss currency(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss floor(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss deal(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss deal_terms(const RuleInput& input, Bid& bid);

/// The rules of format_rules.cc, the same way. They want the media type, and RuleInput::formats.
[[nodiscard]] openrtb::Loss timed_media(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss native_assets(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss ad_type(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss language(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss expiry(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss advertised_app(const RuleInput& input, Bid& bid);
[[nodiscard]] openrtb::Loss transparency(const RuleInput& input, Bid& bid);

inline const openrtb::Imp& imp_of(const RuleInput& input, const Bid& bid) {
  return input.request.imps[bid.imp];
}

/// A broken rule, as strictly as the DSP's switch says.
inline openrtb::Loss broken(Check mode, Warning warning, openrtb::Loss loss, Bid& bid) {
  if (mode == Check::kWarn) {
    bid.warnings = bid.warnings | static_cast<uint32_t>(warning);
  }
  return mode == Check::kEnforce ? loss : openrtb::Loss::kWon;
}

/// Calls `visit(element)` for the elements of an array, or for the value itself when a peer left
/// the brackets out, until one is true.
template <typename Visit>
bool any_element(const openrtb::Document& document, openrtb::NodeId value, Visit visit) {
  if (value == openrtb::kAbsent) {
    return false;
  }
  if (!document.is(value, openrtb::Kind::kArray)) {
    return visit(value);
  }
  for (const openrtb::NodeId element : document.children(value)) {
    if (visit(element)) {
      return true;
    }
  }
  return false;
}

/// The text of a string node; of an escaped one, decoded into the input's scratch memory.
inline std::string_view decoded(const RuleInput& input, openrtb::NodeId text) {
  if (!input.document.is(text, openrtb::Kind::kString) || !input.document.node(text).escaped) {
    return input.document.raw_string(text);
  }
  input.scratch.clear();
  input.document.append_string(text, input.scratch);
  return input.scratch;
}

}  // namespace spillway::exchange::clearing
