#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "openrtb/consent/tcf.h"
#include "openrtb/document.h"

namespace spillway::openrtb::consent {

/// Why a DSP gets less than the whole request, or none.
enum class PrivacyReason : uint8_t {
  kCoppa,           ///< regs.coppa is 1.
  kLmt,             ///< device.lmt is 1.
  kDnt,             ///< device.dnt is 1.
  kGpc,             ///< regs.ext.gpc is 1.
  kUsPrivacy,       ///< The US-privacy string opts out of sale, or cannot be read.
  kGppOptOut,       ///< A GPP section that applies opts out.
  kGppUnreadable,   ///< A GPP section that applies is missing or cannot be read.
  kGdprNoConsent,   ///< GDPR applies, and there is no consent string.
  kGdprBadConsent,  ///< A consent string cannot be read.
  kGdprNoVendorId,  ///< GDPR applies, and the DSP has no gvl_id.
  kGdprPurpose1,    ///< No consent to storage and access.
  kGdprPurpose2,    ///< No basis for selecting basic ads.
  kGdprPurpose7,    ///< No basis for measuring ads.
  kCount,
};

/// snake_case, as explain and metrics say it.
[[nodiscard]] std::string_view to_string(PrivacyReason reason);

/// A set of reasons.
class PrivacyReasons {
 public:
  PrivacyReasons() = default;

  PrivacyReasons(std::initializer_list<PrivacyReason> reasons) {
    for (const PrivacyReason reason : reasons) {
      add(reason);
    }
  }

  void add(PrivacyReason reason) { bits_ |= 1U << static_cast<unsigned>(reason); }

  [[nodiscard]] bool has(PrivacyReason reason) const {
    return ((bits_ >> static_cast<unsigned>(reason)) & 1U) != 0;
  }

  [[nodiscard]] bool empty() const { return bits_ == 0; }

  bool operator==(const PrivacyReasons&) const = default;

 private:
  uint32_t bits_ = 0;
};

/// The reasons in order, "coppa,lmt"; "" for none.
[[nodiscard]] std::string to_string(PrivacyReasons reasons);

/// What a DSP may be sent, from the most to the least. DSPs of one class get the same bytes.
enum class PrivacyClass : uint8_t {
  kFull,    ///< All of it.
  kNoIds,   ///< A copy without what names a person or a device.
  kChild,   ///< The same, without location too.
  kNoCall,  ///< The DSP is not asked.
};

[[nodiscard]] std::string_view to_string(PrivacyClass copy);

/// What follows from a reason.
enum class PrivacyAction : uint8_t { kScrub, kNoCall };

/// An account's choices. None lets ids through that the rules of privacy.h hold back.
struct PrivacyPolicy {
  PrivacyAction coppa = PrivacyAction::kScrub;
  PrivacyAction lmt = PrivacyAction::kScrub;  ///< device.lmt, device.dnt.
  PrivacyAction us = PrivacyAction::kScrub;   ///< US-privacy, GPP, GPC.
  /// No basis for purpose 2, readable consent or vendor id. Lacking purposes 1 or 7 always scrub.
  PrivacyAction gdpr = PrivacyAction::kScrub;
  /// GDPR applies where the request says neither that it does, nor a consent string, nor a country.
  bool gdpr_when_unknown = false;
};

/// A DSP as privacy sees it.
struct DspPrivacy {
  std::string_view name;             ///< As ext.prebid.nosale names it.
  uint32_t gvl_id = 0;               ///< Of the global vendor list; 0: none.
  bool legitimate_interest = false;  ///< It claims that for purposes 2 and 7 in the list.
};

/// What a request says about privacy, read once for all DSPs. Where the places of 2.5 and 2.6 (or
/// GPP beside them) disagree, the stricter counts; of several consent strings all must allow.
/// Points into the document, which must outlive it; one thread. Memory: its own few hundred bytes;
/// what is allocated is the text of a consent string that the request spells with JSON escapes,
/// which nobody does whose string is base64url.
class PrivacySignals {
 public:
  enum class Gdpr : uint8_t { kUnknown, kNo, kYes };

  PrivacySignals() = default;
  PrivacySignals(PrivacySignals&&) noexcept = default;
  PrivacySignals& operator=(PrivacySignals&&) noexcept = default;

  Gdpr gdpr = Gdpr::kUnknown;
  PrivacyReasons reasons;    ///< Those that hold for every DSP but the US-privacy string.
  bool us_privacy = false;   ///< That string opts out,
  bool nosale_all = false;   ///< ext.prebid.nosale has "*": which concerns no DSP,
  NodeId nosale = kAbsent;   ///< or none of this list.
  bool bad_consent = false;  ///< A consent string cannot be read.

  /// Those that can.
  [[nodiscard]] std::span<const Tcf> consents() const { return std::span(list_).first(count_); }

  /// Whether the request's own opt-out from sale concerns a DSP.
  [[nodiscard]] bool opts_out_of_sale(std::string_view dsp) const;

 private:
  friend class SignalsReader;

  /// user.consent and user.ext.consent, and a section of each of two GPP strings.
  static constexpr size_t kMaxConsents = 4;

  const Document* document_ = nullptr;
  std::array<Tcf, kMaxConsents> list_;
  size_t count_ = 0;
  std::forward_list<std::string> unescaped_;  ///< Texts that do not stand in the document as such.
};

/// Reads a request's signals. Cost: a few look-ups when it says nothing, else linear in the
/// strings.
/// Source: OpenRTB 2.6 sections 3.2.3, 3.2.18, 3.2.20 and the places 2.5 had in ext.
[[nodiscard]] PrivacySignals read_privacy(const Document& document);

struct PrivacyDecision {
  PrivacyClass copy = PrivacyClass::kFull;
  PrivacyReasons reasons;  ///< Empty for kFull only.

  bool operator==(const PrivacyDecision&) const = default;
};

/// What one DSP may be sent. Pure. O(consent ranges).
[[nodiscard]] PrivacyDecision decide(const PrivacySignals& signals, const PrivacyPolicy& policy,
                                     const DspPrivacy& dsp);

}  // namespace spillway::openrtb::consent
