#include "exchange/clearing/bid_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "exchange/clearing/bid.h"
#include "exchange/clearing/bid_fields.h"
#include "exchange/clearing/blocklist.h"
#include "exchange/clearing/markup.h"
#include "exchange/clearing/rule_parts.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Imp;
using openrtb::Kind;
using openrtb::Loss;
using openrtb::MediaType;
using openrtb::NodeId;

constexpr uint8_t bit(MediaType type) { return static_cast<uint8_t>(type); }

Loss identity(const RuleInput& input, Bid& bid) {
  const openrtb::Document& document = input.document;
  document.append_string(input.fields.id, bid.id);
  document.append_string(input.fields.impid, bid.impid);
  if (document.is(input.fields.impid, Kind::kString)) {
    const auto& imps = input.request.imps;
    const auto found = std::ranges::find(imps, bid.impid, &Imp::id);
    bid.imp = found == imps.end() ? Bid::kNoImp : static_cast<uint32_t>(found - imps.begin());
  }
  return bid.id.empty() || bid.imp == Bid::kNoImp ? Loss::kInvalidResponse : Loss::kWon;
}

Loss seat(const RuleInput& input, Bid& bid) {
  const auto holds = [&bid](const std::vector<std::string>& seats) {
    return std::ranges::find(seats, bid.seat) != seats.end();
  };
  const bool allowed = input.request.wseat.empty() || holds(input.request.wseat);
  return allowed && !holds(input.request.bseat) ? Loss::kWon : Loss::kSeatBlocked;
}

Loss markup(const RuleInput& input, Bid& bid) {
  const openrtb::Document& document = input.document;
  const BidChecks& checks = input.dsp.checks;
  if (document.raw_string(input.fields.adm).size() > checks.adm_bytes) {
    return Loss::kCreativeGeneral;
  }
  const bool elsewhere = checks.allow_nurl_only && (is_text(document, input.fields.nurl) ||
                                                    is_text(document, input.fields.adid));
  if (is_text(document, input.fields.adm) || elsewhere) {
    return Loss::kWon;
  }
  return broken(checks.markup, Warning::kMarkup, Loss::kMissingMarkup, bid);
}

Loss crid(const RuleInput& input, Bid& /*bid*/) {
  const bool there = is_text(input.document, input.fields.crid) ||
                     input.document.is(input.fields.crid, Kind::kNumber);
  return there || !input.dsp.checks.require_crid ? Loss::kWon : Loss::kMissingCrid;
}

/// The bid's own word; nullopt for none, and for values the list does not have.
std::optional<MediaType> told_media(const RuleInput& input) {
  constexpr std::array<MediaType, 4> kByMtype = {MediaType::kBanner, MediaType::kVideo,
                                                 MediaType::kAudio, MediaType::kNative};
  const auto mtype = input.document.integer(input.fields.mtype);
  if (!mtype.has_value() || *mtype < 1 || *mtype > 4) {
    return std::nullopt;
  }
  return kByMtype[static_cast<size_t>(*mtype - 1)];
}

/// What the markup looks like; nullopt when it does not tell.
std::optional<MediaType> seen_media(const RuleInput& input, uint8_t offered) {
  switch (sniff(decoded(input, input.fields.adm))) {
    case MarkupKind::kVast: {
      const bool audio_only =
          (offered & bit(MediaType::kVideo)) == 0 && (offered & bit(MediaType::kAudio)) != 0;
      return audio_only ? MediaType::kAudio : MediaType::kVideo;
    }
    case MarkupKind::kNative:
      return MediaType::kNative;
    case MarkupKind::kHtml:
      return MediaType::kBanner;
    case MarkupKind::kUnknown:
      break;
  }
  return std::nullopt;
}

Loss media(const RuleInput& input, Bid& bid) {
  const uint8_t offered = imp_of(input, bid).media;
  const auto told = told_media(input);
  if (!told.has_value() && input.dsp.checks.require_mtype) {
    return Loss::kFormat;
  }
  // The lowest type offered: the only one, or for markup that does not tell the banner first.
  const auto lowest = static_cast<MediaType>(offered & (~offered + 1));
  const bool single = (offered & (offered - 1)) == 0;
  if (told.has_value()) {
    bid.media = *told;
  } else if (single && offered != 0) {
    bid.media = lowest;
  } else {
    const auto seen = seen_media(input, offered);
    bid.media = seen.value_or(offered != 0 ? lowest : MediaType::kBanner);
  }
  return offered == 0 || (offered & bit(bid.media)) != 0 ? Loss::kWon : Loss::kFormat;
}

bool size_offered(const Imp& imp, const openrtb::Size& size) {
  if (imp.sizes.empty() && imp.ratios.empty()) {
    return true;
  }
  if (std::ranges::find(imp.sizes, size) != imp.sizes.end()) {
    return true;
  }
  for (size_t i = 0; i < imp.ratios.size(); ++i) {
    const openrtb::Size& ratio = imp.ratios[i];
    const int64_t skew = int64_t{size.w} * ratio.h - int64_t{size.h} * ratio.w;
    const bool wide_enough = i >= imp.ratio_wmin.size() || size.w >= imp.ratio_wmin[i];
    // Whole pixels: off by less than one of them on either side.
    if (wide_enough && std::abs(skew) < std::max(ratio.w, ratio.h)) {
      return true;
    }
  }
  return false;
}

/// A dimension: 0 when absent or 0, nullopt when it is no size.
std::optional<int32_t> dimension(const openrtb::Document& document, NodeId node) {
  constexpr int64_t kLargest = 1'000'000;
  if (node == openrtb::kAbsent) {
    return 0;
  }
  const auto value = document.integer(node);
  if (!value.has_value() || *value < 0 || *value > kLargest) {
    return std::nullopt;
  }
  return static_cast<int32_t>(*value);
}

Loss size(const RuleInput& input, Bid& bid) {
  const auto w = dimension(input.document, input.fields.w);
  const auto h = dimension(input.document, input.fields.h);
  bid.size = openrtb::Size{.w = w.value_or(0), .h = h.value_or(0)};
  if (bid.media != MediaType::kBanner) {
    return Loss::kWon;
  }
  const openrtb::Size& most = input.dsp.checks.banner_size_max;
  if ((most.w > 0 && bid.size.w > most.w) || (most.h > 0 && bid.size.h > most.h)) {
    return Loss::kSize;
  }
  const bool readable = w.has_value() && h.has_value();
  const bool unsaid = readable && bid.size == openrtb::Size{};
  if (unsaid || (readable && size_offered(imp_of(input, bid), bid.size))) {
    return Loss::kWon;
  }
  return broken(input.dsp.checks.size, Warning::kSize, Loss::kSize, bid);
}

Loss secure(const RuleInput& input, Bid& bid) {
  const Check mode = input.dsp.checks.secure;
  if (mode == Check::kSkip || !imp_of(input, bid).secure) {
    return Loss::kWon;
  }
  // Without markup of its own it is what the win notice answers.
  if (!is_text(input.document, input.fields.adm)) {
    return loads_insecurely(decoded(input, input.fields.nurl))
               ? broken(mode, Warning::kSecure, Loss::kNotSecure, bid)
               : Loss::kWon;
  }
  // Most markup is cleared undecoded.
  const std::string_view raw = input.document.raw_string(input.fields.adm);
  if (!may_mention_http(raw)) {
    return Loss::kWon;
  }
  if (!loads_insecurely(decoded(input, input.fields.adm))) {
    return Loss::kWon;
  }
  return broken(mode, Warning::kSecure, Loss::kNotSecure, bid);
}

Loss advertiser(const RuleInput& input, Bid& bid) {
  const openrtb::Document& document = input.document;
  const NodeId adomain = input.fields.adomain;
  if (adomain != openrtb::kAbsent && !document.is(adomain, Kind::kArray)) {
    (void)broken(Check::kWarn, Warning::kAdomainType, Loss::kInvalidAdomain, bid);
  }
  const Check mode = input.dsp.checks.badv;
  if (mode == Check::kSkip || input.request.badv.empty()) {
    return Loss::kWon;
  }
  const bool blocked = any_element(document, adomain, [&input](NodeId domain) {
    return domain_listed(decoded(input, domain), input.request.badv);
  });
  return blocked ? broken(mode, Warning::kBadv, Loss::kAdvertiser, bid) : Loss::kWon;
}

/// The taxonomy of the bid's categories, also as a number in quotes; nullopt when it is none.
std::optional<int64_t> taxonomy(const RuleInput& input) {
  const openrtb::Document& document = input.document;
  const NodeId cattax = input.fields.cattax;
  if (cattax == openrtb::kAbsent || document.is(cattax, Kind::kNull)) {
    return kContentTaxonomy1;
  }
  const std::string_view text = document.raw_string(cattax);
  if (int64_t number = 0; !text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                    : std::nullopt;
  }
  return document.integer(cattax);
}

/// Whether one of the bid's categories is in a list of the request. Those of another taxonomy are
/// not: the same code means something else there.
bool has_category(const RuleInput& input, const std::vector<std::string>& listed) {
  return taxonomy(input) == input.request.cattax &&
         any_element(input.document, input.fields.cat, [&](NodeId cat) {
           return category_listed(decoded(input, cat), listed, input.request.cattax);
         });
}

Loss blocked_category(const RuleInput& input, Bid& bid) {
  const Check mode = input.dsp.checks.bcat;
  if (mode == Check::kSkip || input.request.bcat.empty()) {
    return Loss::kWon;
  }
  return has_category(input, input.request.bcat)
             ? broken(mode, Warning::kBcat, Loss::kCategory, bid)
             : Loss::kWon;
}

Loss allowed_category(const RuleInput& input, Bid& bid) {
  const Check mode = input.dsp.checks.acat;
  if (mode == Check::kSkip || input.request.acat.empty()) {
    return Loss::kWon;
  }
  return has_category(input, input.request.acat)
             ? Loss::kWon
             : broken(mode, Warning::kAcat, Loss::kCategory, bid);
}

Loss attribute(const RuleInput& input, Bid& bid) {
  const Check mode = input.dsp.checks.battr;
  const auto& battr = imp_of(input, bid).battr;
  if (mode == Check::kSkip || battr.empty()) {
    return Loss::kWon;
  }
  const bool blocked = any_element(input.document, input.fields.attr, [&](NodeId attr) {
    const auto value = input.document.integer(attr);
    return value.has_value() && std::ranges::find(battr, *value) != battr.end();
  });
  return blocked ? broken(mode, Warning::kBattr, Loss::kAttribute, bid) : Loss::kWon;
}

/// The first reason of `Rules`, asked in their order.
template <Loss (*... Rules)(const RuleInput&, Bid&)>
Loss first_against(const RuleInput& input, Bid& bid) {
  Loss loss = Loss::kWon;
  (void)(((loss = Rules(input, bid)) == Loss::kWon) && ...);
  return loss;
}

}  // namespace

Loss judge(const RuleInput& input, Bid& bid) {
  Loss loss =
      first_against<identity, seat, price, currency, floor, markup, crid, deal, deal_terms, media,
                    size, secure, advertiser, blocked_category, allowed_category, attribute>(input,
                                                                                             bid);
  if (loss == Loss::kWon && input.formats != nullptr) {
    loss = first_against<timed_media, native_assets, ad_type, language, expiry, advertised_app,
                         transparency>(input, bid);
  }
  return loss;
}

}  // namespace spillway::exchange::clearing
