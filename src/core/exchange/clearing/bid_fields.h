#pragma once

#include "openrtb/document.h"

namespace spillway::exchange::clearing {

/// Nodes of the members of one bid object that rules read; kAbsent for missing and null ones.
struct BidFields {
  openrtb::NodeId id = openrtb::kAbsent;
  openrtb::NodeId impid = openrtb::kAbsent;
  openrtb::NodeId price = openrtb::kAbsent;
  openrtb::NodeId adm = openrtb::kAbsent;
  openrtb::NodeId nurl = openrtb::kAbsent;
  openrtb::NodeId adid = openrtb::kAbsent;
  openrtb::NodeId adomain = openrtb::kAbsent;
  openrtb::NodeId cat = openrtb::kAbsent;
  openrtb::NodeId cattax = openrtb::kAbsent;
  openrtb::NodeId attr = openrtb::kAbsent;
  openrtb::NodeId crid = openrtb::kAbsent;
  openrtb::NodeId dealid = openrtb::kAbsent;
  openrtb::NodeId mtype = openrtb::kAbsent;
  openrtb::NodeId w = openrtb::kAbsent;
  openrtb::NodeId h = openrtb::kAbsent;
  openrtb::NodeId dur = openrtb::kAbsent;
  openrtb::NodeId protocol = openrtb::kAbsent;
  openrtb::NodeId api = openrtb::kAbsent;
  openrtb::NodeId apis = openrtb::kAbsent;
  openrtb::NodeId language = openrtb::kAbsent;
  openrtb::NodeId langb = openrtb::kAbsent;
  openrtb::NodeId exp = openrtb::kAbsent;
  openrtb::NodeId bundle = openrtb::kAbsent;
  openrtb::NodeId ext = openrtb::kAbsent;
  openrtb::NodeId burl = openrtb::kAbsent;
  openrtb::NodeId lurl = openrtb::kAbsent;
  openrtb::NodeId other = openrtb::kAbsent;  ///< Some member that no rule reads.

  [[nodiscard]] bool notices() const {
    return nurl != openrtb::kAbsent || burl != openrtb::kAbsent || lurl != openrtb::kAbsent;
  }
};

/// One pass over the members of `bid`, instead of a search for each of them.
[[nodiscard]] BidFields read_fields(const openrtb::Document& document, openrtb::NodeId bid);

/// Whether a node is a string with something in it.
[[nodiscard]] bool is_text(const openrtb::Document& document, openrtb::NodeId node);

}  // namespace spillway::exchange::clearing
