#include "openrtb/path_edits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {

namespace {

/// A member, null or not.
NodeId member_of(const Document& document, NodeId object, Key key) {
  for (const NodeId child : document.children(object)) {
    if (document.node(child).key == key) {
      return child;
    }
  }
  return kAbsent;
}

}  // namespace

void PathEdits::clear() {
  entries_.clear();
  text_.clear();
}

const PathEdits::Entry* PathEdits::find(const Path& path) const {
  const auto found = std::ranges::find(entries_, path, &Entry::path);
  return found == entries_.end() ? nullptr : &*found;
}

std::string_view PathEdits::text_of(const Entry& entry) const {
  return std::string_view(text_).substr(entry.begin, entry.length);
}

std::string_view PathEdits::said(const Path& path) const {
  const Entry* const entry = find(path);
  return entry == nullptr ? std::string_view{} : text_of(*entry);
}

void PathEdits::add_entry(const Path& path, std::string_view json) {
  auto entry = std::ranges::find(entries_, path, &Entry::path);
  if (entry == entries_.end()) {
    entry = entries_.insert(entry, Entry{.path = path});
  }
  entry->begin = static_cast<uint32_t>(text_.size());
  entry->length = static_cast<uint32_t>(json.size());
  text_ += json;
}

void PathEdits::set(const Path& path, std::string_view json) { add_entry(path, json); }

void PathEdits::remove(const Path& path) { add_entry(path, ""); }

void PathEdits::add(const PathEdit& edit) { add_entry(edit.path, edit.json); }

/// Whether an entry is the first of those that name the same member of the object at `prefix`.
bool PathEdits::is_first_inside(size_t entry, const Path& prefix) const {
  const Path& path = entries_[entry].path;
  if (path.size() <= prefix.size() || !path.begins_with(prefix)) {
    return false;
  }
  const Path member = prefix.then(path[prefix.size()]);
  for (size_t i = 0; i < entry; ++i) {
    if (entries_[i].path.begins_with(member)) {
      return false;
    }
  }
  return true;
}

/// Whether nothing is left in the object.
bool PathEdits::apply_inside(const Document& document, NodeId object, const Path& prefix,
                             EditList& out) const {
  uint32_t removed = 0;
  bool added = false;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!is_first_inside(i, prefix)) {
      continue;
    }
    const Key key = entries_[i].path[prefix.size()];
    const Path path = prefix.then(key);
    const NodeId member = member_of(document, object, key);
    std::string made;
    std::string_view json;
    bool gone = false;
    if (const Entry* const whole = find(path); whole != nullptr) {
      json = text_of(*whole);
      gone = json.empty();
    } else if (document.is(member, Kind::kObject)) {
      gone = apply_inside(document, member, path, out);
    } else {
      made = compose(path);
      json = made;
    }
    if (!json.empty()) {
      if (member != kAbsent) {
        out.replace(member, json);
      } else {
        out.set(object, key, json);
      }
      added = true;
    } else if (gone && member != kAbsent) {
      out.remove(member);
      ++removed;
    }
  }
  return !added && removed > 0 && removed == document.node(object).children;
}

/// The object at `prefix` made of what is set in it; "" when nothing is.
std::string PathEdits::compose(const Path& prefix) const {
  std::string out;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!is_first_inside(i, prefix)) {
      continue;
    }
    const Key key = entries_[i].path[prefix.size()];
    const Path path = prefix.then(key);
    const Entry* const whole = find(path);
    const std::string json = whole != nullptr ? std::string(text_of(*whole)) : compose(path);
    if (!json.empty()) {
      out += out.empty() ? '{' : ',';
      append_json_string(out, name_of(key));
      out += ':';
      out += json;
    }
  }
  return out.empty() ? out : out + '}';
}

void PathEdits::apply(const Document& document, NodeId object, EditList& out) const {
  if (document.is(object, Kind::kObject)) {
    apply_inside(document, object, Path(), out);
  }
}

}  // namespace spillway::openrtb
