#include "exchange/clearing/bid_fields.h"

#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Key;
using openrtb::NodeId;

NodeId* field_of(BidFields& fields, Key key) {
  switch (key) {
    case Key::id:
      return &fields.id;
    case Key::impid:
      return &fields.impid;
    case Key::price:
      return &fields.price;
    case Key::adm:
      return &fields.adm;
    case Key::nurl:
      return &fields.nurl;
    case Key::adid:
      return &fields.adid;
    case Key::adomain:
      return &fields.adomain;
    case Key::cat:
      return &fields.cat;
    case Key::cattax:
      return &fields.cattax;
    case Key::attr:
      return &fields.attr;
    case Key::crid:
      return &fields.crid;
    case Key::dealid:
      return &fields.dealid;
    case Key::mtype:
      return &fields.mtype;
    case Key::w:
      return &fields.w;
    case Key::h:
      return &fields.h;
    case Key::dur:
      return &fields.dur;
    case Key::protocol:
      return &fields.protocol;
    case Key::api:
      return &fields.api;
    case Key::apis:
      return &fields.apis;
    case Key::language:
      return &fields.language;
    case Key::langb:
      return &fields.langb;
    case Key::exp:
      return &fields.exp;
    case Key::bundle:
      return &fields.bundle;
    case Key::ext:
      return &fields.ext;
    default:
      return nullptr;
  }
}

}  // namespace

BidFields read_fields(const openrtb::Document& document, NodeId bid) {
  BidFields fields;
  for (const NodeId member : document.children(bid)) {
    const openrtb::Node& node = document.node(member);
    if (node.kind == openrtb::Kind::kNull) {
      continue;
    }
    if (NodeId* const field = field_of(fields, node.key); field != nullptr) {
      *field = member;
    }
    fields.notices =
        fields.notices || node.key == Key::nurl || node.key == Key::burl || node.key == Key::lurl;
  }
  return fields;
}

bool is_text(const openrtb::Document& document, NodeId node) {
  return document.is(node, openrtb::Kind::kString) && !document.raw_string(node).empty();
}

}  // namespace spillway::exchange::clearing
