// The middle of a Pipeline: candidates, and what they are worth.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "base/decimal.h"
#include "base/hash.h"
#include "base/money.h"
#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/pipeline.h"
#include "bidder/pricing.h"
#include "bidder/retrieval.h"
#include "bidder/scoring/features.h"
#include "bidder/stages.h"

namespace spillway::bidder {
namespace {

constexpr base::Currency kCommon{};

float units_of(int64_t micros) { return static_cast<float>(static_cast<double>(micros) / 1e6); }

bool is_any_of(int32_t value, std::initializer_list<int32_t> values) {
  return std::ranges::find(values, value) != values.end();
}

float flag(bool is) { return is ? 1.0F : 0.0F; }

}  // namespace

void Pipeline::retrieve() {
  next_ = Step::kScore;
  round_begin_ = contenders_.size();
  auto& retrieval = world_.scratch->retrieval;
  retrieval.begin(*world_.catalog, facts_, start_.unix_s);
  for (uint32_t imp = 0; imp < slots_.size(); ++imp) {
    if (!slots_[imp].filled && !slots_[imp].exhausted) {
      retrieve_imp(imp);
    }
  }
  stats_.candidates.add(contenders_.size() - round_begin_);
  if (contenders_.size() == round_begin_) {
    next_ = Step::kChoose;
  }
}

void Pipeline::retrieve_imp(uint32_t imp) {
  auto& slot = slots_[imp];
  auto& retrieval = world_.scratch->retrieval;
  retrieval.begin_imp(imp);
  found_.resize(world_.settings->candidates);
  for (uint32_t seen = 0; seen < slot.looked_at;) {
    const auto want = std::min<size_t>(found_.size(), slot.looked_at - seen);
    const auto got = retrieval.next(std::span(found_).first(want));
    seen += static_cast<uint32_t>(got);
    if (got < want) {
      break;
    }
  }
  const MisfitCounts before = retrieval.dropped();
  const size_t count = retrieval.next(found_);
  slot.looked_at += static_cast<uint32_t>(count);
  slot.exhausted = count < found_.size();
  for (size_t i = 0; i < misfits_.size(); ++i) {
    const uint32_t dropped = retrieval.dropped()[i] - before[i];
    misfits_[i] += dropped;
    stats_.misfits[i].add(dropped);
  }
  for (const auto& candidate : std::span(found_).first(count)) {
    auto& contender = contenders_.emplace_back();
    contender = {};
    contender.candidate = candidate;
    contender.imp = imp;
  }
}

void Pipeline::score() {
  next_ = Step::kCap;
  auto& batch = world_.scratch->scores;
  batch.clear();
  batch_.clear();
  for (auto index = static_cast<uint32_t>(round_begin_); index < contenders_.size(); ++index) {
    auto& contender = contenders_[index];
    const auto& item = world_.catalog->items()[contender.candidate.item];
    const auto& terms = world_.terms[item.campaign];
    const base::Cpm reached = expected_value(terms, 1).value_or(base::Cpm{});
    FeatureRow* row = batch.add(
        terms.goal, world_.rates->convert(reached, terms.currency, kCommon, base::Rounding::kDown)
                        .value_or(reached));
    if (row == nullptr) {
      drop(contender, Drop::kOutscored);
      continue;
    }
    fill_features(*row, contender);
    batch_.push_back(index);
  }
  const auto& cascade = world_.models->of(arm_);
  cascade.score(batch);
  for (size_t i = 0; i < batch_.size(); ++i) {
    weigh(contenders_[batch_[i]], batch.probability(i));
  }
  keep_best();
}

void Pipeline::weigh(Contender& contender, std::optional<double> probability) {
  const auto& terms = world_.terms[world_.catalog->items()[contender.candidate.item].campaign];
  if (!probability) {
    return drop(contender, Drop::kOutscored);
  }
  contender.probability = *probability;
  const auto value = expected_value(terms, *probability);
  if (!value) {
    return drop(contender, Drop::kBadScore);
  }
  contender.worth = world_.rates->convert(*value, terms.currency, kCommon, base::Rounding::kDown)
                        .value_or(*value);
}

// Of each imp the contenders that are worth most; equal ones keep the catalog's order.
void Pipeline::keep_best() {
  for (size_t begin = round_begin_; begin < contenders_.size();) {
    const uint32_t imp = contenders_[begin].imp;
    order_.clear();
    size_t end = begin;
    for (; end < contenders_.size() && contenders_[end].imp == imp; ++end) {
      if (contenders_[end].drop == Drop::kNone) {
        order_.push_back(static_cast<uint32_t>(end));
      }
    }
    const size_t most = world_.settings->contenders;
    if (order_.size() > most) {
      std::ranges::nth_element(order_, order_.begin() + static_cast<ptrdiff_t>(most),
                               [this](uint32_t a, uint32_t b) {
                                 return contenders_[a].worth != contenders_[b].worth
                                            ? contenders_[a].worth > contenders_[b].worth
                                            : a < b;
                               });
      for (const uint32_t index : std::span(order_).subspan(most)) {
        drop(contenders_[index], Drop::kOutscored);
      }
    }
    begin = end;
  }
}

void Pipeline::fill_features(FeatureRow& row, const Contender& contender) const {
  constexpr int64_t kHourS = 3600;
  constexpr int64_t kDayS = 24 * kHourS;
  const int64_t day = start_.unix_s / kDayS;
  const auto weekday = static_cast<float>((day + 3) % 7);  // 1 January 1970 was a Thursday.
  at(row, Feature::kHour) = static_cast<float>(start_.unix_s % kDayS / kHourS);
  at(row, Feature::kWeekday) = weekday;
  at(row, Feature::kWeekend) = flag(weekday >= 5);
  at(row, Feature::kDeviceMobile) = flag(is_any_of(facts_.device_type, {1, 4}));
  at(row, Feature::kDevicePc) = flag(facts_.device_type == 2);
  at(row, Feature::kDeviceTv) = flag(is_any_of(facts_.device_type, {3, 6, 7}));
  at(row, Feature::kDeviceTablet) = flag(facts_.device_type == 5);
  at(row, Feature::kOsIos) = flag(facts_.os == "ios");
  at(row, Feature::kOsAndroid) = flag(facts_.os == "android");
  at(row, Feature::kApp) = flag(!facts_.app_id.empty() || !facts_.bundle.empty());
  at(row, Feature::kUserKnown) = flag(user_.has_value());
  if (facts_.segment_state != SegmentState::kCouldNotAsk) {
    at(row, Feature::kSegmentCount) =
        static_cast<float>(facts_.segment_numbers.size() + facts_.segment_texts.size());
  }
  for (const auto place : {facts_.publisher_id, facts_.domain, facts_.bundle}) {
    if (!place.empty()) {
      at(row, Feature::kPublisherBucket) = bucket_of(place);
      break;
    }
  }
  fill_sale(row, contender);
  fill_offer(row, contender);
}

void Pipeline::fill_sale(FeatureRow& row, const Contender& contender) const {
  const auto& imp = facts_.imps()[contender.imp];
  at(row, Feature::kMediaBanner) = flag(imp.of(Media::kBanner).offered);
  at(row, Feature::kMediaVideo) = flag(imp.of(Media::kVideo).offered);
  at(row, Feature::kMediaAudio) = flag(imp.of(Media::kAudio).offered);
  at(row, Feature::kMediaNative) = flag(imp.of(Media::kNative).offered);
  const PixelSize size = imp.sizes.empty() ? imp.of(Media::kVideo).size : imp.sizes.front();
  at(row, Feature::kImpWidth) = static_cast<float>(size.w);
  at(row, Feature::kImpHeight) = static_cast<float>(size.h);
  for (const auto& media : imp.media) {
    if (media.offered && media.position > 0) {
      at(row, Feature::kPosition) = static_cast<float>(media.position);
    }
  }
  at(row, Feature::kInstl) = flag(imp.instl);
  at(row, Feature::kFloorCpm) = units_of(imp.floor.micros);
  at(row, Feature::kDeal) = flag(contender.candidate.deal != Candidate::kNoDeal);
  at(row, Feature::kFirstPrice) = flag(facts_.at == 1);
}

void Pipeline::fill_offer(FeatureRow& row, const Contender& contender) const {
  const auto& catalog = *world_.catalog;
  const auto& item = catalog.items()[contender.candidate.item];
  const auto& creative = catalog.creatives()[contender.candidate.creative];
  at(row, Feature::kCreativeWidth) = static_cast<float>(creative.w);
  at(row, Feature::kCreativeHeight) = static_cast<float>(creative.h);
  if (creative.duration_s > 0) {
    at(row, Feature::kCreativeDuration) = static_cast<float>(creative.duration_s);
  }
  const auto& segments = catalog.index().of(Dimension::kSegment);
  const size_t word = contender.candidate.item / 64;
  at(row, Feature::kSegmentTargeted) =
      flag(segments.restricts && word < segments.open.size() &&
           ((segments.open[word] >> (contender.candidate.item % 64)) & 1U) == 0);
  const auto& campaign = catalog.campaigns()[item.campaign];
  at(row, Feature::kGoalValue) = units_of(campaign.goal_value_micros);
  at(row, Feature::kCampaignBucket) = bucket_of(campaign.id);
  at(row, Feature::kCreativeBucket) = bucket_of(creative.id);
}

}  // namespace spillway::bidder
