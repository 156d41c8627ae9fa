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
//
// The loop is values(): what every value needs is inlined into it, the rest is not.
struct Document::Walker {
  /// An open object or array; the first frame stands for what the root is in.
  struct Frame {
    NodeId node = kAbsent;
    NodeId last = kAbsent;  ///< Its child at hand.
    uint32_t children = 0;
    uint32_t unknown = 0;  ///< Members whose name is not in the key list.
    bool in_object = false;
    std::array<uint64_t, static_cast<size_t>(Key::kCount) / 64 + 1> seen{};
  };

  base::Result<void, WalkErrc> run(Document& document);

  [[nodiscard]] size_t consumed() const { return static_cast<size_t>(at_ - begin_); }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  bool fail(WalkErrc error) {
    error_ = error;
    return false;
  }

  [[nodiscard]] uint32_t offset(const char* at) const { return static_cast<uint32_t>(at - begin_); }

  /// The byte at hand; NUL at the end, which no grammar rule accepts.
  [[nodiscard]] char peek() const { return at_ < end_ ? *at_ : '\0'; }

  /// Mostly there is none: one comparison then. The byte at the end is readable.
  void skip_space() {
    while (static_cast<unsigned char>(*at_) <= ' ' && at_ < end_ &&
           (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
      ++at_;
    }
  }

  bool values();
  [[gnu::always_inline]] inline bool key();
  [[gnu::always_inline]] inline bool value();
  [[gnu::always_inline]] inline bool close_until_next();
  [[gnu::always_inline]] inline bool string(bool& escaped);
  bool rest_of_string(const char* at, bool& escaped);
  bool literal(std::string_view word, Kind kind, Node& node);
  bool grow();
  bool open(Kind kind, Node& node);
  bool close();
  bool unknown_names_differ(const Frame& frame);

  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  Document* document_ = nullptr;
  Node* nodes_ = nullptr;  ///< The document's table: size_ of capacity_ in use.
  size_t size_ = 0;
  size_t capacity_ = 0;
  Frame* frame_ = nullptr;
  Key key_ = Key::kNone;
  uint32_t key_begin_ = 0;
  uint32_t key_length_ = 0;
  WalkErrc error_ = WalkErrc::kSyntax;
  std::array<Frame, kMaxDepth + 1> frames_;
  std::string decoded_;
  std::vector<std::string_view> names_;
};

Document::Document(size_t max_nodes) : max_nodes_(max_nodes), walker_(std::make_unique<Walker>()) {}

Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

base::Result<void, WalkErrc> Document::walk(std::string_view text) {
  text_ = text;
  auto result = walker_->run(*this);
  failed_at_ = result ? 0 : walker_->consumed();
  size_ = result ? walker_->size() : 0;
  return result;
}

base::Result<void, WalkErrc> Document::Walker::run(Document& document) {
  const std::string_view text = document.text_;
  document_ = &document;
  nodes_ = document.nodes_.data();
  capacity_ = document.nodes_.size();
  size_ = 0;
  begin_ = at_ = text.data();
  end_ = begin_ + text.size();
  if (!text.empty()) {
    skip_space();
  }
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
  frame_ = frames_.data();
  do {
    if (frame_->in_object) {
      if (!key()) {
        return false;
      }
    } else {
      key_ = Key::kNone;
      key_begin_ = key_length_ = 0;
    }
    const Frame* const outer = frame_;
    if (!value()) {
      return false;
    }
    // In a container that has just been opened the first value comes next.
    if (frame_ == outer && !close_until_next()) {
      return false;
    }
  } while (frame_ != frames_.data());
  return true;
}

/// Makes the node of the value at hand. Reads a scalar, an empty container, or the opening of a
/// container up to its first value or name.
bool Document::Walker::value() {
  if (size_ == capacity_ && !grow()) {
    return false;
  }
  // Written in place, field by field: a copy of a node just made would wait for its stores.
  Node& node = nodes_[size_];
  node.begin = offset(at_);
  node.key_begin = key_begin_;
  node.key_length = key_length_;
  node.parent = frame_->node;
  node.next = kAbsent;
  node.children = 0;
  node.key = key_;
  node.escaped = false;
  frame_->last = static_cast<NodeId>(size_++);
  switch (peek()) {
    case '"': {
      node.kind = Kind::kString;
      bool escaped = false;
      if (!string(escaped)) {
        return false;
      }
      node.escaped = escaped;
      break;
    }
    case '{':
      return open(Kind::kObject, node);
    case '[':
      return open(Kind::kArray, node);
    case 't':
      return literal("true", Kind::kTrue, node);
    case 'f':
      return literal("false", Kind::kFalse, node);
    case 'n':
      return literal("null", Kind::kNull, node);
    default: {
      node.kind = Kind::kNumber;
      const char* const after = skip_number(at_, end_);
      if (after == nullptr) {
        return fail(WalkErrc::kSyntax);
      }
      at_ = after;
    }
  }
  node.end = offset(at_);
  return true;
}

/// Behind a value: closes what closes here and stops at the next value of what stays open.
bool Document::Walker::close_until_next() {
  while (frame_ != frames_.data()) {
    skip_space();
    const char c = peek();
    if (c == ',') {
      ++at_;
      skip_space();
      ++frame_->children;
      nodes_[frame_->last].next = static_cast<NodeId>(size_);
      return true;
    }
    if (c != (frame_->in_object ? '}' : ']')) {
      return fail(WalkErrc::kSyntax);
    }
    ++at_;
    if (!close()) {
      return false;
    }
  }
  return true;
}

bool Document::Walker::open(Kind kind, Node& node) {
  const auto depth = static_cast<size_t>(frame_ - frames_.data());
  if (depth == kMaxDepth) {
    return fail(WalkErrc::kDepth);
  }
  node.kind = kind;
  ++at_;
  skip_space();
  const bool is_object = kind == Kind::kObject;
  if (peek() == (is_object ? '}' : ']')) {
    ++at_;
    node.end = offset(at_);
    return true;
  }
  const NodeId id = frame_->last;
  ++frame_;
  frame_->node = id;
  frame_->children = 1;
  frame_->in_object = is_object;
  if (is_object) {
    frame_->unknown = 0;
    frame_->seen = {};
  }
  return true;
}

bool Document::Walker::close() {
  const Frame& frame = *frame_--;
  Node& node = nodes_[frame.node];
  node.end = offset(at_);
  node.children = frame.children;
  return !frame.in_object || frame.unknown < 2 || unknown_names_differ(frame) ||
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
  if (!escaped) {
    key_ = key_of_readable(begin, name.size());
  } else {
    decoded_.clear();
    append_unescaped(decoded_, name);
    key_ = key_of(decoded_);
  }
  if (key_ == Key::kOther) {
    ++frame_->unknown;
  } else {
    uint64_t& word = frame_->seen[static_cast<size_t>(key_) / 64];
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
  const char* const at = find_special(at_ + 1, end_);
  if (at < end_ && *at == '"') {
    at_ = at + 1;
    return true;
  }
  return rest_of_string(at, escaped);
}

/// From a byte that is neither text nor the closing quote; at_ stays at the opening one until then.
bool Document::Walker::rest_of_string(const char* at, bool& escaped) {
  while (at < end_ && *at != '"') {
    at = *at == '\\' ? skip_escape(at) : nullptr;
    if (at == nullptr) {
      return fail(WalkErrc::kSyntax);
    }
    escaped = true;
    at = find_special(at, end_);
  }
  if (at >= end_) {
    return fail(WalkErrc::kSyntax);
  }
  at_ = at + 1;
  return true;
}

bool Document::Walker::literal(std::string_view word, Kind kind, Node& node) {
  if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) {
    return fail(WalkErrc::kSyntax);
  }
  at_ += word.size();
  node.kind = kind;
  node.end = offset(at_);
  return true;
}

/// More room in the table, as far as its bound.
bool Document::Walker::grow() {
  constexpr size_t kFirst = 64;
  const size_t bound = std::min<size_t>(document_->max_nodes_, kAbsent);
  if (capacity_ >= bound) {
    return fail(WalkErrc::kTooManyNodes);
  }
  document_->nodes_.resize(std::min(bound, std::max(kFirst, 2 * capacity_)));
  nodes_ = document_->nodes_.data();
  capacity_ = document_->nodes_.size();
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
  for (NodeId at = frame.node + 1; at != kAbsent; at = nodes_[at].next) {
    const Node& node = nodes_[at];
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
