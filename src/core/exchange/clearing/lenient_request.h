#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/decimal.h"
#include "base/money.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

/// For tests only: reads what bid validation needs out of requests that read_request may refuse, so
/// that bids can be judged by themselves. What it cannot read is left at its default.
class LenientRequest {
 public:
  [[nodiscard]] static openrtb::RequestView read(const openrtb::Document& document,
                                                 openrtb::NodeId root) {
    openrtb::RequestView view;
    const LenientRequest reader(document);
    using openrtb::Key;
    view.id = document.string(document.find(root, Key::id));
    for (const openrtb::NodeId node : document.children(document.find(root, Key::imp))) {
      view.imps.push_back(reader.imp(node));
    }
    for (const openrtb::NodeId node : document.children(document.find(root, Key::cur))) {
      view.currencies.push_back(reader.currency(node));
    }
    if (view.currencies.empty()) {
      view.currencies.emplace_back();
    }
    for (const openrtb::NodeId node : document.children(document.find(root, Key::badv))) {
      view.badv.push_back(document.string(node));
    }
    for (const openrtb::NodeId node : document.children(document.find(root, Key::bcat))) {
      view.bcat.push_back(document.string(node));
    }
    return view;
  }

 private:
  explicit LenientRequest(const openrtb::Document& document) : document_(document) {}

  [[nodiscard]] openrtb::Imp imp(openrtb::NodeId node) const {
    using openrtb::Key;
    openrtb::Imp out;
    out.node = node;
    out.id = document_.string(document_.find(node, Key::id));
    const openrtb::NodeId banner = document_.find(node, Key::banner);
    add_media(document_.find(node, Key::video), openrtb::MediaType::kVideo, out);
    add_media(document_.find(node, Key::audio), openrtb::MediaType::kAudio, out);
    add_media(document_.find(node, Key::native), openrtb::MediaType::kNative, out);
    add_media(banner, openrtb::MediaType::kBanner, out);
    add_size(banner, out);
    for (const openrtb::NodeId format : document_.children(document_.find(banner, Key::format))) {
      add_size(format, out);
    }
    for (const openrtb::NodeId attr : document_.children(document_.find(banner, Key::battr))) {
      out.battr.push_back(static_cast<int32_t>(document_.integer(attr).value_or(0)));
    }
    const openrtb::NodeId pmp = document_.find(node, Key::pmp);
    for (const openrtb::NodeId deal : document_.children(document_.find(pmp, Key::deals))) {
      out.deals.push_back({.id = document_.string(document_.find(deal, Key::id))});
    }
    out.private_auction = document_.integer(document_.find(pmp, Key::private_auction)) == 1;
    out.secure = document_.integer(document_.find(node, Key::secure)) == 1;
    out.floor_currency = currency(document_.find(node, Key::bidfloorcur));
    const auto floor =
        base::parse_micros(document_.raw(document_.find(node, Key::bidfloor)), base::Rounding::kUp);
    out.floor = base::Cpm{floor.value_or(0)};
    return out;
  }

  void add_media(openrtb::NodeId node, openrtb::MediaType type, openrtb::Imp& out) const {
    if (document_.is(node, openrtb::Kind::kObject)) {
      out.media = static_cast<uint8_t>(out.media | static_cast<uint8_t>(type));
    }
  }

  void add_size(openrtb::NodeId node, openrtb::Imp& out) const {
    const auto w = document_.integer(document_.find(node, openrtb::Key::w));
    const auto h = document_.integer(document_.find(node, openrtb::Key::h));
    if (w.has_value() && h.has_value()) {
      out.sizes.push_back({.w = static_cast<int32_t>(*w), .h = static_cast<int32_t>(*h)});
    }
  }

  [[nodiscard]] base::Currency currency(openrtb::NodeId node) const {
    base::Currency out;
    const std::string_view text = document_.raw_string(node);
    for (size_t i = 0; i < out.code.size() && text.size() == out.code.size(); ++i) {
      out.code[i] = static_cast<char>(text[i] & ~0x20);
    }
    return out;
  }

  const openrtb::Document& document_;
};

}  // namespace spillway::exchange::clearing
