#include "exchange/outgoing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/decimal.h"
#include "exchange/clearing/floors.h"
#include "exchange/clearing/margin.h"
#include "exchange/enrich.h"
#include "exchange/privacy_scrub.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"
#include "openrtb/path_edits.h"
#include "openrtb/validate.h"
#include "openrtb/versions.h"

namespace spillway::exchange {

namespace {

using openrtb::Key;

struct NumberText {
  std::array<char, 24> bytes{};
  size_t size = 0;

  explicit NumberText(int64_t value) {
    size = static_cast<size_t>(std::to_chars(bytes.data(), bytes.data() + bytes.size(), value).ptr -
                               bytes.data());
  }

  [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
};

}  // namespace

bool same_bytes(const DspEdits& a, const DspEdits& b) {
  return a.tmax_ms == b.tmax_ms && a.at == b.at && a.version == b.version &&
         a.buyeruid == b.buyeruid && a.schain == b.schain && a.request_id == b.request_id &&
         a.copy == b.copy && a.discount_ppm == b.discount_ppm && a.floor == b.floor &&
         std::ranges::equal(a.imps, b.imps) && std::ranges::equal(a.params, b.params) &&
         std::ranges::equal(a.privacy, b.privacy);
}

void Outgoing::reset(const openrtb::Document& document, const openrtb::RequestView& request,
                     const Shared& shared) {
  shared_ = shared;
  document_ = &document;
  request_ = &request;
  count_ = 0;
}

Outgoing::Variant& Outgoing::add(const DspEdits& dsp) {
  if (count_ == variants_.size()) {
    variants_.push_back(std::make_unique<Variant>(Variant{.imps = {},
                                                          .params = {},
                                                          .request_id = {},
                                                          .privacy = {},
                                                          .key = {},
                                                          .edits = openrtb::EditList(*document_),
                                                          .pieces = {},
                                                          .joined = {},
                                                          .whole = {}}));
  }
  Variant& variant = *variants_[count_++];
  variant.imps.assign(dsp.imps.begin(), dsp.imps.end());
  variant.params.assign(dsp.params.begin(), dsp.params.end());
  variant.request_id = dsp.request_id;
  variant.privacy.assign(dsp.privacy.begin(), dsp.privacy.end());
  variant.key = dsp;
  variant.key.imps = variant.imps;
  variant.key.params = variant.params;
  variant.key.request_id = variant.request_id;
  variant.key.privacy = variant.privacy;
  variant.edits.reset(*document_);
  constexpr size_t kKept = size_t{64} * 1024;
  if (variant.joined.capacity() > kKept) {
    variant.joined = std::string();
  }
  variant.joined.clear();
  return variant;
}

std::span<const std::string_view> Outgoing::again(Variant& variant) {
  if (variant.pieces.size() < 2) {
    return variant.pieces;
  }
  if (variant.joined.empty()) {
    for (const std::string_view piece : variant.pieces) {
      variant.joined += piece;
    }
    variant.whole = variant.joined;
  }
  return {&variant.whole, 1};
}

void Outgoing::remove_other_imps(Variant& variant) const {
  if (variant.imps.size() == request_->imps.size() && request_->imps_dropped == 0) {
    return;
  }
  size_t next = 0;  // Of variant.imps: both go in document order.
  for (const openrtb::NodeId imp : document_->children(request_->imp_array)) {
    if (next < variant.imps.size() && request_->imps[variant.imps[next]].node == imp) {
      ++next;
    } else {
      variant.edits.remove(imp);
    }
  }
}

/// Most requests have none, and then there is no edit to weigh.
void Outgoing::remove_prebid(openrtb::NodeId ext, const openrtb::Path& path) {
  if (document_->is(ext, openrtb::Kind::kObject) && document_->node(ext).may_have(Key::prebid)) {
    changes_.remove(path);
  }
}

/// A floor that is the caller's own stays byte for byte.
void Outgoing::edit_floor(const DspEdits& dsp, const openrtb::Imp& imp) {
  const Floor own{.price = imp.floor, .currency = imp.floor_currency};
  const std::array<Floor, 2> others = {shared_.floor, dsp.floor};
  Floor told = clearing::announced(own, others, shared_.rates);
  told.price =
      clearing::gross_of(clearing::gross_of(told.price, shared_.margin_ppm), dsp.discount_ppm);
  if (told.price != own.price) {
    text_.clear();
    base::append_micros(text_, told.price.micros);
    changes_.set({Key::bidfloor}, text_);
  }
  if (told.currency != own.currency) {
    text_.clear();
    openrtb::append_json_string(text_, told.currency.view());
    changes_.set({Key::bidfloorcur}, text_);
  }
}

void Outgoing::edit_imps(Variant& variant) {
  for (size_t i = 0; i < variant.imps.size(); ++i) {
    const openrtb::Imp& imp = request_->imps[variant.imps[i]];
    changes_.clear();
    edit_floor(variant.key, imp);
    if (i < variant.params.size() && variant.params[i] != openrtb::kAbsent) {
      changes_.set({Key::ext, Key::bidder}, document_->raw(variant.params[i]));
    }
    if (imp.secure && document_->find(imp.node, Key::secure) == openrtb::kAbsent) {
      changes_.set({Key::secure}, "1");
    }
    remove_prebid(document_->find(imp.node, Key::ext), {Key::ext, Key::prebid});
    openrtb::place_moved_imp(*document_, imp.node, variant.key.version, changes_);
    changes_.apply(*document_, imp.node, variant.edits);
  }
}

/// The supply chain of this DSP, and our node at its end.
void Outgoing::edit_source(const DspEdits& dsp) {
  if (shared_.seller == nullptr || shared_.seller->asi.empty()) {
    if (dsp.schain != openrtb::kAbsent) {
      changes_.set({Key::source, Key::schain}, document_->raw(dsp.schain));
    }
    return;
  }
  openrtb::NodeId chain = dsp.schain;
  const openrtb::NodeId source = document_->find(document_->root(), Key::source);
  for (const openrtb::NodeId place :
       {document_->find(source, Key::schain), document_->path(source, Key::ext, Key::schain)}) {
    chain = chain != openrtb::kAbsent ? chain : place;
  }
  text_.clear();
  append_chain(text_, *document_, chain, *shared_.seller,
               dsp.request_id.empty() ? std::string_view(request_->id) : dsp.request_id);
  changes_.set({Key::source, Key::schain}, text_);
}

void Outgoing::edit_request(Variant& variant) {
  const DspEdits& dsp = variant.key;
  changes_.clear();
  changes_.set({Key::tmax}, NumberText(dsp.tmax_ms).view());
  if (request_->at == 0) {
    changes_.set({Key::at}, NumberText(dsp.at).view());
  }
  if (!dsp.request_id.empty()) {
    text_.clear();
    openrtb::append_json_string(text_, dsp.request_id);
    changes_.set({Key::id}, text_);
  }
  if (dsp.buyeruid != openrtb::kAbsent &&
      document_->path(document_->root(), Key::user, Key::buyeruid) == openrtb::kAbsent) {
    changes_.set({Key::user, Key::buyeruid}, document_->raw(dsp.buyeruid));
  }
  for (const openrtb::PathEdit& edit : shared_.fill) {
    changes_.add(edit);
  }
  edit_source(dsp);
  const openrtb::NodeId root = document_->root();
  remove_prebid(document_->find(root, Key::ext), {Key::ext, Key::prebid});
  remove_prebid(document_->path(root, Key::user, Key::ext), {Key::user, Key::ext, Key::prebid});
  withhold(dsp.copy, changes_);
  for (const openrtb::PathEdit& edit : dsp.privacy) {
    changes_.add(edit);
  }
  openrtb::place_moved(*document_, dsp.version, changes_);
  changes_.apply(*document_, document_->root(), variant.edits);
  scrub(*document_, dsp.copy, variant.edits);
}

std::span<const std::string_view> Outgoing::bytes(const DspEdits& dsp) {
  for (size_t i = 0; i < count_; ++i) {
    if (same_bytes(variants_[i]->key, dsp)) {
      return again(*variants_[i]);
    }
  }
  Variant& variant = add(dsp);
  remove_other_imps(variant);
  edit_imps(variant);
  edit_request(variant);
  variant.pieces = variant.edits.pieces();
  return variant.pieces;
}

}  // namespace spillway::exchange
