#include "openrtb/document.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "openrtb/json_text.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {

std::string_view to_string(WalkErrc error) {
  switch (error) {
    case WalkErrc::kEmpty:
      return "is empty";
    case WalkErrc::kSyntax:
      return "is not valid JSON";
    case WalkErrc::kUtf8:
      return "is not valid UTF-8";
    case WalkErrc::kTrailing:
      return "has bytes after the JSON value";
    case WalkErrc::kDepth:
      return "is nested too deeply";
    case WalkErrc::kTooManyNodes:
      return "has too many values";
    case WalkErrc::kDuplicateKey:
      return "names a member twice in one object";
  }
  return "";
}

NodeId Document::find(NodeId object, Key key) const {
  if (!is(object, Kind::kObject) || !nodes_[object].may_have(key)) {
    return kAbsent;
  }
  for (NodeId at = object + 1; at != kAbsent; at = nodes_[at].next) {
    if (nodes_[at].key == key) {
      return nodes_[at].kind == Kind::kNull ? kAbsent : at;
    }
  }
  return kAbsent;
}

bool Document::is_named(NodeId id, std::string_view name) const {
  const std::string_view raw = text_.substr(nodes_[id].key_begin, nodes_[id].key_length);
  return raw == name || (raw.contains('\\') && this->name(id) == name);
}

NodeId Document::member(NodeId object, std::string_view key) const {
  if (!is(object, Kind::kObject)) {
    return kAbsent;
  }
  const Key known = key_of(key);
  if (!nodes_[object].may_have(known)) {
    return kAbsent;
  }
  for (NodeId at = object + 1; at != kAbsent; at = nodes_[at].next) {
    if (nodes_[at].key == known && (known != Key::kOther || is_named(at, key))) {
      return at;
    }
  }
  return kAbsent;
}

NodeId Document::find(NodeId object, std::string_view key) const {
  const NodeId found = member(object, key);
  return kind(found) == Kind::kNull ? kAbsent : found;
}

std::string Document::name(NodeId id) const {
  std::string out;
  if (id != kAbsent) {
    append_unescaped(out, text_.substr(nodes_[id].key_begin, nodes_[id].key_length));
  }
  return out;
}

void Document::append_string(NodeId id, std::string& out) const {
  if (!is(id, Kind::kString)) {
    return;
  }
  if (nodes_[id].escaped) {
    append_unescaped(out, raw_string(id));
  } else {
    out.append(raw_string(id));
  }
}

std::string Document::string(NodeId id) const {
  std::string out;
  append_string(id, out);
  return out;
}

bool Document::equals(NodeId id, std::string_view text) const {
  if (!is(id, Kind::kString)) {
    return false;
  }
  return nodes_[id].escaped ? string(id) == text : raw_string(id) == text;
}

std::optional<int64_t> Document::integer(NodeId id) const {
  return is(id, Kind::kNumber) ? whole_number(raw(id)) : std::nullopt;
}

std::string Document::path_of(NodeId id) const {
  std::string path;
  while (id != kAbsent && nodes_[id].parent != kAbsent) {
    const NodeId parent = nodes_[id].parent;
    std::string step;
    if (nodes_[parent].kind == Kind::kArray) {
      size_t index = 0;
      for (NodeId at = first_child(parent); at != id; at = nodes_[at].next) {
        ++index;
      }
      step = "[" + std::to_string(index) + "]";
    } else {
      step = name(id);
    }
    if (!path.empty() && path.front() != '[') {
      step += '.';
    }
    path.insert(0, step);
    id = parent;
  }
  return path;
}

}  // namespace spillway::openrtb
