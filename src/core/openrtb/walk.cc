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
#include "openrtb/key_table.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {

// Why this is a scanner of our own and not simdjson's on-demand: a walk needs the byte span of
// every key and value, decoded key comparison, and an error for each malformed byte wherever it
// stands. On-demand gives no spans of scalars without materialising them, refuses numbers that do
// not fit (they must pass through unread) and leaves bad escapes to whoever reads the string, so
// each value would be scanned again. One loop over the bytes does it all; simdjson checks UTF-8.
//
// The loop is values(): what every value needs is inlined into it, the rest is not. Where white
// space may stand, what mostly stands there is looked for first. And a byte is looked at without
// asking whether the text has ended: one behind the end may be taken for one of the text, but no
// name, value or closing bracket is, and a document is not whole without.
struct Document::Scratch {
  std::string decoded;
  std::vector<std::string_view> names;
};

struct Document::Walker {
  /// An open object or array; the first frame stands for what the root is in. Made without being
  /// written: most documents are not deep.
  struct Frame {
    NodeId node;
    NodeId last;  ///< Its child at hand.
    uint32_t children;
    uint32_t unknown;  ///< Members whose name is not in the key list.
    uint64_t members;  ///< Node::members.
    bool in_object;
    std::array<uint64_t, static_cast<size_t>(Key::kCount) / 64 + 1> seen;
  };

  /// A member's name; an element's says nothing.
  struct Name {
    uint32_t begin = 0;
    uint32_t length = 0;
    Key key = Key::kNone;
  };

  explicit Walker(Document& document)
      : document_(&document), nodes_(document.nodes_.data()), capacity_(document.nodes_.size()) {}

  base::Result<void, WalkErrc> run();

  [[nodiscard]] size_t consumed() const { return static_cast<size_t>(stopped_ - begin_); }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  bool fail(WalkErrc error) {
    error_ = error;
    return false;
  }

  [[nodiscard]] uint32_t offset(const char* at) const { return static_cast<uint32_t>(at - begin_); }

  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  /// Not beyond the end.
  [[nodiscard]] const char* skip_space(const char* at) const {
    while (at < end_ && is_space(*at)) {
      ++at;
    }
    return at;
  }

  // The inlined ones move `at` along, and leave it where they fail.
  bool values(const char*& from);
  [[gnu::always_inline]] inline bool name(const char*& at, Name& out);
  [[gnu::always_inline]] inline bool value(const char*& at, const Name& name);
  [[gnu::always_inline]] inline bool close_until_next(const char*& at);
  [[gnu::always_inline]] inline bool string(const char*& at, bool& escaped);

  // These return where to go on, nullptr when they fail.
  const char* open(const char* at, Kind kind, Node& node);
  const char* literal(const char* at, std::string_view word, Kind kind, Node& node);
  Key decoded_key(std::string_view name);
  Scratch& scratch();
  bool close(const char* at);
  bool grow();
  bool unknown_names_differ(const Frame& frame);

  const char* begin_ = nullptr;
  const char* stopped_ = nullptr;  ///< Where the walk ended.
  const char* end_ = nullptr;
  Document* document_;
  Node* nodes_;  ///< The document's table: size_ of capacity_ in use.
  size_t size_ = 0;
  size_t capacity_;
  Frame* frame_ = nullptr;
  WalkErrc error_ = WalkErrc::kSyntax;
  std::array<Frame, kMaxDepth + 1> frames_;
};

Document::Document(size_t max_nodes) : max_nodes_(max_nodes) {}

Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

base::Result<void, WalkErrc> Document::walk(std::string_view text) {
  text_ = text;
  Walker walker(*this);
  auto result = walker.run();
  failed_at_ = result ? 0 : walker.consumed();
  size_ = result ? walker.size() : 0;
  return result;
}

base::Result<void, WalkErrc> Document::Walker::run() {
  const std::string_view text = document_->text_;
  begin_ = stopped_ = text.data();
  end_ = begin_ + text.size();
  const char* at = skip_space(begin_);
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
  stopped_ = std::min(at, end_);
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
  frame_->node = kAbsent;
  frame_->in_object = false;
  do {
    const Frame* const outer = frame_;
    Name own;
    if (outer->in_object && !name(at, own)) {
      good = false;
      break;
    }
    // In a container that has just been opened the first value comes next.
    good = value(at, own) && (frame_ != outer || close_until_next(at));
  } while (good && frame_ != frames_.data());
  from = at;
  return good;
}

/// Makes the node of the value at hand. Reads a scalar, an empty container, or the opening of a
/// container up to its first value or name.
bool Document::Walker::value(const char*& at, const Name& name) {
  if (static_cast<unsigned char>(*at) <= ' ') [[unlikely]] {
    at = skip_space(at);
  }
  if (at >= end_) [[unlikely]] {
    return fail(WalkErrc::kSyntax);
  }
  if (size_ == capacity_ && !grow()) [[unlikely]] {
    return false;
  }
  // Written in place, field by field: a copy of a node just made would wait for its stores.
  Node& node = nodes_[size_];
  node.begin = offset(at);
  node.key_begin = name.begin;
  node.key_length = name.length;
  node.parent = frame_->node;
  node.next = kAbsent;
  node.children = 0;
  node.key = name.key;
  node.escaped = false;
  frame_->last = static_cast<NodeId>(size_++);
  if (*at == '"') [[likely]] {
    bool escaped = false;
    if (!string(at, escaped)) {
      return false;
    }
    node.kind = Kind::kString;
    node.escaped = escaped;
    node.end = offset(at);
    return true;
  }
  const char* after = nullptr;
  switch (*at) {
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

/// Behind a value: closes what closes here and stops at the next name or value of what stays open.
bool Document::Walker::close_until_next(const char*& at) {
  while (frame_ != frames_.data()) {
    if (static_cast<unsigned char>(*at) <= ' ') [[unlikely]] {
      at = skip_space(at);
    }
    if (*at == ',') {
      ++at;
      ++frame_->children;
      nodes_[frame_->last].next = static_cast<NodeId>(size_);
      return true;
    }
    if (at >= end_ || *at != (frame_->in_object ? '}' : ']')) {
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
  node.members = 0;
  at = skip_space(at + 1);
  const bool is_object = kind == Kind::kObject;
  if (at < end_ && *at == (is_object ? '}' : ']')) {
    ++at;
    node.end = offset(at);
    return at;
  }
  const NodeId id = frame_->last;
  ++frame_;
  frame_->node = id;
  frame_->children = 1;
  frame_->in_object = is_object;
  frame_->members = 0;
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
  node.members = frame.members;
  return !frame.in_object || frame.unknown < 2 || unknown_names_differ(frame) ||
         fail(WalkErrc::kDuplicateKey);
}

/// Reads a member's name and the colon.
bool Document::Walker::name(const char*& at, Name& out) {
  if (*at != '"') [[unlikely]] {
    at = skip_space(at);
    if (at >= end_ || *at != '"') {
      return fail(WalkErrc::kSyntax);
    }
  }
  const char* const begin = at + 1;
  bool escaped = false;
  if (!string(at, escaped)) {
    return false;
  }
  const auto length = static_cast<size_t>(at - begin) - 1;
  out.begin = offset(begin);
  out.length = static_cast<uint32_t>(length);
  out.key = escaped ? decoded_key({begin, length}) : key_table::find_readable(begin, length);
  const uint64_t bit = uint64_t{1} << (static_cast<size_t>(out.key) % 64);
  frame_->members |= bit;
  if (out.key == Key::kOther) {
    ++frame_->unknown;
  } else {
    uint64_t& word = frame_->seen[static_cast<size_t>(out.key) / 64];
    if ((word & bit) != 0) [[unlikely]] {
      return fail(WalkErrc::kDuplicateKey);
    }
    word |= bit;
  }
  if (*at != ':') [[unlikely]] {
    at = skip_space(at);
    if (at >= end_ || *at != ':') {
      return fail(WalkErrc::kSyntax);
    }
  }
  ++at;
  return true;
}

bool Document::Walker::string(const char*& at, bool& escaped) {
  const char* const special = find_special(at + 1, end_);
  if (special < end_ && *special == '"') [[likely]] {
    at = special + 1;
    return true;
  }
  const char* const after = skip_rest_of_string(special, end_);
  if (after == nullptr) {
    return fail(WalkErrc::kSyntax);
  }
  at = after;
  escaped = true;
  return true;
}

Document::Scratch& Document::Walker::scratch() {
  if (document_->scratch_ == nullptr) {
    document_->scratch_ = std::make_unique<Scratch>();
  }
  return *document_->scratch_;
}

Key Document::Walker::decoded_key(std::string_view name) {
  std::string& decoded = scratch().decoded;
  decoded.clear();
  append_unescaped(decoded, name);
  return key_of(decoded);
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

/// Names outside the key list are compared when their object closes.
bool Document::Walker::unknown_names_differ(const Frame& frame) {
  auto& [decoded, names] = scratch();
  names.clear();
  for (NodeId at = frame.node + 1; at != kAbsent; at = nodes_[at].next) {
    const Node& node = nodes_[at];
    if (node.key == Key::kOther) {
      names.emplace_back(begin_ + node.key_begin, node.key_length);
    }
  }
  return all_differ(names, decoded);
}

}  // namespace spillway::openrtb
