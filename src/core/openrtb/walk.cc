#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

  /// Where a walk is. Lives in registers: nothing but inlined code is shown it.
  struct State {
    const char* at;
    const char* begin;
    const char* end;
    Node* nodes;  ///< The document's table: the first `size` of `capacity` are in use.
    size_t size;
    size_t capacity;
    Frame* frame;
  };

  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): frames are written when they open
  explicit Walker(Document& document) : document_(&document) {}

  base::Result<void, WalkErrc> run();

  [[nodiscard]] size_t consumed() const { return consumed_; }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  bool fail(WalkErrc error) {
    error_ = error;
    return false;
  }

  static uint32_t offset(const State& s, const char* at) {
    return static_cast<uint32_t>(at - s.begin);
  }

  // These move `at` along, and leave it where they fail.
  bool values(State& from);
  [[gnu::always_inline]] inline bool name(State& s, Name& out);
  [[gnu::always_inline]] inline bool value(State& s, const Name& name);
  [[gnu::always_inline]] inline bool container(State& s, Kind kind, Node& node);
  [[gnu::always_inline]] inline bool close_until_next(State& s);
  [[gnu::always_inline]] inline bool close(State& s);
  [[gnu::always_inline]] inline bool string(State& s, bool& escaped);

  /// Behind a literal or a number, nullptr when there is neither.
  static const char* literal(const char* at, const char* end, Kind& kind);
  Key decoded_key(std::string_view name);
  Scratch& scratch();
  bool grow(size_t size);
  bool unknown_names_differ(const char* begin, const Frame& frame);

  Document* document_;
  size_t size_ = 0;
  size_t consumed_ = 0;  ///< Where the walk ended.
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
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  State s{.at = skip_space(begin, end),
          .begin = begin,
          .end = end,
          .nodes = document_->nodes_.data(),
          .size = 0,
          .capacity = document_->nodes_.size(),
          .frame = frames_.data()};
  if (s.at == end) {
    return std::unexpected(WalkErrc::kEmpty);
  }
  if (text.size() > std::numeric_limits<uint32_t>::max()) {
    return std::unexpected(WalkErrc::kTooManyNodes);
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return std::unexpected(WalkErrc::kUtf8);
  }
  const bool whole = values(s);
  const char* const behind = whole ? skip_space(s.at, end) : std::min(s.at, end);
  consumed_ = static_cast<size_t>(behind - s.begin);
  size_ = s.size;
  if (!whole) {
    return std::unexpected(error_);
  }
  if (behind != end) {
    return std::unexpected(WalkErrc::kTrailing);
  }
  return {};
}

/// From one value to the next until the root is closed.
bool Document::Walker::values(State& from) {
  State s = from;
  bool good = true;
  s.frame->node = kAbsent;
  s.frame->in_object = false;
  do {
    const Frame* const outer = s.frame;
    Name own;
    if (outer->in_object && !name(s, own)) {
      good = false;
      break;
    }
    // In a container that has just been opened the first value comes next.
    good = value(s, own) && (s.frame != outer || close_until_next(s));
  } while (good && s.frame != frames_.data());
  from = s;
  return good;
}

/// Makes the node of the value at hand. Reads a scalar, an empty container, or the opening of a
/// container up to its first value or name.
bool Document::Walker::value(State& s, const Name& name) {
  if (static_cast<unsigned char>(*s.at) <= ' ') [[unlikely]] {
    s.at = skip_space(s.at, s.end);
  }
  if (s.at >= s.end) [[unlikely]] {
    return fail(WalkErrc::kSyntax);
  }
  if (s.size == s.capacity) [[unlikely]] {
    if (!grow(s.size)) {
      return false;
    }
    s.nodes = document_->nodes_.data();
    s.capacity = document_->nodes_.size();
  }
  // Written in place, field by field: a copy of a node just made would wait for its stores.
  Node& node = s.nodes[s.size];
  node.begin = offset(s, s.at);
  node.key_begin = name.begin;
  node.key_length = name.length;
  node.parent = s.frame->node;
  node.next = kAbsent;
  node.children = 0;
  node.key = name.key;
  node.escaped = false;
  s.frame->last = static_cast<NodeId>(s.size++);
  const char first = *s.at;
  if (first == '"') [[likely]] {
    bool escaped = false;
    if (!string(s, escaped)) {
      return false;
    }
    node.kind = Kind::kString;
    node.escaped = escaped;
    node.end = offset(s, s.at);
    return true;
  }
  if (first == '{' || first == '[') {
    return container(s, first == '{' ? Kind::kObject : Kind::kArray, node);
  }
  node.kind = Kind::kNumber;
  const char* const after =
      first <= '9' ? skip_number(s.at, s.end) : literal(s.at, s.end, node.kind);
  if (after == nullptr) {
    return fail(WalkErrc::kSyntax);
  }
  node.end = offset(s, after);
  s.at = after;
  return true;
}

/// Behind a value: closes what closes here and stops at the next name or value of what stays open.
bool Document::Walker::close_until_next(State& s) {
  while (s.frame != frames_.data()) {
    if (static_cast<unsigned char>(*s.at) <= ' ') [[unlikely]] {
      s.at = skip_space(s.at, s.end);
    }
    if (*s.at == ',') {
      ++s.at;
      ++s.frame->children;
      s.nodes[s.frame->last].next = static_cast<NodeId>(s.size);
      return true;
    }
    if (s.at >= s.end || *s.at != (s.frame->in_object ? '}' : ']')) {
      return fail(WalkErrc::kSyntax);
    }
    ++s.at;
    if (!close(s)) {
      return false;
    }
  }
  return true;
}

/// Reads an empty container, or the opening of one.
bool Document::Walker::container(State& s, Kind kind, Node& node) {
  if (s.frame == &frames_.back()) [[unlikely]] {
    return fail(WalkErrc::kDepth);
  }
  const bool is_object = kind == Kind::kObject;
  node.kind = kind;
  node.members = 0;
  ++s.at;
  if (static_cast<unsigned char>(*s.at) <= ' ') [[unlikely]] {
    s.at = skip_space(s.at, s.end);
  }
  if (*s.at == (is_object ? '}' : ']') && s.at < s.end) {
    ++s.at;
    node.end = offset(s, s.at);
    return true;
  }
  const NodeId id = s.frame->last;
  Frame& frame = *++s.frame;
  frame.node = id;
  frame.children = 1;
  frame.unknown = 0;
  frame.members = 0;
  frame.in_object = is_object;
  if (is_object) {
    frame.seen = {};
  }
  return true;
}

bool Document::Walker::close(State& s) {
  const Frame& frame = *s.frame--;
  Node& node = s.nodes[frame.node];
  node.end = offset(s, s.at);
  node.children = frame.children;
  node.members = frame.members;
  return frame.unknown < 2 || unknown_names_differ(s.begin, frame) || fail(WalkErrc::kDuplicateKey);
}

/// Reads a member's name and the colon.
bool Document::Walker::name(State& s, Name& out) {
  if (*s.at != '"') [[unlikely]] {
    s.at = skip_space(s.at, s.end);
    if (s.at >= s.end || *s.at != '"') {
      return fail(WalkErrc::kSyntax);
    }
  }
  const char* const begin = s.at + 1;
  bool escaped = false;
  if (!string(s, escaped)) {
    return false;
  }
  const auto length = static_cast<size_t>(s.at - begin) - 1;
  out.begin = offset(s, begin);
  out.length = static_cast<uint32_t>(length);
  out.key = escaped ? decoded_key({begin, length}) : key_table::find_readable(begin, length);
  Frame& frame = *s.frame;
  const uint64_t bit = uint64_t{1} << (static_cast<size_t>(out.key) % 64);
  frame.members |= bit;
  if (out.key == Key::kOther) {
    ++frame.unknown;
  } else {
    uint64_t& word = frame.seen[static_cast<size_t>(out.key) / 64];
    if ((word & bit) != 0) [[unlikely]] {
      return fail(WalkErrc::kDuplicateKey);
    }
    word |= bit;
  }
  if (*s.at != ':') [[unlikely]] {
    s.at = skip_space(s.at, s.end);
    if (s.at >= s.end || *s.at != ':') {
      return fail(WalkErrc::kSyntax);
    }
  }
  ++s.at;
  return true;
}

bool Document::Walker::string(State& s, bool& escaped) {
  const char* const special = find_special(s.at + 1, s.end);
  if (special < s.end && *special == '"') [[likely]] {
    s.at = special + 1;
    return true;
  }
  const char* const after = skip_rest_of_string(special, s.end);
  if (after == nullptr) {
    return fail(WalkErrc::kSyntax);
  }
  s.at = after;
  escaped = true;
  return true;
}

const char* Document::Walker::literal(const char* at, const char* end, Kind& kind) {
  using Word = std::pair<std::string_view, Kind>;
  const std::string_view rest(at, static_cast<size_t>(end - at));
  for (const auto& [word, meant] :
       {Word("true", Kind::kTrue), Word("false", Kind::kFalse), Word("null", Kind::kNull)}) {
    if (rest.starts_with(word)) {
      kind = meant;
      return at + word.size();
    }
  }
  return nullptr;
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

/// More room in the table, as far as its bound.
bool Document::Walker::grow(size_t size) {
  constexpr size_t kFirst = 64;
  const size_t bound = std::min<size_t>(document_->max_nodes_, kAbsent);
  if (size >= bound) {
    return fail(WalkErrc::kTooManyNodes);
  }
  document_->nodes_.resize(std::min(bound, std::max(kFirst, 2 * size)));
  return true;
}

/// Names outside the key list are compared when their object closes.
bool Document::Walker::unknown_names_differ(const char* begin, const Frame& frame) {
  auto& [decoded, names] = scratch();
  names.clear();
  const std::vector<Node>& nodes = document_->nodes_;
  for (NodeId at = frame.node + 1; at != kAbsent; at = nodes[at].next) {
    if (nodes[at].key == Key::kOther) {
      names.emplace_back(begin + nodes[at].key_begin, nodes[at].key_length);
    }
  }
  return all_differ(names, decoded);
}

}  // namespace spillway::openrtb
