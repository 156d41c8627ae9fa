#pragma once

#include "openrtb/consent/privacy.h"

namespace spillway::exchange {

// The exchange holds back from DSPs what a bidder would hold back from itself: one policy.
using openrtb::consent::decide;
using openrtb::consent::DspPrivacy;
using openrtb::consent::PrivacyAction;
using openrtb::consent::PrivacyClass;
using openrtb::consent::PrivacyDecision;
using openrtb::consent::PrivacyPolicy;
using openrtb::consent::PrivacyReason;
using openrtb::consent::PrivacyReasons;
using openrtb::consent::PrivacySignals;
using openrtb::consent::read_privacy;

}  // namespace spillway::exchange
