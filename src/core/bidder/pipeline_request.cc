// The first stages of a Pipeline: what the request says, and what may be known beside it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "bidder/caps/user.h"
#include "bidder/facts.h"
#include "bidder/pipeline.h"
#include "bidder/stages.h"
#include "openrtb/consent/privacy.h"
#include "openrtb/keys.h"
#include "openrtb/validate.h"

namespace spillway::bidder {

using openrtb::consent::PrivacyClass;
using openrtb::consent::PrivacyReason;

void Pipeline::validate() {
  next_ = Step::kShed;
  const auto& settings = *world_.settings;
  view_.id.clear();
  if (const auto walked = document_.walk(start_.body); !walked) {
    error_ = openrtb::field_error(document_, walked.error());
    return end(NoBidReason::kInvalid);
  }
  if (auto read = openrtb::check_request(document_, settings.request, view_); !read) {
    error_ = std::move(read.error());
    return end(NoBidReason::kInvalid);
  }
  facts_.read(document_, settings.request.imps_kept);
  explains_ = explains_ || view_.test || view_.debug;
  slots_.assign(facts_.imp_count, {});
  read_times();
  if (seat_is_blocked()) {
    end(NoBidReason::kSeatBlocked);
  } else if (demands_transparency()) {
    end(NoBidReason::kTransparency);
  }
}

// Who paid for an ad is nothing that the catalog says: where it must be declared, we cannot bid.
// Source: IAB DSA Transparency 1.0, dsarequired 2 and 3.
bool Pipeline::demands_transparency() const {
  using openrtb::Key;
  const auto regs = document_.find(document_.root(), Key::regs);
  for (const auto place : {regs, document_.find(regs, Key::ext)}) {
    const auto required = document_.path(place, Key::dsa, Key::dsarequired);
    if (document_.integer(required).value_or(0) >= 2) {
      return true;
    }
  }
  return false;
}

void Pipeline::read_times() {
  const auto& settings = *world_.settings;
  const auto tmax = view_.tmax > base::Duration::zero() ? view_.tmax : settings.tmax_default;
  tmax_at_ = start_.time_zero + tmax;
  deadline_ = start_.time_zero + std::min(tmax - settings.network_margin, settings.deadline);
}

bool Pipeline::seat_is_blocked() const {
  const std::string_view seat = exchange().seat;
  const auto holds = [seat](const auto& seats) {
    return std::ranges::find(seats, seat) != seats.end();
  };
  return (!facts_.wseat.empty() && !holds(facts_.wseat)) || (!seat.empty() && holds(facts_.bseat));
}

void Pipeline::enrich(base::Instant now) {
  next_ = Step::kEnriched;
  stats_.imps.add(facts_.imp_count);
  if (!obey_privacy()) {
    return end(NoBidReason::kPrivacy);
  }
  find_place();
  find_user();
  if (user_ && world_.asks_segments) {
    ask_ = {.what = Ask::What::kSegments,
            .user = *user_,
            .keys = {},
            .until = std::min(deadline_, now + world_.settings->ask_timeout)};
    asking_ = true;
  }
}

// What may not be used is taken away before anybody looks at it.
bool Pipeline::obey_privacy() {
  const auto& settings = *world_.settings;
  const auto signals = openrtb::consent::read_privacy(document_);
  privacy_ = openrtb::consent::decide(
      signals, settings.privacy,
      {.name = {}, .gvl_id = settings.gvl_id, .legitimate_interest = settings.legitimate_interest});
  if (privacy_.copy == PrivacyClass::kFull) {
    return true;  // For no reason.
  }
  for (size_t i = 0; i < stats_.privacy.size(); ++i) {
    stats_.privacy[i].add(privacy_.reasons.has(static_cast<PrivacyReason>(i)) ? 1 : 0);
  }
  facts_.clear_ids();
  facts_.clear_segments();
  stats_.ids_withheld.add();
  if (privacy_.copy == PrivacyClass::kChild) {
    facts_.geo = {};
  }
  return privacy_.copy != PrivacyClass::kNoCall;
}

// An address is personal data: nothing is looked up by one that we may not use.
void Pipeline::find_place() {
  GeoFacts found;
  if (privacy_.copy == PrivacyClass::kFull && world_.geo.call != nullptr && !facts_.ip.empty() &&
      world_.geo.call(world_.geo.context, facts_.ip, found)) {
    facts_.add_geo(found);
  }
}

// Our own id first, then the exchange's, then the device's.
void Pipeline::find_user() {
  constexpr std::string_view kNobody = "00000000-0000-0000-0000-000000000000";
  user_ = caps::hash_user("buyeruid", facts_.buyeruid);
  if (!user_) {
    user_ = caps::hash_user(exchange().name, facts_.user_id);
  }
  if (!user_ && facts_.ifa != kNobody) {
    user_ = caps::hash_user("ifa", facts_.ifa);
  }
  if (user_ && world_.models != nullptr) {
    const auto text = user_->text();
    arm_ = world_.models->arm_of({text.data(), text.size()});
  }
}

}  // namespace spillway::bidder
