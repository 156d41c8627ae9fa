#include "openrtb/consent/privacy.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "openrtb/consent/tcf.h"

namespace spillway::openrtb::consent {

namespace {

constexpr auto kReasons = static_cast<unsigned>(PrivacyReason::kCount);

void apply(PrivacyDecision& decision, PrivacyReason reason, PrivacyClass copy) {
  decision.reasons.add(reason);
  decision.copy = std::max(decision.copy, copy);
}

PrivacyClass class_of(PrivacyAction action, PrivacyClass scrubbed = PrivacyClass::kNoIds) {
  return action == PrivacyAction::kNoCall ? PrivacyClass::kNoCall : scrubbed;
}

/// The class that a reason read from the request alone leads to.
PrivacyClass class_of(PrivacyReason reason, const PrivacyPolicy& policy) {
  switch (reason) {
    case PrivacyReason::kCoppa:
      return class_of(policy.coppa, PrivacyClass::kChild);
    case PrivacyReason::kLmt:
    case PrivacyReason::kDnt:
      return class_of(policy.lmt);
    default:
      return class_of(policy.us);
  }
}

/// Whether every consent string gives the DSP a basis for a purpose.
bool has_basis(const PrivacySignals& signals, const DspPrivacy& dsp, unsigned purpose) {
  return std::ranges::all_of(signals.consents(), [&](const Tcf& tcf) {
    return tcf.has_basis(purpose, dsp.gvl_id, dsp.legitimate_interest);
  });
}

void apply_gdpr(const PrivacySignals& signals, const PrivacyPolicy& policy, const DspPrivacy& dsp,
                PrivacyDecision& decision) {
  const PrivacyClass no_basis = class_of(policy.gdpr);
  if (signals.bad_consent) {
    return apply(decision, PrivacyReason::kGdprBadConsent, no_basis);
  }
  if (signals.consents().empty()) {
    return apply(decision, PrivacyReason::kGdprNoConsent, no_basis);
  }
  if (dsp.gvl_id == 0) {
    return apply(decision, PrivacyReason::kGdprNoVendorId, no_basis);
  }
  if (!has_basis(signals, dsp, 1)) {
    apply(decision, PrivacyReason::kGdprPurpose1, PrivacyClass::kNoIds);
  }
  if (!has_basis(signals, dsp, 2)) {
    apply(decision, PrivacyReason::kGdprPurpose2, no_basis);
  }
  if (!has_basis(signals, dsp, 7)) {
    apply(decision, PrivacyReason::kGdprPurpose7, PrivacyClass::kNoIds);
  }
}

}  // namespace

std::string_view to_string(PrivacyReason reason) {
  constexpr std::array<std::string_view, kReasons> kNames = {"coppa",
                                                             "lmt",
                                                             "dnt",
                                                             "gpc",
                                                             "us_privacy",
                                                             "gpp_opt_out",
                                                             "gpp_unreadable",
                                                             "gdpr_no_consent",
                                                             "gdpr_bad_consent",
                                                             "gdpr_no_vendor_id",
                                                             "gdpr_purpose_1",
                                                             "gdpr_purpose_2",
                                                             "gdpr_purpose_7"};
  return reason < PrivacyReason::kCount ? kNames.at(static_cast<unsigned>(reason)) : "";
}

std::string to_string(PrivacyReasons reasons) {
  std::string out;
  for (unsigned i = 0; i < kReasons; ++i) {
    const auto reason = static_cast<PrivacyReason>(i);
    if (reasons.has(reason)) {
      out += out.empty() ? "" : ",";
      out += to_string(reason);
    }
  }
  return out;
}

std::string_view to_string(PrivacyClass copy) {
  constexpr std::array<std::string_view, 4> kNames = {"full", "no_ids", "child", "no_call"};
  return kNames.at(static_cast<unsigned>(copy));
}

PrivacyDecision decide(const PrivacySignals& signals, const PrivacyPolicy& policy,
                       const DspPrivacy& dsp) {
  PrivacyDecision decision;
  for (unsigned i = 0; i < kReasons && !signals.reasons.empty(); ++i) {
    const auto reason = static_cast<PrivacyReason>(i);
    if (signals.reasons.has(reason)) {
      apply(decision, reason, class_of(reason, policy));
    }
  }
  if (signals.opts_out_of_sale(dsp.name)) {
    apply(decision, PrivacyReason::kUsPrivacy, class_of(policy.us));
  }
  using Gdpr = PrivacySignals::Gdpr;
  if (signals.gdpr == Gdpr::kYes || (signals.gdpr == Gdpr::kUnknown && policy.gdpr_when_unknown)) {
    apply_gdpr(signals, policy, dsp, decision);
  }
  return decision;
}

}  // namespace spillway::openrtb::consent
