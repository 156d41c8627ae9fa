// What decides, gathered from the facts.
#include "bidder/retrieval_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "bidder/canonical.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/targeting_index.h"
#include "bidder/value_table.h"

namespace spillway::bidder {

void RetrievalPlan::clear(const TargetingIndex& index) {
  index_ = &index;
  terms_.clear();
  cursors_.clear();
  wanted_.clear();
  postings_.clear();
}

void RetrievalPlan::add_request(const RequestFacts& facts) {
  add(Dimension::kCountry, facts.geo.country);
  add(Dimension::kRegion, facts.geo.region);
  add(Dimension::kMetro, facts.geo.metro);
  add(Dimension::kZip, facts.geo.zip);
  if (facts.device_type > 0) {
    want(Dimension::kDeviceType, static_cast<uint32_t>(facts.device_type));
  }
  add_wanted(Dimension::kDeviceType, facts.device_type > 0);
  add(Dimension::kOs, facts.os);
  add(Dimension::kLanguage, facts.language);
  add(Dimension::kSite, facts.site_id);
  add(Dimension::kApp, facts.app_id);
  add(Dimension::kBundle, facts.bundle);
  for (std::string_view at = facts.domain; !at.empty(); at = parent_domain(at)) {
    want(Dimension::kDomain, at);
  }
  add_wanted(Dimension::kDomain, !facts.domain.empty());
  for (const std::string_view category : facts.categories) {
    for (std::string_view at = category; !at.empty(); at = parent_category(at)) {
      want(Dimension::kCategory, at);
    }
  }
  add_wanted(Dimension::kCategory, !facts.categories.empty());
  add_radii(facts.geo);
  add_segments(facts);
}

void RetrievalPlan::add(Dimension dimension, std::string_view value) {
  if (!value.empty()) {
    want(dimension, value);
  }
  add_wanted(dimension, !value.empty());
}

void RetrievalPlan::want(Dimension dimension, std::string_view value) {
  const DimensionIndex& index = index_->of(dimension);
  if (index.restricts) {
    wanted_.push_back(index.values.find(value));
  }
}

void RetrievalPlan::want(Dimension dimension, uint32_t value) {
  const DimensionIndex& index = index_->of(dimension);
  if (index.restricts) {
    wanted_.push_back(index.values.find(value));
  }
}

void RetrievalPlan::add_wanted(Dimension dimension, bool known) {
  add_term(to_string(dimension), index_->of(dimension), known ? Rule::kLists : Rule::kOpen);
}

void RetrievalPlan::add_strict(Dimension dimension) {
  add_term(to_string(dimension), index_->of(dimension), Rule::kStrict);
}

void RetrievalPlan::add_segments(const RequestFacts& facts) {
  const DimensionIndex& index = index_->of(Dimension::kSegment);
  if (!index.restricts) {
    return;
  }
  for (const uint32_t number : facts.segment_numbers) {
    wanted_.push_back(index.values.find(number));
  }
  for (const std::string_view text : facts.segment_texts) {
    wanted_.push_back(index.values.find(text));
  }
  const bool some = !facts.segment_numbers.empty() || !facts.segment_texts.empty();
  switch (facts.segment_state) {
    case SegmentState::kKnown:
    case SegmentState::kNone:
      add_term(to_string(Dimension::kSegment), index, Rule::kLists);
      break;
    case SegmentState::kUnknownUser:
      add_term(to_string(Dimension::kSegment), index, some ? Rule::kLists : Rule::kOpen);
      break;
    case SegmentState::kCouldNotAsk:
      add_term(to_string(Dimension::kSegment), index, some ? Rule::kDegraded : Rule::kOpen);
      break;
  }
}

void RetrievalPlan::add_radii(const GeoFacts& geo) {
  const DimensionIndex& index = index_->radii();
  if (!index.restricts) {
    return;
  }
  if (!geo.has_point) {
    add_term("radius", index, Rule::kOpen);
    return;
  }
  constexpr double kDegree = std::numbers::pi / 180;
  const double lat = geo.lat * kDegree;
  const double lon = geo.lon * kDegree;
  const double cos_lat = std::cos(lat);
  inside_.clear();
  outside_.clear();
  for (const auto& numbers : {index_->circles_near(geo.lat, geo.lon), index_->wide_circles()}) {
    for (const uint32_t number : numbers) {
      const Circle& circle = index_->circle(number);
      const double north = std::sin((lat - circle.lat) / 2);
      const double east = std::sin((lon - circle.lon) / 2);
      if (north * north + cos_lat * circle.cos_lat * east * east <= circle.half_chord2) {
        (circle.exclude ? outside_ : inside_).push_back(circle.item);
      }
    }
  }
  std::ranges::sort(inside_);
  std::ranges::sort(outside_);
  Term term{.index = &index, .rule = Rule::kLists, .name = "radius"};
  term.include = static_cast<uint32_t>(cursors_.size());
  cursors_.push_back({.at = inside_.data(), .end = inside_.data() + inside_.size()});
  term.exclude = static_cast<uint32_t>(cursors_.size());
  cursors_.push_back({.at = outside_.data(), .end = outside_.data() + outside_.size()});
  term.end = static_cast<uint32_t>(cursors_.size());
  terms_.push_back(term);
}

/// Each value once, when there are more than the catalog has: how often a request repeats itself
/// costs no more than naming all.
void RetrievalPlan::bound_wanted(const DimensionIndex& index) {
  if (wanted_.size() > index.values.size() + 1) {
    std::ranges::sort(wanted_);
    wanted_.erase(std::ranges::unique(wanted_).begin(), wanted_.end());
  }
}

void RetrievalPlan::push_wanted(const std::vector<Posting>& postings) {
  for (const uint32_t value : wanted_) {
    if (value != kNoValue) {
      push(postings[value]);
    }
  }
}

void RetrievalPlan::add_term(std::string_view name, const DimensionIndex& index, Rule rule) {
  if (index.restricts || rule == Rule::kStrict) {
    bound_wanted(index);
    Term term{.index = &index, .rule = rule, .name = name};
    term.include = static_cast<uint32_t>(cursors_.size());
    push_wanted(index.include);
    term.exclude = static_cast<uint32_t>(cursors_.size());
    if (index.excludes) {
      push_wanted(index.exclude);
    }
    term.end = static_cast<uint32_t>(cursors_.size());
    terms_.push_back(term);
  }
  wanted_.clear();
}

void RetrievalPlan::add_any(Dimension dimension) {
  const DimensionIndex& index = index_->of(dimension);
  if (!index.restricts) {
    wanted_.clear();
    return;
  }
  bound_wanted(index);
  Term term{.index = &index,
            .rule = wanted_.empty() ? Rule::kOpen : Rule::kAny,
            .name = to_string(dimension)};
  term.include = static_cast<uint32_t>(cursors_.size());
  for (const uint32_t value : wanted_) {
    for (const std::vector<Posting>* postings : {&index.include, &index.exclude}) {
      const size_t before = cursors_.size();
      if (value != kNoValue) {
        push((*postings)[value]);
      }
      if (cursors_.size() == before) {
        cursors_.emplace_back();
      }
    }
  }
  term.exclude = term.end = static_cast<uint32_t>(cursors_.size());
  terms_.push_back(term);
  wanted_.clear();
}

void RetrievalPlan::want_posting(const Posting* posting) {
  if (posting != nullptr && std::ranges::find(postings_, posting) == postings_.end()) {
    postings_.push_back(posting);
  }
}

void RetrievalPlan::add_postings() {
  Term term{.rule = Rule::kPostings, .name = "offer"};
  term.include = static_cast<uint32_t>(cursors_.size());
  for (const Posting* posting : postings_) {
    push(*posting);
  }
  term.exclude = term.end = static_cast<uint32_t>(cursors_.size());
  terms_.push_back(term);
  postings_.clear();
}

void RetrievalPlan::push(const Posting& posting) {
  if (posting.count == 0) {
    return;
  }
  if (posting.dense) {
    cursors_.push_back({.words = index_->words_of(posting)});
    return;
  }
  const std::span<const uint32_t> numbers = index_->numbers_of(posting);
  cursors_.push_back({.at = numbers.data(), .end = numbers.data() + numbers.size()});
}

}  // namespace spillway::bidder
