#include "bidder/scoring/feature_rows.h"

#include <cstdint>
#include <limits>
#include <string_view>

#include "base/money.h"
#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/retrieval.h"
#include "bidder/scoring/features.h"
#include "bidder/targeting_index.h"

namespace spillway::bidder {

namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

float flag(bool is) { return is ? 1.0F : 0.0F; }

// 0 is how OpenRTB's sizes and lists say that they do not say.
float known(int64_t number) { return number == 0 ? kUnknown : static_cast<float>(number); }

float units_of(int64_t micros) { return static_cast<float>(static_cast<double>(micros) * 1e-6); }

float segment_count(const RequestFacts& facts) {
  if (facts.segment_state == SegmentState::kCouldNotAsk) {
    return kUnknown;
  }
  return static_cast<float>(facts.segment_numbers.size() + facts.segment_texts.size());
}

float segment_targeted(const Catalog& catalog, uint32_t item) {
  const DimensionIndex& segments = catalog.index().of(Dimension::kSegment);
  // Empty when every line item has a list.
  const bool open = !segments.restricts || (!segments.open.empty() &&
                                            ((segments.open[item / 64] >> (item % 64)) & 1) != 0);
  return flag(!open);
}

float publisher_bucket(const RequestFacts& facts) {
  for (const std::string_view id : {facts.publisher_id, facts.domain, facts.bundle}) {
    if (!id.empty()) {
      return bucket_of(id);
    }
  }
  return kUnknown;
}

void set_when(FeatureRow& row, int64_t now_unix_s) {
  constexpr int64_t kDay = 86'400;
  const int64_t second = ((now_unix_s % kDay) + kDay) % kDay;
  const int64_t day = (now_unix_s - second) / kDay;
  const int64_t weekday = (((day + 3) % 7) + 7) % 7;  // 1 January 1970 was a Thursday.
  const int64_t hour = second / 3600;
  at(row, Feature::kHour) = static_cast<float>(hour);
  at(row, Feature::kWeekday) = static_cast<float>(weekday);
  at(row, Feature::kWeekend) = flag(weekday >= 5);
}

void set_device(FeatureRow& row, const RequestFacts& facts) {
  const int32_t type = facts.device_type;
  const auto is = [type](bool yes) { return type == 0 ? kUnknown : flag(yes); };
  at(row, Feature::kDeviceMobile) = is(type == 1 || type == 4);
  at(row, Feature::kDevicePc) = is(type == 2);
  at(row, Feature::kDeviceTv) = is(type == 3 || type == 6 || type == 7);
  at(row, Feature::kDeviceTablet) = is(type == 5);
  const bool os_known = !facts.os.empty();
  at(row, Feature::kOsIos) = os_known ? flag(facts.os == "ios") : kUnknown;
  at(row, Feature::kOsAndroid) = os_known ? flag(facts.os == "android") : kUnknown;
}

}  // namespace

void FeatureRows::begin(const RequestFacts& facts, int64_t now_unix_s) {
  facts_ = &facts;
  imp_ = nullptr;
  request_.fill(kUnknown);
  set_when(request_, now_unix_s);
  set_device(request_, facts);
  at(request_, Feature::kApp) = flag(!facts.bundle.empty() || !facts.app_id.empty());
  at(request_, Feature::kUserKnown) = flag(!facts.user_id.empty() || !facts.buyeruid.empty());
  at(request_, Feature::kSegmentCount) = segment_count(facts);
  at(request_, Feature::kPublisherBucket) = publisher_bucket(facts);
}

void FeatureRows::begin_imp(const ImpFacts& imp) {
  imp_ = &imp;
  at(request_, Feature::kInstl) = flag(imp.instl);
  at(request_, Feature::kSecure) = flag(imp.secure);
}

void FeatureRows::fill(const Catalog& catalog, const Candidate& candidate, FeatureRow& row) const {
  const Item& item = catalog.items()[candidate.item];
  const Creative& creative = catalog.creatives()[candidate.creative];
  const Campaign& campaign = catalog.campaign_of(item);
  const MediaFacts& media = imp_->of(creative.media);
  const bool banner = creative.media == Media::kBanner;
  const bool timed = creative.media == Media::kVideo || creative.media == Media::kAudio;
  const PixelSize size = banner && !imp_->sizes.empty() ? imp_->sizes.front() : media.size;
  const bool dealt = candidate.deal != Candidate::kNoDeal;
  const DealFacts* const deal = dealt ? &imp_->deals[candidate.deal] : nullptr;
  const base::Cpm floor = dealt && deal->floor_given ? deal->floor : imp_->floor;
  const int sale = dealt && deal->at != 0 ? deal->at : facts_->at;

  row = request_;
  at(row, Feature::kMediaBanner) = flag(banner);
  at(row, Feature::kMediaVideo) = flag(creative.media == Media::kVideo);
  at(row, Feature::kMediaAudio) = flag(creative.media == Media::kAudio);
  at(row, Feature::kMediaNative) = flag(creative.media == Media::kNative);
  at(row, Feature::kImpWidth) = known(size.w);
  at(row, Feature::kImpHeight) = known(size.h);
  at(row, Feature::kPosition) = known(media.position);
  at(row, Feature::kFloorCpm) = units_of(floor.micros);
  at(row, Feature::kDeal) = flag(dealt);
  at(row, Feature::kFirstPrice) = flag(sale == 1);
  at(row, Feature::kCreativeWidth) = known(creative.w);
  at(row, Feature::kCreativeHeight) = known(creative.h);
  at(row, Feature::kCreativeDuration) = timed ? known(creative.duration_s) : kUnknown;
  at(row, Feature::kSegmentTargeted) = segment_targeted(catalog, candidate.item);
  at(row, Feature::kGoalValue) = units_of(campaign.goal_value_micros);
  at(row, Feature::kCampaignBucket) = bucket_of(campaign.id);
  at(row, Feature::kCreativeBucket) = bucket_of(creative.id);
}

}  // namespace spillway::bidder
