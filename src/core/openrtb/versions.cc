#include "openrtb/versions.h"

#include <string>
#include <string_view>

#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/path_edits.h"

namespace spillway::openrtb {

namespace {

struct Moved {
  Key object;
  Key name;
};

constexpr Moved kMoved[] = {
    {.object = Key::regs, .name = Key::gdpr},     {.object = Key::regs, .name = Key::us_privacy},
    {.object = Key::regs, .name = Key::gpp},      {.object = Key::regs, .name = Key::gpp_sid},
    {.object = Key::user, .name = Key::consent},  {.object = Key::user, .name = Key::eids},
    {.object = Key::source, .name = Key::schain},
};

/// One member and its two places.
struct Places {
  Path path_25;
  Path path_26;
  NodeId node_25 = kAbsent;
  NodeId node_26 = kAbsent;
};

/// `fallback` stands in when neither place has a value.
void place(const Document& document, const Places& at, NodeId fallback, Version version,
           PathEdits& edits) {
  const bool is_said = edits.says(at.path_26);
  NodeId source = at.node_26 != kAbsent ? at.node_26 : at.node_25;
  source = source != kAbsent ? source : fallback;
  if (source == kAbsent && !is_said) {
    return;
  }
  const bool wants_26 = version == Version::k26;
  const NodeId there = wants_26 ? at.node_26 : at.node_25;
  const std::string said(is_said ? edits.said(at.path_26) : std::string_view{});
  const std::string_view value = is_said ? said : document.raw(source);
  const Path& wanted = wants_26 ? at.path_26 : at.path_25;
  const Path& other = wants_26 ? at.path_25 : at.path_26;
  edits.remove(other);
  if (value.empty()) {
    edits.remove(wanted);
  } else if (is_said || there != source) {
    edits.set(wanted, value);
  }
}

}  // namespace

void place_moved(const Document& document, Version version, PathEdits& edits) {
  Key object = Key::kNone;
  NodeId parent = kAbsent;
  NodeId ext = kAbsent;
  for (const Moved& moved : kMoved) {
    if (moved.object != object) {
      object = moved.object;
      parent = document.find(document.root(), object);
      ext = document.find(parent, Key::ext);
    }
    place(document,
          {.path_25 = {moved.object, Key::ext, moved.name},
           .path_26 = {moved.object, moved.name},
           .node_25 = document.find(ext, moved.name),
           .node_26 = document.find(parent, moved.name)},
          kAbsent, version, edits);
  }
}

void place_moved_imp(const Document& document, NodeId imp, Version version, PathEdits& edits) {
  const NodeId ext = document.find(imp, Key::ext);
  // An imp's ext is the caller's own: what is no number there is a stranger of the same name.
  const auto flag = [&](NodeId node) { return document.integer(node) ? node : kAbsent; };
  place(document,
        {.path_25 = {Key::ext, Key::rwdd},
         .path_26 = {Key::rwdd},
         .node_25 = flag(document.find(ext, Key::rwdd)),
         .node_26 = document.find(imp, Key::rwdd)},
        flag(document.find(document.find(ext, Key::prebid), "is_rewarded_inventory")), version,
        edits);
}

}  // namespace spillway::openrtb
