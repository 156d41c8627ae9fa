#include "openrtb/edit_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {

namespace {

/// Where a member or element begins, its name included.
uint32_t item_begin(const Node& node) {
  return node.key == Key::kNone ? node.begin : node.key_begin - 1;
}

}  // namespace

void EditList::reset(const Document& document) {
  document_ = &document;
  edits_.clear();
  text_.clear();
  pieces_.clear();
}

std::string_view EditList::text_of(const Edit& edit) const {
  return std::string_view(text_).substr(edit.text_begin, edit.text_length);
}

void EditList::add_edit(NodeId node, Op op, std::string_view key_literal, std::string_view json) {
  edits_.push_back({.node = node,
                    .order = static_cast<uint32_t>(edits_.size()),
                    .text_begin = static_cast<uint32_t>(text_.size()),
                    .text_length = static_cast<uint32_t>(key_literal.size() + json.size()),
                    .key_length = static_cast<uint32_t>(key_literal.size()),
                    .op = op});
  text_ += key_literal;
  text_ += json;
}

void EditList::replace(NodeId value, std::string_view json) {
  if (value != kAbsent) {
    add_edit(value, Op::kReplace, "", json);
  }
}

void EditList::remove(NodeId value) {
  if (value != kAbsent && value != document_->root()) {
    add_edit(value, Op::kRemove, "", "");
  }
}

void EditList::set(NodeId object, Key key, std::string_view json) {
  set(object, name_of(key), json);
}

void EditList::set(NodeId object, std::string_view key, std::string_view json) {
  if (!document_->is(object, Kind::kObject)) {
    return;
  }
  const NodeId member = document_->member(object, key);
  if (member != kAbsent) {
    replace(member, json);
  } else {
    add_member(object, key, json);
  }
}

void EditList::add_member(NodeId object, std::string_view name, std::string_view json) {
  key_literal_.clear();
  append_json_string(key_literal_, name);
  key_literal_ += ':';
  // An earlier addition of this member gives way.
  std::erase_if(edits_, [&](const Edit& edit) {
    return edit.op == Op::kAdd && edit.node == object && edit.key_length == key_literal_.size() &&
           text_of(edit).starts_with(key_literal_);
  });
  for (uint32_t i = 0; i < edits_.size(); ++i) {
    edits_[i].order = i;
  }
  add_edit(object, Op::kAdd, key_literal_, json);
}

void EditList::append(NodeId array, std::string_view json) {
  if (document_->is(array, Kind::kArray)) {
    add_edit(array, Op::kAdd, "", json);
  }
}

/// Patches of replaced values, and the list of removed ones: the last edit of a value counts.
void EditList::collect_values() {
  removed_.clear();
  for (size_t i = 0; i < edits_.size(); ++i) {
    const Edit& edit = edits_[i];
    if (edit.op == Op::kAdd || (i + 1 < edits_.size() && edits_[i + 1].node == edit.node &&
                                edits_[i + 1].op != Op::kAdd)) {
      continue;
    }
    if (edit.op == Op::kRemove) {
      removed_.push_back(edit.node);
    } else {
      const Node& node = document_->node(edit.node);
      patches_.push_back({.begin = node.begin,
                          .end = node.end,
                          .text = text_of(edit),
                          .order = 0,
                          .comma = false});
    }
  }
}

/// A removed item takes the comma before it along, or the one behind it when nothing before it
/// stays.
void EditList::collect_removals() {
  std::ranges::sort(removed_, [this](NodeId a, NodeId b) {
    return std::tuple(document_->node(a).parent, a) < std::tuple(document_->node(b).parent, b);
  });
  for (size_t i = 0; i < removed_.size();) {
    const NodeId parent = document_->node(removed_[i]).parent;
    uint32_t before = 0;  // End of the item before this one.
    bool kept_before = false;
    for (const NodeId child : document_->children(parent)) {
      const Node& node = document_->node(child);
      if (i == removed_.size() || removed_[i] != child) {
        kept_before = true;
      } else {
        ++i;
        const uint32_t begin = kept_before ? before : item_begin(node);
        const bool last = kept_before || node.next == kAbsent;
        const uint32_t end = last ? node.end : item_begin(document_->node(node.next));
        patches_.push_back({.begin = begin, .end = end, .text = {}, .order = 0, .comma = false});
      }
      before = node.end;
    }
  }
}

void EditList::collect_additions() {
  NodeId parent = kAbsent;
  bool comma = false;
  for (const Edit& edit : edits_) {
    if (edit.op != Op::kAdd) {
      continue;
    }
    const Node& node = document_->node(edit.node);
    if (edit.node != parent) {
      parent = edit.node;
      const auto gone = std::ranges::count_if(
          removed_, [&](NodeId id) { return document_->node(id).parent == edit.node; });
      comma = static_cast<uint32_t>(gone) < node.children;
    }
    patches_.push_back({.begin = node.end - 1,
                        .end = node.end - 1,
                        .text = text_of(edit),
                        .order = 0,
                        .comma = comma});
    comma = true;
  }
}

const std::vector<std::string_view>& EditList::pieces() {
  const std::string_view text = document_->text();
  pieces_.clear();
  patches_.clear();
  // Of one node: additions last, each kind in the order it was asked for.
  std::ranges::sort(edits_, [](const Edit& a, const Edit& b) {
    return std::tuple(a.node, a.op == Op::kAdd, a.order) <
           std::tuple(b.node, b.op == Op::kAdd, b.order);
  });
  collect_values();
  collect_removals();
  collect_additions();
  // Only additions to one container share a beginning; they keep their order.
  for (uint32_t i = 0; i < patches_.size(); ++i) {
    patches_[i].order = i;
  }
  std::ranges::sort(patches_, [](const Patch& a, const Patch& b) {
    return std::tuple(a.begin, a.order) < std::tuple(b.begin, b.order);
  });
  const auto push = [this](std::string_view piece) {
    if (!piece.empty()) {
      pieces_.push_back(piece);
    }
  };
  uint32_t done = 0;
  for (const Patch& patch : patches_) {
    // Inside a value that is gone.
    if (patch.begin < done) {
      continue;
    }
    push(text.substr(done, patch.begin - done));
    push(patch.comma ? "," : "");
    push(patch.text);
    done = patch.end;
  }
  push(text.substr(done));
  return pieces_;
}

std::string EditList::bytes() {
  std::string out;
  for (const std::string_view piece : pieces()) {
    out += piece;
  }
  return out;
}

}  // namespace spillway::openrtb
