#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {

enum class Kind : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

/// Index into a Document's node table. kAbsent is no node: every accessor takes it and answers as
/// for a member that is not there, so that chains of lookups need no checks.
using NodeId = uint32_t;
inline constexpr NodeId kAbsent = 0xffffffff;

/// One JSON value. Spans are byte offsets into the document: `begin`..`end` is the raw value,
/// quotes and brackets included; the raw key (without quotes) is
/// `key_begin`..`key_begin+key_length`.
struct Node {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t key_begin = 0;
  uint32_t key_length = 0;
  NodeId parent = kAbsent;
  NodeId next = kAbsent;  ///< Next sibling, kAbsent for the last.
  uint32_t children = 0;  ///< Direct children.
  Key key = Key::kNone;
  Kind kind = Kind::kNull;
  bool escaped = false;  ///< A string with a backslash in it.
  /// Of an object: bit `key % 64` for each member's key, so that most members that are not there
  /// are known to be missing at once.
  uint64_t members = 0;

  [[nodiscard]] bool may_have(Key member) const {
    return (members >> (static_cast<unsigned>(member) % 64) & 1) != 0;
  }
};

enum class WalkErrc : uint8_t {
  kEmpty,         ///< No value at all (nothing, or white space only).
  kSyntax,        ///< Not one JSON value: grammar, bad escape, bad number, control character.
  kUtf8,          ///< Invalid UTF-8.
  kTrailing,      ///< Bytes after the value.
  kDepth,         ///< Nested deeper than kMaxDepth.
  kTooManyNodes,  ///< More values than the document's bound.
  kDuplicateKey,  ///< One object names a member twice (escapes decoded).
};

[[nodiscard]] std::string_view to_string(WalkErrc error);

/// A JSON document as a flat table of its values in document order. Made once, by visiting every
/// value: what validates is what is later read and forwarded. Nothing is copied; the table points
/// into the bytes.
///
/// Policy for duplicate member names: the document is refused (two readers may disagree about
/// which counts, so none is forwarded).
///
/// One thread owns it. Reused documents keep their memory: after warm-up a walk allocates nothing.
/// Memory: 40 bytes a value, at most `max_nodes` of them. Cost: about 1 us a KiB.
/// Source: RFC 8259; DESIGN 2 step 2.
class Document {
 public:
  static constexpr size_t kMaxDepth = 64;
  static constexpr size_t kPadding = 64;  ///< Readable bytes wanted behind the text.

  explicit Document(size_t max_nodes = 65'536);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  /// Walks `text`, behind which kPadding bytes must be readable. `text` must outlive every use of
  /// the table. On an error the table is empty.
  base::Result<void, WalkErrc> walk(std::string_view text);

  [[nodiscard]] std::string_view text() const { return text_; }

  /// Byte offset near which the last walk gave up; 0 when it did not.
  [[nodiscard]] size_t failed_at() const { return failed_at_; }

  [[nodiscard]] size_t size() const { return size_; }

  /// The root, or kAbsent when empty.
  [[nodiscard]] NodeId root() const { return size_ == 0 ? kAbsent : 0; }

  /// Requires id < size().
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[id]; }

  /// Kind of a node; kNull for kAbsent.
  [[nodiscard]] Kind kind(NodeId id) const { return id == kAbsent ? Kind::kNull : nodes_[id].kind; }

  [[nodiscard]] bool is(NodeId id, Kind kind) const {
    return id != kAbsent && nodes_[id].kind == kind;
  }

  /// First child, kAbsent when there is none. Siblings follow by `node(id).next`.
  [[nodiscard]] NodeId first_child(NodeId id) const {
    return id == kAbsent || nodes_[id].children == 0 ? kAbsent : id + 1;
  }

  /// Member of an object; kAbsent when missing, null, or `object` is no object. Null optional
  /// objects are absent. Cost: linear in the object's members where there may be such a member.
  [[nodiscard]] NodeId find(NodeId object, Key key) const;
  [[nodiscard]] NodeId find(NodeId object, std::string_view key) const;

  /// The same, but a null member is found too.
  [[nodiscard]] NodeId member(NodeId object, std::string_view key) const;

  /// The decoded name of a member; "" for an array element, the root and kAbsent.
  [[nodiscard]] std::string name(NodeId id) const;

  /// find along a path from `from`.
  template <typename... Keys>
  [[nodiscard]] NodeId path(NodeId from, Key key, Keys... more) const {
    const NodeId next = find(from, key);
    if constexpr (sizeof...(more) == 0) {
      return next;
    } else {
      return path(next, more...);
    }
  }

  /// The raw JSON text of a value, "" for kAbsent.
  [[nodiscard]] std::string_view raw(NodeId id) const {
    return id == kAbsent ? std::string_view{} : between(nodes_[id].begin, nodes_[id].end);
  }

  /// A string's bytes between the quotes, escapes not decoded; "" when it is no string.
  [[nodiscard]] std::string_view raw_string(NodeId id) const {
    return is(id, Kind::kString) ? between(nodes_[id].begin + 1, nodes_[id].end - 1)
                                 : std::string_view{};
  }

  /// Appends the decoded string (valid UTF-8; "\u0000" becomes a zero byte). Nothing when it is no
  /// string. A lone surrogate escape is a syntax error of the walk.
  void append_string(NodeId id, std::string& out) const;
  [[nodiscard]] std::string string(NodeId id) const;

  /// Whether a value is the string `text` (decoded).
  [[nodiscard]] bool equals(NodeId id, std::string_view text) const;

  /// A number written as a whole number that fits: "3", "3.0", "3e0" are 3; nullopt otherwise and
  /// for other kinds.
  [[nodiscard]] std::optional<int64_t> integer(NodeId id) const;

  /// Dotted path of a node from the root, as errors name it: "imp[0].banner.w"; "" for the root.
  [[nodiscard]] std::string path_of(NodeId id) const;

  /// The children of a node, for range-for.
  class Children {
   public:
    class Iterator {
     public:
      Iterator(const Document& document, NodeId at) : document_(&document), at_(at) {}

      NodeId operator*() const { return at_; }

      Iterator& operator++() {
        at_ = document_->nodes_[at_].next;
        return *this;
      }

      bool operator!=(const Iterator& other) const { return at_ != other.at_; }

     private:
      const Document* document_;
      NodeId at_;
    };

    Children(const Document& document, NodeId first) : document_(&document), first_(first) {}

    [[nodiscard]] Iterator begin() const { return {*document_, first_}; }

    [[nodiscard]] Iterator end() const { return {*document_, kAbsent}; }

   private:
    const Document* document_;
    NodeId first_;
  };

  [[nodiscard]] Children children(NodeId id) const { return {*this, first_child(id)}; }

 private:
  struct Walker;
  struct Scratch;

  /// Whether a member's decoded name is `name`.
  [[nodiscard]] bool is_named(NodeId id, std::string_view name) const;

  [[nodiscard]] std::string_view between(uint32_t begin, uint32_t end) const {
    return {text_.data() + begin, end - begin};
  }

  std::string_view text_;
  std::vector<Node> nodes_;  ///< The table and, behind it, memory of earlier walks.
  size_t size_ = 0;
  size_t max_nodes_;
  size_t failed_at_ = 0;
  std::unique_ptr<Scratch> scratch_;  ///< Of walks that meet names outside the key list.
};

/// The JSON string literal of `text`, quotes included: escapes what must be and nothing else
/// (`<`, `>`, `&`, `/` stay). `text` must be valid UTF-8.
void append_json_string(std::string& out, std::string_view text);

/// The same as a string of its own.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace spillway::openrtb
