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
#include "exchange/clearing/margin.h"
#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

namespace {

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

void Outgoing::reset(const openrtb::Document& document, const openrtb::RequestView& request,
                     uint32_t margin_ppm) {
  margin_ppm_ = margin_ppm;
  document_ = &document;
  request_ = &request;
  count_ = 0;
}

Outgoing::Variant& Outgoing::add() {
  if (count_ == variants_.size()) {
    variants_.push_back(std::make_unique<Variant>(
        Variant{.imps = {}, .edits = openrtb::EditList(*document_), .pieces = {}}));
  }
  Variant& variant = *variants_[count_++];
  variant.edits.reset(*document_);
  return variant;
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

void Outgoing::raise_floors(Variant& variant) const {
  if (margin_ppm_ == 0) {
    return;
  }
  std::string text;
  for (const uint32_t index : variant.imps) {
    const openrtb::Imp& imp = request_->imps[index];
    if (imp.floor.micros > 0) {
      text.clear();
      base::append_micros(text, clearing::gross_of(imp.floor, margin_ppm_).micros);
      variant.edits.set(imp.node, openrtb::Key::bidfloor, text);
    }
  }
}

std::span<const std::string_view> Outgoing::bytes(std::span<const uint32_t> imps, int64_t tmax_ms,
                                                  int at) {
  for (size_t i = 0; i < count_; ++i) {
    const Variant& made = *variants_[i];
    if (made.tmax_ms == tmax_ms && made.at == at && std::ranges::equal(made.imps, imps)) {
      return made.pieces;
    }
  }
  Variant& variant = add();
  variant.imps.assign(imps.begin(), imps.end());
  variant.tmax_ms = tmax_ms;
  variant.at = at;
  remove_other_imps(variant);
  raise_floors(variant);
  variant.edits.set(document_->root(), openrtb::Key::tmax, NumberText(tmax_ms).view());
  if (request_->at == 0) {
    variant.edits.set(document_->root(), openrtb::Key::at, NumberText(at).view());
  }
  variant.pieces = variant.edits.pieces();
  return variant.pieces;
}

}  // namespace spillway::exchange
