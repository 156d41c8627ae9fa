// What video, audio and native markup must be, and what a bid says of itself beside it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "exchange/clearing/banner_types.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/bid_fields.h"
#include "exchange/clearing/bid_rules.h"
#include "exchange/clearing/formats.h"
#include "exchange/clearing/rule_parts.h"
#include "exchange/clearing/vast.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Document;
using openrtb::Key;
using openrtb::Kind;
using openrtb::Loss;
using openrtb::MediaType;
using openrtb::NodeId;

/// The imp's member for the bid's media type, in the request's document.
NodeId asked_media(const RuleInput& input, const Bid& bid) {
  const auto key = [&] {
    switch (bid.media) {
      case MediaType::kVideo:
        return Key::video;
      case MediaType::kAudio:
        return Key::audio;
      case MediaType::kNative:
        return Key::native;
      case MediaType::kBanner:
        break;
    }
    return Key::banner;
  }();
  return input.formats->document().find(imp_of(input, bid).node, key);
}

/// Whether a list of the request holds a whole number. Without a list nothing is known: true.
bool lists(const Document& asked, NodeId list, int64_t wanted) {
  bool any = false;
  for (const NodeId node : asked.children(list)) {
    any = true;
    if (asked.integer(node) == wanted) {
      return true;
    }
  }
  return !any;
}

/// The same for words, without case.
bool lists(const Document& asked, NodeId list, std::string_view wanted) {
  const auto same = [](char a, char b) {
    const auto folded = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
    return folded(a) == folded(b);
  };
  bool any = false;
  for (const NodeId node : asked.children(list)) {
    any = true;
    if (std::ranges::equal(asked.raw_string(node), wanted, same)) {
      return true;
    }
  }
  return !any;
}

/// One bid of video or audio beside what the imp's player takes.
class TimedMedia {
 public:
  TimedMedia(const RuleInput& input, Bid& bid)
      : input_(input), bid_(bid), checks_(input.dsp.checks), asked_(asked_media(input, bid)) {}

  /// The first of its rules that is broken and enforced.
  Loss judge() {
    read_markup();
    if (is_text(input_.document, input_.fields.adm) && !facts_.is_vast && breaks(Rule::kVast)) {
      return Loss::kFormat;
    }
    if (facts_.has_media && !facts_.has_taken && breaks(Rule::kMime)) {
      return Loss::kFormat;
    }
    if (!duration_fits() && breaks(Rule::kDuration)) {
      return Loss::kFormat;
    }
    if (!plays() && breaks(Rule::kProtocol)) {
      return Loss::kFormat;
    }
    return !size_fits() && breaks(Rule::kSize) ? Loss::kSize : Loss::kWon;
  }

 private:
  enum class Rule : uint8_t { kVast, kMime, kDuration, kProtocol, kSize };

  bool breaks(Rule rule) {
    const auto held = [&](Check mode, Warning warning) {
      return broken(mode, warning, Loss::kFormat, bid_) != Loss::kWon;
    };
    switch (rule) {
      case Rule::kVast:
        return held(checks_.vast, Warning::kVast);
      case Rule::kMime:
        return held(checks_.mime, Warning::kMime);
      case Rule::kDuration:
        return held(checks_.duration, Warning::kDuration);
      case Rule::kProtocol:
        return held(checks_.protocol, Warning::kProtocol);
      case Rule::kSize:
        return held(checks_.video_size, Warning::kVideoSize);
    }
    return false;
  }

  [[nodiscard]] const Document& asked() const { return input_.formats->document(); }

  [[nodiscard]] int64_t wish(Key key) const {
    return asked().integer(asked().find(asked_, key)).value_or(0);
  }

  /// Decoding and reading costs: only where a rule wants it.
  void read_markup() {
    const bool wanted = checks_.vast != Check::kSkip || checks_.mime != Check::kSkip ||
                        (checks_.duration != Check::kSkip && !said(input_.fields.dur)) ||
                        (checks_.protocol != Check::kSkip && !said(input_.fields.protocol));
    if (wanted) {
      const NodeId mimes = asked().find(asked_, Key::mimes);
      facts_ = read_vast(decoded(input_, input_.fields.adm),
                         [&](std::string_view type) { return lists(asked(), mimes, type); });
    }
  }

  /// A number of the bid's own above 0; nullopt when it does not say.
  [[nodiscard]] std::optional<int64_t> said(NodeId node) const {
    const auto value = input_.document.integer(node);
    return value.value_or(0) > 0 ? value : std::nullopt;
  }

  [[nodiscard]] bool duration_fits() const {
    const int64_t seconds = said(input_.fields.dur).value_or((facts_.duration_ms + 500) / 1000);
    if (seconds <= 0) {
      return true;
    }
    const int64_t longest = wish(Key::maxduration);
    return seconds >= wish(Key::minduration) && (longest <= 0 || seconds <= longest) &&
           lists(asked(), asked().find(asked_, Key::rqddurs), seconds);
  }

  [[nodiscard]] bool plays() const {
    const int64_t protocol = said(input_.fields.protocol).value_or(facts_.protocol);
    if (protocol > 0 && !lists(asked(), asked().find(asked_, Key::protocols), protocol)) {
      return false;
    }
    const NodeId apis = asked().find(asked_, Key::api);
    const auto unknown = [&](NodeId node) {
      const int64_t api = input_.document.integer(node).value_or(0);
      return api > 0 && !lists(asked(), apis, api);
    };
    return !any_element(input_.document, input_.fields.apis, unknown) &&
           !any_element(input_.document, input_.fields.api, unknown);
  }

  [[nodiscard]] bool size_fits() const {
    const auto within = [](int64_t own, int64_t room) { return room <= 0 || own <= room; };
    return within(bid_.size.w, wish(Key::w)) && within(bid_.size.h, wish(Key::h));
  }

  const RuleInput& input_;
  Bid& bid_;
  const BidChecks& checks_;
  NodeId asked_;
  VastFacts facts_;
};

}  // namespace

Loss timed_media(const RuleInput& input, Bid& bid) {
  if (bid.media != MediaType::kVideo && bid.media != MediaType::kAudio) {
    return Loss::kWon;
  }
  return TimedMedia(input, bid).judge();
}

Loss native_assets(const RuleInput& input, Bid& bid) {
  const Check mode = input.dsp.checks.native;
  if (bid.media != MediaType::kNative || mode == Check::kSkip ||
      !is_text(input.document, input.fields.adm)) {
    return Loss::kWon;
  }
  const auto& asked = input.formats->native(bid.imp, imp_of(input, bid).node);
  return input.formats->native_fits(decoded(input, input.fields.adm), asked)
             ? Loss::kWon
             : broken(mode, Warning::kNative, Loss::kFormat, bid);
}

Loss ad_type(const RuleInput& input, Bid& bid) {
  const Check mode = input.dsp.checks.btype;
  const Document& asked = input.formats->document();
  const NodeId list = bid.media == MediaType::kBanner
                          ? asked.find(asked_media(input, bid), Key::btype)
                          : openrtb::kAbsent;
  if (mode == Check::kSkip || asked.first_child(list) == openrtb::kAbsent) {
    return Loss::kWon;
  }
  const BannerTypes types = banner_types(decoded(input, input.fields.adm));
  const bool is_blocked = std::ranges::any_of(kBannerTypes, [&](BannerType type) {
    return types.has(type) && lists(asked, list, static_cast<int64_t>(type));
  });
  return is_blocked ? broken(mode, Warning::kBtype, Loss::kAdType, bid) : Loss::kWon;
}

/// A language compares by its main part: "en-US" is "en".
Loss language(const RuleInput& input, Bid& bid) {
  const Check mode = input.dsp.checks.language;
  if (mode == Check::kSkip) {
    return Loss::kWon;
  }
  const Document& asked = input.formats->document();
  const NodeId root = input.formats->root();
  const std::string_view plain = input.document.raw_string(input.fields.language);
  const std::string_view full = input.document.raw_string(input.fields.langb);
  const bool plain_fits =
      plain.empty() || lists(asked, asked.find(root, Key::wlang), plain.substr(0, plain.find('-')));
  const bool full_fits = full.empty() || lists(asked, asked.find(root, Key::wlangb), full);
  return plain_fits && full_fits ? Loss::kWon
                                 : broken(mode, Warning::kLanguage, Loss::kLanguage, bid);
}

Loss expiry(const RuleInput& input, Bid& bid) {
  const Check mode = input.dsp.checks.expiry;
  const int64_t waits = input.document.integer(input.fields.exp).value_or(0);
  if (mode == Check::kSkip || waits <= 0) {
    return Loss::kWon;
  }
  const Document& asked = input.formats->document();
  const int64_t wanted = asked.integer(asked.find(imp_of(input, bid).node, Key::exp)).value_or(0);
  return waits >= wanted ? Loss::kWon : broken(mode, Warning::kExpiry, Loss::kExpired, bid);
}

Loss advertised_app(const RuleInput& input, Bid& bid) {
  const Check mode = input.dsp.checks.bapp;
  if (mode == Check::kSkip || !is_text(input.document, input.fields.bundle)) {
    return Loss::kWon;
  }
  const Document& asked = input.formats->document();
  const NodeId list = asked.find(input.formats->root(), Key::bapp);
  const bool is_blocked = asked.first_child(list) != openrtb::kAbsent &&
                          lists(asked, list, input.document.raw_string(input.fields.bundle));
  return is_blocked ? broken(mode, Warning::kBapp, Loss::kStoreId, bid) : Loss::kWon;
}

/// Source: "DSA Transparency" for OpenRTB: adrender 0 and pubrender 0 is nobody, 1 and 2 is both.
Loss transparency(const RuleInput& input, Bid& bid) {
  constexpr int64_t kLongestName = 100;
  const Check mode = input.dsp.checks.dsa;
  const DsaDemand& demand = input.formats->dsa();
  if (mode == Check::kSkip || (!demand.is_required && demand.publisher_renders < 0)) {
    return Loss::kWon;
  }
  const Document& document = input.document;
  const NodeId dsa = document.find(input.fields.ext, Key::dsa);
  if (!document.is(dsa, Kind::kObject)) {
    return demand.is_required ? broken(mode, Warning::kDsa, Loss::kNoTransparency, bid)
                              : Loss::kWon;
  }
  const auto fits = [&](Key key) {
    return std::ssize(document.string(document.find(dsa, key))) <= kLongestName;
  };
  const int64_t renders = document.integer(document.find(dsa, Key::adrender)).value_or(-1);
  const bool conflict = (demand.publisher_renders == 0 && renders == 0) ||
                        (demand.publisher_renders == 2 && renders == 1);
  return fits(Key::behalf) && fits(Key::paid) && !conflict
             ? Loss::kWon
             : broken(mode, Warning::kDsa, Loss::kNoTransparency, bid);
}

}  // namespace spillway::exchange::clearing
