#include "bidder/retrieval_plan.h"

#include <algorithm>
#include <array>
#include <bit>
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

namespace {

// Spans of words are multiples of eight long, and what is stored is worked out before any of it is
// stored: so the inner loops become vector instructions.
constexpr size_t kStep = 8;

template <typename Op>
void each_step(std::span<uint64_t> to, const uint64_t* from, Op op) {
  uint64_t* out = to.data();
  uint64_t* const end = out + to.size();
  for (; out != end; out += kStep, from += kStep) {
    std::array<uint64_t, kStep> step{};
    for (size_t k = 0; k < kStep; ++k) {
      step[k] = op(out[k], from[k]);
    }
    std::copy_n(step.data(), kStep, out);
  }
}

void unite_words(std::span<uint64_t> to, const uint64_t* from) {
  each_step(to, from, [](uint64_t a, uint64_t b) { return a | b; });
}

void unite_four(std::span<uint64_t> to, const std::array<const uint64_t*, 4>& from) {
  const auto [a, b, c, d] = from;
  for (size_t i = 0; i < to.size(); i += kStep) {
    std::array<uint64_t, kStep> step{};
    for (size_t k = 0; k < kStep; ++k) {
      step[k] = (to[i + k] | a[i + k]) | (b[i + k] | c[i + k]) | d[i + k];
    }
    std::copy_n(step.data(), kStep, to.data() + i);
  }
}

void intersect_words(std::span<uint64_t> to, const uint64_t* from) {
  each_step(to, from, [](uint64_t a, uint64_t b) { return a & b; });
}

void subtract_words(std::span<uint64_t> to, const uint64_t* from) {
  each_step(to, from, [](uint64_t a, uint64_t b) { return a & ~b; });
}

bool is_zero(std::span<const uint64_t> bits) {
  uint64_t any = 0;
  for (const uint64_t word : bits) {
    any |= word;
  }
  return any == 0;
}

using Block = std::array<uint64_t, TargetingIndex::kBlockWords>;

/// Words of a bitset of an index that may have none set.
const uint64_t* words_from(const std::vector<uint64_t>& bits, size_t first) {
  return bits.empty() ? nullptr : bits.data() + first;
}

}  // namespace

size_t count_bits(std::span<const uint64_t> bits) {
  size_t count = 0;
  for (const uint64_t word : bits) {
    count += static_cast<size_t>(std::popcount(word));
  }
  return count;
}

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

void RetrievalPlan::apply(size_t block, std::span<uint64_t> bits) {
  const size_t first = block * TargetingIndex::kBlockWords;
  constexpr uint32_t kMany = 8;
  for (const Term& term : terms_) {
    if (term.end - term.include > kMany && is_zero(bits)) {
      return;
    }
    apply(term, first, bits);
  }
}

void RetrievalPlan::count(size_t block, std::span<uint64_t> bits, std::vector<Drop>& drops) {
  for (const Term& term : terms_) {
    const size_t before = count_bits(bits);
    apply(term, block * TargetingIndex::kBlockWords, bits);
    auto drop = std::ranges::find(drops, term.name, &Drop::dimension);
    if (drop == drops.end()) {
      drop = drops.insert(drop, {.dimension = term.name});
    }
    drop->line_items += before - count_bits(bits);
  }
}

void RetrievalPlan::apply(const Term& term, size_t first, std::span<uint64_t> bits) {
  Block memory;
  const std::span<uint64_t> match(memory.data(), bits.size());
  const auto start = [&](const uint64_t* words) {
    if (words != nullptr) {
      std::copy_n(words, match.size(), match.data());
    } else {
      std::ranges::fill(match, 0);
    }
  };
  const bool keeps_open = term.rule != Rule::kStrict && term.rule != Rule::kPostings;
  const uint64_t* const open = keeps_open ? words_from(term.index->open, first) : nullptr;
  const uint64_t* const others = keeps_open ? words_from(term.index->exclude_only, first) : nullptr;
  if (term.rule == Rule::kOpen) {
    start(open);
    intersect_words(bits, match.data());
    return;
  }
  if (term.rule == Rule::kAny) {
    start(open);
    Block value_memory;
    const std::span<uint64_t> value(value_memory.data(), bits.size());
    for (uint32_t i = term.include; i < term.exclude; i += 2) {
      std::ranges::fill(value, 0);
      if (others != nullptr) {
        unite_words(value, others);
      }
      unite(cursors_[i], first, value);
      subtract(cursors_[i + 1], first, value);
      unite_words(match, value.data());
    }
    intersect_words(bits, match.data());
    return;
  }
  start(others);
  unite_all(std::span(cursors_).subspan(term.include, term.exclude - term.include), first, match);
  for (uint32_t i = term.exclude; i < term.end; ++i) {
    subtract(cursors_[i], first, match);
  }
  if (term.rule == Rule::kDegraded && term.index->excludes) {
    subtract_words(match, term.index->has_exclude.data() + first);
  }
  if (open != nullptr) {
    unite_words(match, open);
  }
  intersect_words(bits, match.data());
}

/// Bitsets four at a time: what they are united with is loaded and stored a quarter as often.
void RetrievalPlan::unite_all(std::span<Cursor> cursors, size_t first, std::span<uint64_t> bits) {
  std::array<const uint64_t*, 4> four{};
  size_t waiting = 0;
  for (Cursor& cursor : cursors) {
    if (cursor.words == nullptr) {
      unite(cursor, first, bits);
      continue;
    }
    four[waiting++] = cursor.words + first;
    if (waiting == four.size()) {
      unite_four(bits, four);
      waiting = 0;
    }
  }
  for (size_t i = 0; i < waiting; ++i) {
    unite_words(bits, four[i]);
  }
}

void RetrievalPlan::unite(Cursor& cursor, size_t first, std::span<uint64_t> bits) {
  if (cursor.words != nullptr) {
    unite_words(bits, cursor.words + first);
    return;
  }
  const size_t limit = (first + bits.size()) * 64;
  for (; cursor.at != cursor.end && *cursor.at < limit; ++cursor.at) {
    if (*cursor.at >= first * 64) {
      bits[*cursor.at / 64 - first] |= uint64_t{1} << (*cursor.at % 64);
    }
  }
}

void RetrievalPlan::subtract(Cursor& cursor, size_t first, std::span<uint64_t> bits) {
  if (cursor.words != nullptr) {
    subtract_words(bits, cursor.words + first);
    return;
  }
  const size_t limit = (first + bits.size()) * 64;
  for (; cursor.at != cursor.end && *cursor.at < limit; ++cursor.at) {
    if (*cursor.at >= first * 64) {
      bits[*cursor.at / 64 - first] &= ~(uint64_t{1} << (*cursor.at % 64));
    }
  }
}

}  // namespace spillway::bidder
