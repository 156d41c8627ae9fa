// The middle of a Pipeline: candidates, and what they are worth.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/decimal.h"
#include "base/money.h"
#include "base/rates.h"
#include "bidder/creative_fit.h"
#include "bidder/pipeline.h"
#include "bidder/pricing.h"
#include "bidder/retrieval.h"
#include "bidder/scoring/cascade.h"
#include "bidder/scoring/features.h"
#include "bidder/stages.h"

namespace spillway::bidder {
namespace {

constexpr base::Currency kCommon{};

/// For order alone: without a rate it counts as it is.
base::Cpm in_common(const base::Rates& rates, base::Cpm own, const base::Currency& currency) {
  return currency == kCommon
             ? own
             : rates.convert(own, currency, kCommon, base::Rounding::kDown).value_or(own);
}

}  // namespace

void Pipeline::retrieve() {
  next_ = Step::kScore;
  round_begin_ = contenders_.size();
  auto& retrieval = world_.scratch->retrieval;
  retrieval.begin(*world_.catalog, facts_, start_.unix_s, exchange().seat, world_.in_flight);
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
    contender.candidate = candidate;
    contender.imp = imp;
  }
}

void Pipeline::score() {
  next_ = Step::kCap;
  const auto& cascade = world_.models->of(arm_);
  auto& batch = world_.scratch->scores;
  auto& rows = world_.scratch->rows;
  batch.clear();
  batch_.clear();
  rows.begin(facts_, start_.unix_s);
  for (auto index = static_cast<uint32_t>(round_begin_); index < contenders_.size(); ++index) {
    auto& contender = contenders_[index];
    const auto& terms = terms_of(contender);
    const base::Cpm most = cascade.two_stages() ? reached(terms) : base::Cpm{};
    const bool reads_row = cascade.reads_rows(terms.goal);
    FeatureRow* const row = reads_row ? batch.add(terms.goal, most) : nullptr;
    if (reads_row ? row == nullptr : !batch.add_without_row(terms.goal, most)) {
      drop(contender, DropReason::kOutscored);
      continue;
    }
    batch_.push_back(index);
    if (row != nullptr) {
      rows.begin_imp(facts_.imps()[contender.imp]);
      rows.fill(*world_.catalog, contender.candidate, *row);
    }
  }
  cascade.score(batch);
  for (size_t i = 0; i < batch_.size(); ++i) {
    weigh(contenders_[batch_[i]], batch.probability(i));
  }
  keep_best();
}

// What a thousand impressions are worth if each reaches the goal.
base::Cpm Pipeline::reached(const CampaignTerms& terms) const {
  return in_common(*world_.rates, expected_value(terms, 1).value_or(base::Cpm{}), terms.currency);
}

void Pipeline::weigh(Contender& contender, std::optional<double> probability) {
  const auto& terms = terms_of(contender);
  if (!probability) {
    return drop(contender, DropReason::kOutscored);
  }
  contender.probability = *probability;
  const auto value = expected_value(terms, *probability);
  if (!value) {
    return drop(contender, DropReason::kBadScore);
  }
  contender.worth = in_common(*world_.rates, *value, terms.currency);
}

// Of each imp the contenders that are worth most; equal ones keep the catalog's order.
void Pipeline::keep_best() {
  const size_t most = world_.settings->contenders;
  for (size_t begin = round_begin_; begin < contenders_.size();) {
    const uint32_t imp = contenders_[begin].imp;
    ranked_.clear();
    size_t end = begin;
    for (; end < contenders_.size() && contenders_[end].imp == imp; ++end) {
      if (contenders_[end].drop == DropReason::kNone) {
        ranked_.emplace_back(-contenders_[end].worth.micros, static_cast<uint32_t>(end));
      }
    }
    if (ranked_.size() > most) {
      // Mostly they come as they should: retrieval gives the dearest first.
      if (!std::ranges::is_sorted(ranked_)) {
        std::ranges::nth_element(ranked_, ranked_.begin() + static_cast<ptrdiff_t>(most));
      }
      for (const auto& [worth, index] : std::span(ranked_).subspan(most)) {
        drop(contenders_[index], DropReason::kOutscored);
      }
    }
    begin = end;
  }
}

}  // namespace spillway::bidder
