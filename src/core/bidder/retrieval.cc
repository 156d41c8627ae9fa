#include "bidder/retrieval.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "bidder/advertiser_blocks.h"
#include "bidder/canonical.h"
#include "bidder/catalog.h"
#include "bidder/creative_fit.h"
#include "bidder/facts.h"
#include "bidder/in_flight.h"
#include "bidder/model.h"
#include "bidder/retrieval_plan.h"
#include "bidder/size_text.h"
#include "bidder/targeting_index.h"

namespace spillway::bidder {

namespace {

/// More creatives of one line item than this never come to turn.
constexpr size_t kChoice = 64;

}  // namespace

void Retrieval::begin(const Catalog& catalog, const RequestFacts& facts, int64_t now_unix_s,
                      std::string_view seat, std::span<const InFlight* const> prepared) {
  const bool same = catalog_ == &catalog && version_ == catalog.version();
  catalog_ = &catalog;
  version_ = catalog.version();
  facts_ = &facts;
  seat_ = seat;
  id_hash_ = base::hash64(facts.id);
  imp_ = nullptr;
  if (!same) {
    own_in_flight_.until_s = own_in_flight_.from_s;
    request_bits_.resize(catalog.index().words());
    block_bits_.resize(TargetingIndex::kBlockWords);
    fits_.resize(kChoice);
    blocked_.assign(catalog.advertisers().size(), 0);
    allowed_.assign(catalog.advertisers().size(), 0);
    verdicts_.resize(catalog.advertisers().size());
    request_number_ = 0;
  }
  active_ = in_flight_at(now_unix_s, prepared).bits;
  if (++request_number_ == 0) {
    std::ranges::fill(blocked_, 0);
    std::ranges::fill(allowed_, 0);
    request_number_ = 1;
  }
  block_advertisers();
  allow_categories();
  request_plan_.clear(catalog.index());
  request_plan_.add_request(facts);
  request_blocks_ = 0;
}

// A table that somebody made for this time, or one's own.
const InFlight& Retrieval::in_flight_at(int64_t now_unix_s,
                                        std::span<const InFlight* const> prepared) {
  for (const InFlight* const table : prepared) {
    if (table != nullptr && table->covers(version_, now_unix_s)) {
      return *table;
    }
  }
  if (!own_in_flight_.covers(version_, now_unix_s)) {
    find_in_flight(*catalog_, now_unix_s, own_in_flight_);
  }
  return own_in_flight_;
}

void Retrieval::begin_imp(size_t imp) {
  imp_ = &facts_->imps()[imp];
  dropped_ = {};
  matched_ = 0;
  block_ = 0;
  word_ = TargetingIndex::kBlockWords;
  plan_imp();
  plan_offers();
}

bool Retrieval::is_ours(const DealFacts& deal) const {
  return !deal.id.empty() &&
         (deal.wseat.empty() || std::ranges::find(deal.wseat, seat_) != deal.wseat.end());
}

void Retrieval::plan_imp() {
  constexpr std::array<std::string_view, kMediaKinds> kNames = {"banner", "video", "audio",
                                                                "native"};
  RetrievalPlan& plan = imp_plan_;
  plan.clear(catalog_->index());
  bool positioned = false;
  for (size_t m = 0; m < kMediaKinds; ++m) {
    const MediaFacts& medium = imp_->media[m];
    if (medium.offered && medium.position > 0) {
      plan.want(Dimension::kPosition, static_cast<uint32_t>(medium.position));
      positioned = true;
    }
  }
  plan.add_wanted(Dimension::kPosition, positioned);
  for (size_t m = 0; m < kMediaKinds; ++m) {
    if (imp_->media[m].offered) {
      plan.want(Dimension::kMedia, kNames[m]);
    }
  }
  plan.add_any(Dimension::kMedia);
  SizeText text;
  for (const PixelSize& size : imp_->sizes) {
    plan.want(Dimension::kSize, text.of(size));
  }
  if (const std::string_view player = text.of(imp_->of(Media::kVideo).size); !player.empty()) {
    plan.want(Dimension::kSize, player);
  }
  plan.add_any(Dimension::kSize);
  for (const DealFacts& deal : imp_->offered_deals()) {
    if (is_ours(deal)) {
      plan.want(Dimension::kDeal, deal.id);
    }
  }
  if (imp_->private_auction) {
    plan.add_strict(Dimension::kDeal);
  } else {
    plan.add_wanted(Dimension::kDeal, !imp_->deals_cut);
  }
}

void Retrieval::plan_offers() {
  const TargetingIndex& index = catalog_->index();
  offer_plan_.clear(index);
  if (imp_->of(Media::kBanner).offered) {
    for (const PixelSize& size : imp_->sizes) {
      offer_plan_.want_posting(index.banner_offer(size_key(size.w, size.h)));
    }
    if (!imp_->ratios.empty()) {
      offer_plan_.want_posting(index.offer(Media::kBanner));
    }
  }
  for (const Media medium : {Media::kVideo, Media::kAudio, Media::kNative}) {
    if (imp_->of(medium).offered) {
      offer_plan_.want_posting(index.offer(medium));
    }
  }
  offer_plan_.add_postings();
}

bool Retrieval::load_block() {
  const size_t words = catalog_->index().words();
  const size_t first = block_ * TargetingIndex::kBlockWords;
  if (first >= words) {
    return false;
  }
  const size_t count = std::min(TargetingIndex::kBlockWords, words - first);
  const std::span<uint64_t> of_request = std::span(request_bits_).subspan(first, count);
  if (block_ == request_blocks_) {
    std::ranges::copy(active_.subspan(first, count), of_request.begin());
    request_plan_.apply(block_, of_request);
    ++request_blocks_;
  }
  std::ranges::fill(block_bits_, 0);
  const std::span<uint64_t> bits = std::span(block_bits_).first(count);
  std::ranges::copy(of_request, bits.begin());
  imp_plan_.apply(block_, bits);
  const size_t matched = count_bits(bits);
  offer_plan_.apply(block_, bits);
  matched_ += matched;
  dropped_[static_cast<size_t>(Misfit::kOffer)] +=
      static_cast<uint32_t>(matched - count_bits(bits));
  ++block_;
  word_ = 0;
  return true;
}

size_t Retrieval::next(std::span<Candidate> out) {
  size_t found = 0;
  while (found < out.size() && (word_ < TargetingIndex::kBlockWords || load_block())) {
    found += take_from_block(out.subspan(found));
  }
  return found;
}

/// Candidates of what is left of the block, until it is empty or `out` full.
size_t Retrieval::take_from_block(std::span<Candidate> out) {
  size_t found = 0;
  while (word_ < TargetingIndex::kBlockWords && found < out.size()) {
    uint64_t& word = block_bits_[word_];
    if (word == 0) {
      ++word_;
      continue;
    }
    const size_t item = ((block_ - 1) * TargetingIndex::kBlockWords + word_) * 64 +
                        static_cast<size_t>(std::countr_zero(word));
    word &= word - 1;
    if (const auto candidate = consider(static_cast<uint32_t>(item))) {
      out[found++] = *candidate;
    }
  }
  return found;
}

void Retrieval::block(std::span<const uint32_t> advertisers, Misfit reason) {
  for (const uint32_t advertiser : advertisers) {
    if (blocked_[advertiser] != request_number_) {
      blocked_[advertiser] = request_number_;
      verdicts_[advertiser] = reason;
    }
  }
}

void Retrieval::block_advertisers() {
  const AdvertiserBlocks& blocks = catalog_->blocks();
  blocks_foreign_ = facts_->cattax != 1 && !facts_->bcat.empty();
  if (blocks_foreign_) {
    block_foreign_categories();
  }
  for (size_t i = 0; i < facts_->bcat.size() && !blocks_foreign_; ++i) {
    const std::string_view category = facts_->bcat[i];
    block(blocks.within_category(category), Misfit::kCategory);
    for (std::string_view at = parent_category(category); !at.empty(); at = parent_category(at)) {
      block(blocks.in_category(at), Misfit::kCategory);
    }
  }
  for (const std::string_view domain : facts_->badv) {
    block(blocks.within_domain(domain), Misfit::kAdvertiser);
  }
}

void Retrieval::block_foreign_categories() {
  filed_ = catalog_->blocks().filed_in(facts_->cattax);
  for (const std::string_view category : facts_->bcat) {
    block(catalog_->blocks().in_category(foreign(category)), Misfit::kCategory);
  }
}

// As advertisers have it.
std::string_view Retrieval::foreign(std::string_view category) {
  category_ = std::to_string(facts_->cattax);
  category_ += ':';
  category_ += category;
  return category_;
}

void Retrieval::allow_categories() {
  const AdvertiserBlocks& blocks = catalog_->blocks();
  for (const std::string_view category : facts_->acat) {
    const auto members = facts_->cattax == 1 ? blocks.within_category(category)
                                             : blocks.in_category(foreign(category));
    for (const uint32_t advertiser : members) {
      allowed_[advertiser] = request_number_;
    }
  }
}

Misfit Retrieval::judge(uint32_t advertiser) const {
  const bool can_be_told =
      facts_->bcat_readable && (!blocks_foreign_ || (!filed_.empty() && filed_[advertiser] != 0));
  const bool is_allowed = facts_->acat.empty() || allowed_[advertiser] == request_number_;
  if (!can_be_told || !is_allowed) {
    return Misfit::kCategory;
  }
  return blocked_[advertiser] == request_number_ ? verdicts_[advertiser] : Misfit::kNone;
}

size_t Retrieval::fitting(uint32_t item, std::span<uint32_t> out, Misfit& reason) {
  const Item& row = catalog_->items()[item];
  reason = judge(row.advertiser);
  if (reason != Misfit::kNone) {
    return 0;
  }
  reason = Misfit::kOffer;
  size_t count = 0;
  for (uint32_t i = 0; i < row.creatives && count < out.size(); ++i) {
    const Creative& creative = catalog_->creatives()[row.creative + i];
    // Most of those that do not fit are of a medium that is not asked for: found without a call.
    const Misfit misfit = imp_->of(creative.media).offered
                              ? creative_fit(*catalog_, item, creative, *facts_, *imp_)
                              : Misfit::kMedia;
    if (misfit == Misfit::kNone) {
      out[count++] = row.creative + i;
    } else {
      reason = misfit;
    }
  }
  reason = count > 0 ? Misfit::kNone : reason;
  return count;
}

std::optional<uint32_t> Retrieval::deal_of(uint32_t item) const {
  const std::string_view domain = catalog_->advertiser_of(catalog_->items()[item]).domain;
  const std::span<const DealFacts> deals = imp_->offered_deals();
  for (size_t i = 0; i < deals.size(); ++i) {
    const auto& domains = deals[i].wadomain;
    if (is_ours(deals[i]) && catalog_->index().allows(Dimension::kDeal, item, deals[i].id) &&
        (domains.empty() || std::ranges::find(domains, domain) != domains.end())) {
      return static_cast<uint32_t>(i);
    }
  }
  return std::nullopt;
}

std::optional<Candidate> Retrieval::consider(uint32_t item) {
  Candidate out{.item = item};
  if (catalog_->items()[item].deals_only) {
    const std::optional<uint32_t> deal = deal_of(item);
    if (!deal) {
      ++dropped_[static_cast<size_t>(Misfit::kAdvertiser)];
      return std::nullopt;
    }
    out.deal = *deal;
  }
  Misfit reason = Misfit::kNone;
  const size_t count = fitting(item, fits_, reason);
  if (count == 0) {
    ++dropped_[static_cast<size_t>(reason)];
    return std::nullopt;
  }
  const size_t turn = count == 1 ? 0 : base::combine64(id_hash_, item) % count;
  out.creative = fits_[turn];
  return out;
}

Explanation Retrieval::explain(size_t imp) {
  const TargetingIndex& index = catalog_->index();
  Explanation out;
  begin_imp(imp);
  RetrievalPlan request_plan(&index);
  request_plan.add_request(*facts_);
  out.drops.push_back({.dimension = "flight", .line_items = index.size() - count_bits(active_)});
  std::vector<uint64_t> bits;
  for (size_t first = 0; first < index.words(); first += TargetingIndex::kBlockWords) {
    const size_t count = std::min(TargetingIndex::kBlockWords, index.words() - first);
    const size_t block = first / TargetingIndex::kBlockWords;
    const auto active = active_.subspan(first, count);
    bits.assign(active.begin(), active.end());
    for (RetrievalPlan* plan : {&request_plan, &imp_plan_, &offer_plan_}) {
      plan->count(block, bits, out.drops);
    }
  }
  begin_imp(imp);
  std::vector<Candidate> some(kChoice);
  for (size_t found = kChoice; found == kChoice;) {
    found = next(some);
    out.candidates += found;
  }
  out.misfits = dropped_;
  out.misfits[static_cast<size_t>(Misfit::kOffer)] = 0;  // Among the drops.
  return out;
}

}  // namespace spillway::bidder
