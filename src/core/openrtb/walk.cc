#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "base/result.h"
#include "openrtb/document.h"
#include "openrtb/json_text.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {

// Why this is a scanner of our own and not simdjson's on-demand: a walk needs the byte span of
// every key and value, decoded key comparison, and an error for each malformed byte wherever it
// stands. On-demand gives no spans of scalars without materialising them, refuses numbers that do
// not fit (they must pass through unread) and leaves bad escapes to whoever reads the string, so
// each value would be scanned again. One loop over the bytes does it all; simdjson checks UTF-8.
struct Document::Walker {
  struct Frame {
    NodeId node = kAbsent;
    NodeId last = kAbsent;
    uint32_t children = 0;
    uint32_t unknown = 0;  ///< Members whose name is not in the key list.
    std::array<uint64_t, static_cast<size_t>(Key::kCount) / 64 + 1> seen{};
  };

  base::Result<void, WalkErrc> run(Document& document);

  [[nodiscard]] size_t consumed() const { return static_cast<size_t>(at_ - begin_); }

 private:
  bool fail(WalkErrc error) {
    error_ = error;
    return false;
  }

  [[nodiscard]] uint32_t offset(const char* at) const { return static_cast<uint32_t>(at - begin_); }

  /// The byte at hand; NUL at the end, which no grammar rule accepts.
  [[nodiscard]] char peek() const { return at_ < end_ ? *at_ : '\0'; }

  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
      ++at_;
    }
  }

  bool values();
  bool value();
  bool close_until_next();
  bool key();
  bool string(bool& escaped);
  bool literal(std::string_view word, Kind kind);
  bool add(Kind kind);
  bool open(Kind kind);
  bool close();
  bool unknown_names_differ(const Frame& frame);

  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::vector<Node>* nodes_ = nullptr;
  size_t max_nodes_ = 0;
  size_t depth_ = 0;
  WalkErrc error_ = WalkErrc::kSyntax;
  Key key_ = Key::kNone;
  uint32_t key_begin_ = 0;
  uint32_t key_length_ = 0;
  std::array<Frame, kMaxDepth> frames_;
  std::string decoded_;
  std::vector<std::string_view> names_;
};

Document::Document(size_t max_nodes) : max_nodes_(max_nodes), walker_(std::make_unique<Walker>()) {}

Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

base::Result<void, WalkErrc> Document::walk(std::string_view text) {
  text_ = text;
  nodes_.clear();
  auto result = walker_->run(*this);
  failed_at_ = result ? 0 : walker_->consumed();
  if (!result) {
    nodes_.clear();
  }
  return result;
}

base::Result<void, WalkErrc> Document::Walker::run(Document& document) {
  const std::string_view text = document.text_;
  nodes_ = &document.nodes_;
  max_nodes_ = std::min<size_t>(document.max_nodes_, kAbsent);
  begin_ = at_ = text.data();
  end_ = begin_ + text.size();
  depth_ = 0;
  key_ = Key::kNone;
  key_begin_ = key_length_ = 0;
  skip_space();
  if (at_ == end_) {
    return std::unexpected(WalkErrc::kEmpty);
  }
  if (text.size() > std::numeric_limits<uint32_t>::max()) {
    return std::unexpected(WalkErrc::kTooManyNodes);
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return std::unexpected(WalkErrc::kUtf8);
  }
  if (!values()) {
    return std::unexpected(error_);
  }
  skip_space();
  if (at_ != end_) {
    return std::unexpected(WalkErrc::kTrailing);
  }
  return {};
}

/// From one value to the next until the root is closed.
bool Document::Walker::values() {
  do {
    const size_t depth = depth_;
    if (!value()) {
      return false;
    }
    // A container that has just been opened: its first value comes next.
    if (depth_ > depth) {
      continue;
    }
    if (!close_until_next()) {
      return false;
    }
  } while (depth_ > 0);
  return true;
}

/// Reads a scalar, an empty container, or the opening of a container up to its first value.
bool Document::Walker::value() {
  switch (peek()) {
    case '{':
      return open(Kind::kObject);
    case '[':
      return open(Kind::kArray);
    case '"': {
      if (!add(Kind::kString)) {
        return false;
      }
      bool escaped = false;
      if (!string(escaped)) {
        return false;
      }
      nodes_->back().escaped = escaped;
      break;
    }
    case 't':
      return literal("true", Kind::kTrue);
    case 'f':
      return literal("false", Kind::kFalse);
    case 'n':
      return literal("null", Kind::kNull);
    default: {
      const char* const after = skip_number(at_, end_);
      if (after == nullptr) {
        return fail(WalkErrc::kSyntax);
      }
      if (!add(Kind::kNumber)) {
        return false;
      }
      at_ = after;
    }
  }
  nodes_->back().end = offset(at_);
  return true;
}

/// Behind a value: closes what closes here and stops at the next value of what stays open.
bool Document::Walker::close_until_next() {
  while (depth_ > 0) {
    skip_space();
    const bool in_object = (*nodes_)[frames_[depth_ - 1].node].kind == Kind::kObject;
    const char c = peek();
    if (c == ',') {
      ++at_;
      skip_space();
      return !in_object || key();
    }
    if (c != (in_object ? '}' : ']')) {
      return fail(WalkErrc::kSyntax);
    }
    ++at_;
    if (!close()) {
      return false;
    }
  }
  return true;
}

bool Document::Walker::open(Kind kind) {
  if (depth_ == kMaxDepth) {
    return fail(WalkErrc::kDepth);
  }
  if (!add(kind)) {
    return false;
  }
  const auto node = static_cast<NodeId>(nodes_->size() - 1);
  ++at_;
  skip_space();
  if (peek() == (kind == Kind::kObject ? '}' : ']')) {
    ++at_;
    nodes_->back().end = offset(at_);
    return true;
  }
  Frame& frame = frames_[depth_++];
  frame.node = node;
  frame.last = kAbsent;
  frame.children = 0;
  if (kind == Kind::kObject) {
    frame.unknown = 0;
    frame.seen = {};
    return key();
  }
  key_ = Key::kNone;
  key_begin_ = key_length_ = 0;
  return true;
}

bool Document::Walker::close() {
  const Frame& frame = frames_[--depth_];
  Node& node = (*nodes_)[frame.node];
  node.end = offset(at_);
  node.children = frame.children;
  // A sibling that follows in an array must not inherit the last key in here.
  key_ = Key::kNone;
  key_begin_ = key_length_ = 0;
  return node.kind != Kind::kObject || frame.unknown < 2 || unknown_names_differ(frame) ||
         fail(WalkErrc::kDuplicateKey);
}

/// Reads a member's name, the colon and the space behind it.
bool Document::Walker::key() {
  if (peek() != '"') {
    return fail(WalkErrc::kSyntax);
  }
  const char* const begin = at_ + 1;
  bool escaped = false;
  if (!string(escaped)) {
    return false;
  }
  const std::string_view name(begin, static_cast<size_t>(at_ - begin) - 1);
  key_begin_ = offset(begin);
  key_length_ = static_cast<uint32_t>(name.size());
  if (escaped) {
    decoded_.clear();
    append_unescaped(decoded_, name);
    key_ = key_of(decoded_);
  } else {
    key_ = key_of_readable(begin, name.size());
  }
  Frame& frame = frames_[depth_ - 1];
  if (key_ == Key::kOther) {
    ++frame.unknown;
  } else {
    uint64_t& word = frame.seen[static_cast<size_t>(key_) / 64];
    const uint64_t bit = uint64_t{1} << (static_cast<size_t>(key_) % 64);
    if ((word & bit) != 0) {
      return fail(WalkErrc::kDuplicateKey);
    }
    word |= bit;
  }
  skip_space();
  if (peek() != ':') {
    return fail(WalkErrc::kSyntax);
  }
  ++at_;
  skip_space();
  return true;
}

bool Document::Walker::string(bool& escaped) {
  const char* at = at_ + 1;
  for (;;) {
    at = find_special(at, end_);
    if (at >= end_) {
      return fail(WalkErrc::kSyntax);
    }
    if (*at == '"') {
      at_ = at + 1;
      return true;
    }
    at = *at == '\\' ? skip_escape(at) : nullptr;
    if (at == nullptr) {
      return fail(WalkErrc::kSyntax);
    }
    escaped = true;
  }
}

bool Document::Walker::literal(std::string_view word, Kind kind) {
  if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) {
    return fail(WalkErrc::kSyntax);
  }
  if (!add(kind)) {
    return false;
  }
  at_ += word.size();
  nodes_->back().end = offset(at_);
  return true;
}

/// A node for the value at hand, linked to its parent and to the sibling before it.
bool Document::Walker::add(Kind kind) {
  const size_t id = nodes_->size();
  if (id >= max_nodes_) {
    return fail(WalkErrc::kTooManyNodes);
  }
  // Written in place, field by field: a copy of a node just made would wait for its stores.
  Node& node = nodes_->emplace_back();
  node.begin = offset(at_);
  node.key_begin = key_begin_;
  node.key_length = key_length_;
  node.key = key_;
  node.kind = kind;
  if (depth_ > 0) {
    Frame& frame = frames_[depth_ - 1];
    node.parent = frame.node;
    ++frame.children;
    if (frame.last != kAbsent) {
      (*nodes_)[frame.last].next = static_cast<NodeId>(id);
    }
    frame.last = static_cast<NodeId>(id);
  }
  return true;
}

/// Names outside the key list, compared decoded when their object closes: sorted, so that ten
/// thousand of them cost k log k.
bool Document::Walker::unknown_names_differ(const Frame& frame) {
  const auto raw_name = [this](const Node& node) {
    return std::string_view(begin_ + node.key_begin, node.key_length);
  };
  names_.clear();
  decoded_.clear();
  size_t escaped_bytes = 0;
  for (NodeId at = frame.node + 1; at != kAbsent; at = (*nodes_)[at].next) {
    const Node& node = (*nodes_)[at];
    if (node.key != Key::kOther) {
      continue;
    }
    names_.push_back(raw_name(node));
    escaped_bytes += names_.back().contains('\\') ? names_.back().size() : 0;
  }
  // Decoding never makes a name longer: the views below stay where they are.
  decoded_.reserve(escaped_bytes);
  for (std::string_view& name : names_) {
    if (name.contains('\\')) {
      const size_t begin = decoded_.size();
      append_unescaped(decoded_, name);
      name = std::string_view(decoded_).substr(begin);
    }
  }
  std::ranges::sort(names_, [](std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return std::ranges::adjacent_find(names_) == names_.end();
}

}  // namespace spillway::openrtb
