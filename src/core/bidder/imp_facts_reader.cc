#include "bidder/imp_facts_reader.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "bidder/facts.h"
#include "bidder/model.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::bidder {

using openrtb::kAbsent;
using openrtb::Key;
using openrtb::Kind;
using openrtb::NodeId;

namespace {

void clear(MediaFacts& medium) {
  medium.offered = false;
  medium.size = {};
  medium.duration_min_s = 0;
  medium.duration_max_s = 0;
  medium.durations_s.clear();
  medium.mimes.clear();
  medium.protocols.clear();
  medium.apis.clear();
  medium.battr.clear();
  medium.position = 0;
}

void clear(ImpFacts& imp) {
  imp.id = {};
  for (MediaFacts& medium : imp.media) {
    clear(medium);
  }
  imp.sizes.clear();
  imp.ratios.clear();
  imp.floor = {};
  imp.floor_currency = {};
  imp.floor_known = true;
  imp.secure = imp.instl = imp.private_auction = false;
  imp.deal_count = 0;
  imp.deals_cut = false;
}

}  // namespace

void FactsReader::imps(NodeId list, size_t imps_max) {
  for (const NodeId node : document_.children(list)) {
    if (!document_.is(node, Kind::kObject)) {
      continue;
    }
    if (facts_.imp_count == imps_max) {
      ++facts_.imps_dropped;
      continue;
    }
    if (facts_.imp_count == facts_.imp_memory.size()) {
      facts_.imp_memory.emplace_back();
    }
    ImpFacts& out = facts_.imp_memory[facts_.imp_count++];
    clear(out);
    out.node = node;
    imp(node, out);
  }
}

void FactsReader::imp(NodeId node, ImpFacts& out) {
  NodeId floor = kAbsent;
  NodeId currency = kAbsent;
  for (const NodeId member : document_.children(node)) {
    if (document_.is(member, Kind::kNull)) {
      continue;
    }
    switch (document_.node(member).key) {
      case Key::id:
        out.id = id(member);
        break;
      case Key::banner:
        medium(member, out.media[static_cast<size_t>(Media::kBanner)]);
        banner_sizes(member, out);
        break;
      case Key::video:
        medium(member, out.media[static_cast<size_t>(Media::kVideo)]);
        break;
      case Key::audio:
        medium(member, out.media[static_cast<size_t>(Media::kAudio)]);
        break;
      case Key::native:
        medium(member, out.media[static_cast<size_t>(Media::kNative)]);
        break;
      case Key::bidfloor:
        floor = member;
        break;
      case Key::bidfloorcur:
        currency = member;
        break;
      case Key::secure:
        out.secure = number(member) == 1;
        break;
      case Key::instl:
        out.instl = number(member) == 1;
        break;
      case Key::pmp:
        pmp(member, out);
        break;
      default:
        break;
    }
  }
  const Price price = this->price(floor, currency);
  out.floor = price.floor;
  out.floor_currency = price.currency;
  out.floor_known = price.known;
}

void FactsReader::medium(NodeId node, MediaFacts& out) {
  if (!document_.is(node, Kind::kObject)) {
    return;
  }
  out.offered = true;
  for (const NodeId member : document_.children(node)) {
    switch (document_.node(member).key) {
      case Key::w:
        out.size.w = std::max(number(member), 0);
        break;
      case Key::h:
        out.size.h = std::max(number(member), 0);
        break;
      case Key::minduration:
        out.duration_min_s = number(member);
        break;
      case Key::maxduration:
        out.duration_max_s = number(member);
        break;
      case Key::rqddurs:
        numbers(member, out.durations_s);
        break;
      case Key::mimes:
        values(Dimension::kOs, member, out.mimes);
        break;  // Lower case.
      case Key::protocol:
        if (out.protocols.empty() && number(member) > 0) {
          out.protocols.push_back(number(member));
        }
        break;
      case Key::protocols:
        numbers(member, out.protocols);
        break;
      case Key::api:
        numbers(member, out.apis);
        break;
      case Key::battr:
        numbers(member, out.battr);
        break;
      case Key::pos:
        out.position = std::max(number(member), 0);
        break;
      default:
        break;
    }
  }
}

void FactsReader::banner_sizes(NodeId banner, ImpFacts& out) const {
  const PixelSize size = out.of(Media::kBanner).size;
  if (size.w > 0 && size.h > 0) {
    out.sizes.push_back(size);
  }
  for (const NodeId format : document_.children(document_.find(banner, Key::format))) {
    PixelSize fixed;
    RatioSize ratio;
    for (const NodeId member : document_.children(format)) {
      switch (document_.node(member).key) {
        case Key::w:
          fixed.w = number(member);
          break;
        case Key::h:
          fixed.h = number(member);
          break;
        case Key::wratio:
          ratio.wratio = number(member);
          break;
        case Key::hratio:
          ratio.hratio = number(member);
          break;
        case Key::wmin:
          ratio.wmin = number(member);
          break;
        default:
          break;
      }
    }
    if (fixed.w > 0 && fixed.h > 0 && out.sizes.size() < ImpFacts::kListMost) {
      out.sizes.push_back(fixed);
    } else if (ratio.wratio > 0 && ratio.hratio > 0 && out.ratios.size() < ImpFacts::kListMost) {
      out.ratios.push_back(ratio);
    }
  }
}

void FactsReader::pmp(NodeId pmp, ImpFacts& out) {
  out.private_auction = number(document_.find(pmp, Key::private_auction)) == 1;
  for (const NodeId node : document_.children(document_.find(pmp, Key::deals))) {
    if (out.deal_count == ImpFacts::kListMost) {
      out.deals_cut = true;
      break;
    }
    if (out.deal_count == out.deals.size()) {
      out.deals.emplace_back();
    }
    deal(node, out.deals[out.deal_count++]);
  }
}

void FactsReader::deal(NodeId node, DealFacts& out) {
  out.id = {};
  out.at = 0;
  out.wseat.clear();
  out.wadomain.clear();
  NodeId floor = kAbsent;
  NodeId currency = kAbsent;
  for (const NodeId member : document_.children(node)) {
    if (document_.is(member, Kind::kNull)) {
      continue;
    }
    switch (document_.node(member).key) {
      case Key::id:
        out.id = id(member);
        break;
      case Key::at:
        out.at = number(member);
        break;
      case Key::bidfloor:
        floor = member;
        break;
      case Key::bidfloorcur:
        currency = member;
        break;
      case Key::wseat:
        texts(member, out.wseat);
        break;
      case Key::wadomain:
        domains(member, out.wadomain);
        break;
      default:
        break;
    }
  }
  out.at = out.at >= 1 && out.at <= 3 ? out.at : 0;
  const Price price = this->price(floor, currency);
  out.floor_given = floor != kAbsent;
  out.floor = price.floor;
  out.floor_currency = price.currency;
  out.floor_known = price.known;
}

}  // namespace spillway::bidder
