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

  [[nodiscard]] size_t consumed() const { return static_cast<size_t>(stopped_ - begin_); }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  bool fail(WalkErrc error) {
    error_ = error;
    return false;
  }

  [[nodiscard]] uint32_t offset(const char* at) const { return static_cast<uint32_t>(at - begin_); }

  /// The byte at hand; NUL at the end, which no grammar rule accepts.
  [[nodiscard]] char peek(const char* at) const { return at < end_ ? *at : '\0'; }

  /// Mostly there is none: one comparison then. The byte at the end is readable.
  [[nodiscard]] const char* skip_space(const char* at) const {
    while (static_cast<unsigned char>(*at) <= ' ' && at < end_ &&
           (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
      ++at;
    }
    return at;
  }

  // The inlined ones move `at` along, and leave it where they fail.
  bool values(const char*& at);
  [[gnu::always_inline]] inline bool key(const char*& at);
  [[gnu::always_inline]] inline bool value(const char*& at);
  [[gnu::always_inline]] inline bool close_until_next(const char*& at);
  [[gnu::always_inline]] inline bool string(const char*& at, bool& escaped);

  // These return where to go on, nullptr when they fail.
  const char* rest_of_string(const char* at);
  const char* open(const char* at, Kind kind, Node& node);
  const char* literal(const char* at, std::string_view word, Kind kind, Node& node);
  bool close(const char* at);
  bool grow();
  bool unknown_names_differ(const Frame& frame);

  const char* begin_ = nullptr;
  const char* stopped_ = nullptr;  ///< Where the walk ended.
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
  begin_ = stopped_ = text.data();
  end_ = begin_ + text.size();
  const char* at = text.empty() ? begin_ : skip_space(begin_);
  if (at == end_) {
    return std::unexpected(WalkErrc::kEmpty);
  }
  if (text.size() > std::numeric_limits<uint32_t>::max()) {
    return std::unexpected(WalkErrc::kTooManyNodes);
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return std::unexpected(WalkErrc::kUtf8);
  }
  const bool whole = values(at);
  stopped_ = at;
  if (!whole) {
    return std::unexpected(error_);
  }
  stopped_ = skip_space(at);
  if (stopped_ != end_) {
    return std::unexpected(WalkErrc::kTrailing);
  }
  return {};
}

/// From one value to the next until the root is closed.
bool Document::Walker::values(const char*& from) {
  const char* at = from;  // In a register.
  bool good = true;
  frame_ = frames_.data();
  do {
    if (!frame_->in_object) {
      key_ = Key::kNone;
      key_begin_ = key_length_ = 0;
    } else if (good = key(at); !good) {
      break;
    }
    const Frame* const outer = frame_;
    // In a container that has just been opened the first value comes next.
    good = value(at) && (frame_ != outer || close_until_next(at));
  } while (good && frame_ != frames_.data());
  from = at;
  return good;
}

/// Makes the node of the value at hand. Reads a scalar, an empty container, or the opening of a
/// container up to its first value or name.
bool Document::Walker::value(const char*& at) {
  if (size_ == capacity_ && !grow()) {
    return false;
  }
  // Written in place, field by field: a copy of a node just made would wait for its stores.
  Node& node = nodes_[size_];
  node.begin = offset(at);
  node.key_begin = key_begin_;
  node.key_length = key_length_;
  node.parent = frame_->node;
  node.next = kAbsent;
  node.children = 0;
  node.key = key_;
  node.escaped = false;
  frame_->last = static_cast<NodeId>(size_++);
  const char* after = nullptr;
  switch (peek(at)) {
    case '"': {
      bool escaped = false;
      if (!string(at, escaped)) {
        return false;
      }
      node.kind = Kind::kString;
      node.escaped = escaped;
      node.end = offset(at);
      return true;
    }
    case '{':
      after = open(at, Kind::kObject, node);
      break;
    case '[':
      after = open(at, Kind::kArray, node);
      break;
    case 't':
      after = literal(at, "true", Kind::kTrue, node);
      break;
    case 'f':
      after = literal(at, "false", Kind::kFalse, node);
      break;
    case 'n':
      after = literal(at, "null", Kind::kNull, node);
      break;
    default: {
      after = skip_number(at, end_);
      if (after == nullptr) {
        return fail(WalkErrc::kSyntax);
      }
      node.kind = Kind::kNumber;
      node.end = offset(after);
    }
  }
  at = after != nullptr ? after : at;
  return after != nullptr;
}

/// Behind a value: closes what closes here and stops at the next value of what stays open.
bool Document::Walker::close_until_next(const char*& at) {
  while (frame_ != frames_.data()) {
    at = skip_space(at);
    const char c = peek(at);
    if (c == ',') {
      at = skip_space(at + 1);
      ++frame_->children;
      nodes_[frame_->last].next = static_cast<NodeId>(size_);
      return true;
    }
    if (c != (frame_->in_object ? '}' : ']')) {
      return fail(WalkErrc::kSyntax);
    }
    ++at;
    if (!close(at)) {
      return false;
    }
  }
  return true;
}

const char* Document::Walker::open(const char* at, Kind kind, Node& node) {
  if (frame_ == &frames_.back()) {
    fail(WalkErrc::kDepth);
    return nullptr;
  }
  node.kind = kind;
  at = skip_space(at + 1);
  const bool is_object = kind == Kind::kObject;
  if (peek(at) == (is_object ? '}' : ']')) {
    ++at;
    node.end = offset(at);
    return at;
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
  return at;
}

bool Document::Walker::close(const char* at) {
  const Frame& frame = *frame_--;
  Node& node = nodes_[frame.node];
  node.end = offset(at);
  node.children = frame.children;
  return !frame.in_object || frame.unknown < 2 || unknown_names_differ(frame) ||
         fail(WalkErrc::kDuplicateKey);
}

/// Reads a member's name, the colon and the space behind it.
bool Document::Walker::key(const char*& at) {
  if (peek(at) != '"') {
    return fail(WalkErrc::kSyntax);
  }
  const char* const begin = at + 1;
  bool escaped = false;
  if (!string(at, escaped)) {
    return false;
  }
  const std::string_view name(begin, static_cast<size_t>(at - begin) - 1);
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
  at = skip_space(at);
  if (peek(at) != ':') {
    return fail(WalkErrc::kSyntax);
  }
  at = skip_space(at + 1);
  return true;
}

bool Document::Walker::string(const char*& at, bool& escaped) {
  const char* const special = find_special(at + 1, end_);
  if (special < end_ && *special == '"') {
    at = special + 1;
    return true;
  }
  const char* const after = rest_of_string(special);
  if (after == nullptr) {
    return fail(WalkErrc::kSyntax);
  }
  at = after;
  escaped = true;
  return true;
}

/// From an escape, or what may not stand in a string, to behind the closing quote.
const char* Document::Walker::rest_of_string(const char* at) {
  while (at < end_ && *at != '"') {
    at = *at == '\\' ? skip_escape(at) : nullptr;
    if (at == nullptr) {
      return nullptr;
    }
    at = find_special(at, end_);
  }
  return at < end_ ? at + 1 : nullptr;
}

const char* Document::Walker::literal(const char* at, std::string_view word, Kind kind,
                                      Node& node) {
  if (!std::string_view(at, static_cast<size_t>(end_ - at)).starts_with(word)) {
    fail(WalkErrc::kSyntax);
    return nullptr;
  }
  node.kind = kind;
  node.end = offset(at + word.size());
  return at + word.size();
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
