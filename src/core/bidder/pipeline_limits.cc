// What holds a Pipeline's contenders back: frequency caps and budgets.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "base/time.h"
#include "bidder/cap_limits.h"
#include "bidder/caps/window.h"
#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "bidder/stages.h"

namespace spillway::bidder {

void Pipeline::cap(base::Instant now) {
  next_ = Step::kCapped;
  keys_asked_ = keys_.size();
  for (auto& contender : std::span(contenders_).subspan(round_begin_)) {
    if (contender.drop == DropReason::kNone) {
      list_limits(contender);
    }
  }
  if (user_ && world_.asks_caps && keys_.size() > keys_asked_) {
    stats_.caps_asked.add();
    ask_ = {.what = Ask::What::kCounts,
            .user = *user_,
            .keys = keys_.keys().subspan(keys_asked_),
            .until = std::min(deadline_, now + world_.settings->ask_timeout)};
    asking_ = true;
  }
}

void Pipeline::list_limits(Contender& contender) {
  contender.limits = static_cast<uint32_t>(limits_.size());
  const auto& catalog = *world_.catalog;
  append_limits(catalog, catalog.items()[contender.candidate.item].campaign,
                catalog.creatives()[contender.candidate.creative].id, start_.unix_s, limits_);
  contender.limit_count = static_cast<uint32_t>(limits_.size()) - contender.limits;
  if (!user_ || !world_.asks_caps) {
    return;  // nobody will be asked
  }
  for (const auto& limit : limits_of(contender)) {
    limit_key_.push_back(keys_.add(limit.key));
  }
}

std::span<const caps::CapLimit> Pipeline::limits_of(const Contender& contender) const {
  return std::span(limits_).subspan(contender.limits, contender.limit_count);
}

std::span<const uint8_t> Pipeline::allowed_of(const Contender& contender) const {
  return std::span(allowed_).subspan(contender.limits, contender.limit_count);
}

// Empty where the table of this process is all there is, or all that could be read.
std::span<const caps::CapCounts> Pipeline::known_of(const Contender& contender) const {
  return counts_unread_ || known_.size() < limits_.size()
             ? std::span<const caps::CapCounts>{}
             : std::span(known_).subspan(contender.limits, contender.limit_count);
}

void Pipeline::capped() {
  next_ = Step::kPace;
  if (!counts_unread_ && counts_.size() == keys_.size()) {
    known_.clear();
    for (const uint32_t key : limit_key_) {
      known_.push_back(counts_[key]);
    }
  }
  look_up_caps();
  for (auto& contender : std::span(contenders_).subspan(round_begin_)) {
    if (contender.drop == DropReason::kNone && contender.limit_count > 0) {
      judge_caps(contender);
    }
  }
}

// All limits of the round at once.
void Pipeline::look_up_caps() {
  const size_t from = allowed_.size();
  allowed_.resize(limits_.size(), 1);
  if (!user_) {
    return;
  }
  const bool known = !counts_unread_ && known_.size() == limits_.size();
  world_.caps->allow_each(*user_, std::span(limits_).subspan(from),
                          known ? std::span<const caps::CapCounts>(known_).subspan(from)
                                : std::span<const caps::CapCounts>{},
                          start_.unix_s, std::span(allowed_).subspan(from));
}

void Pipeline::judge_caps(Contender& contender) {
  const auto limits = limits_of(contender);
  const bool strict = campaign_of(contender).cap_failure == CapFailure::kStrict;
  if (std::ranges::any_of(limits, [](const caps::CapLimit& limit) { return limit.most == 0; })) {
    return drop(contender, DropReason::kCapped);
  }
  if (!user_) {
    if (strict) {
      return drop(contender, DropReason::kNoUser);
    }
    contender.skipped = CapSkip::kNoUser;
  } else if (std::ranges::any_of(allowed_of(contender), [](uint8_t yes) { return yes == 0; })) {
    return drop(contender, DropReason::kCapped);
  } else if (counts_unread_) {
    if (strict) {
      return drop(contender, DropReason::kCapsUnread);
    }
    contender.skipped = CapSkip::kUnread;
  }
}

BudgetTime Pipeline::budget_time(const Contender& contender, base::Instant now) const {
  const auto& item = world_.catalog->items()[contender.candidate.item];
  return {.now = now,
          .local_s = start_.unix_s + world_.catalog->zone_of(item).offset_s(start_.unix_s)};
}

void Pipeline::pace(base::Instant now) {
  next_ = Step::kPrice;
  const uint64_t request = base::hash64(view_.id, start_.bid_key);
  for (auto& contender : std::span(contenders_).subspan(round_begin_)) {
    if (contender.drop != DropReason::kNone) {
      continue;
    }
    const int64_t campaign = campaign_of(contender).id;
    const auto draw = base::combine64(request, static_cast<uint64_t>(campaign));
    switch (world_.pacer->admit(campaign, *world_.grant, budget_time(contender, now), draw)) {
      case PaceVerdict::kBid:
        break;
      case PaceVerdict::kThrottled:
        drop(contender, DropReason::kThrottled);
        break;
      case PaceVerdict::kAhead:
        drop(contender, DropReason::kAhead);
        break;
      case PaceVerdict::kExhausted:
        drop(contender, DropReason::kExhausted);
        break;
      case PaceVerdict::kUnknownCampaign:
        drop(contender, DropReason::kUnknownCampaign);
        break;
    }
  }
}

}  // namespace spillway::bidder
