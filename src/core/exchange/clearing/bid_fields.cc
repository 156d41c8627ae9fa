#include "exchange/clearing/bid_fields.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Key;
using openrtb::NodeId;

struct Field {
  Key key = Key::kNone;
  NodeId BidFields::* member = &BidFields::other;
};

/// The first takes all that no rule reads.
constexpr auto kFields = std::to_array<Field>({
    {},
    {.key = Key::id, .member = &BidFields::id},
    {.key = Key::impid, .member = &BidFields::impid},
    {.key = Key::price, .member = &BidFields::price},
    {.key = Key::adm, .member = &BidFields::adm},
    {.key = Key::nurl, .member = &BidFields::nurl},
    {.key = Key::adid, .member = &BidFields::adid},
    {.key = Key::adomain, .member = &BidFields::adomain},
    {.key = Key::cat, .member = &BidFields::cat},
    {.key = Key::cattax, .member = &BidFields::cattax},
    {.key = Key::attr, .member = &BidFields::attr},
    {.key = Key::crid, .member = &BidFields::crid},
    {.key = Key::dealid, .member = &BidFields::dealid},
    {.key = Key::mtype, .member = &BidFields::mtype},
    {.key = Key::w, .member = &BidFields::w},
    {.key = Key::h, .member = &BidFields::h},
    {.key = Key::dur, .member = &BidFields::dur},
    {.key = Key::protocol, .member = &BidFields::protocol},
    {.key = Key::api, .member = &BidFields::api},
    {.key = Key::apis, .member = &BidFields::apis},
    {.key = Key::language, .member = &BidFields::language},
    {.key = Key::langb, .member = &BidFields::langb},
    {.key = Key::exp, .member = &BidFields::exp},
    {.key = Key::bundle, .member = &BidFields::bundle},
    {.key = Key::ext, .member = &BidFields::ext},
    {.key = Key::burl, .member = &BidFields::burl},
    {.key = Key::lurl, .member = &BidFields::lurl},
});

/// Index into kFields by key: looked up, as a branch on the key would be guessed wrong.
constexpr auto kFieldOf = [] {
  std::array<uint8_t, static_cast<size_t>(Key::kCount)> table{};
  for (size_t i = 1; i < kFields.size(); ++i) {
    table[static_cast<size_t>(kFields[i].key)] = static_cast<uint8_t>(i);
  }
  return table;
}();

}  // namespace

BidFields read_fields(const openrtb::Document& document, NodeId bid) {
  BidFields fields;
  for (const NodeId member : document.children(bid)) {
    const openrtb::Node& node = document.node(member);
    const size_t field =
        node.kind == openrtb::Kind::kNull ? 0 : kFieldOf[static_cast<size_t>(node.key)];
    fields.*kFields[field].member = member;
  }
  return fields;
}

bool is_text(const openrtb::Document& document, NodeId node) {
  return document.is(node, openrtb::Kind::kString) && !document.raw_string(node).empty();
}

}  // namespace spillway::exchange::clearing
