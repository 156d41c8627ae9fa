#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "openrtb/document.h"

namespace spillway::openrtb {

/// Changes to a document's bytes: replace, remove or add members, without re-serialising the rest.
/// Unknown fields, big numbers and number spellings pass byte for byte.
///
/// Edits of disjoint values commute; an edit inside a removed or replaced value is ignored; of
/// several edits of one value or one new member the last wins. Edits of kAbsent, members of what is
/// no object and elements of what is no array are ignored. Commas are looked after. Raw JSON that
/// is passed in must be one valid value. One thread owns it. Memory: one entry and its text an
/// edit.
class EditList {
 public:
  explicit EditList(const Document& document) : document_(&document) {}

  /// Starts over for `document`; keeps memory.
  void reset(const Document& document);

  /// Replaces a value by raw JSON.
  void replace(NodeId value, std::string_view json);

  /// Removes a member or an array element. The root stays.
  void remove(NodeId value);

  /// Sets a member of an object: replaces it if it is there (a null too), else adds it at the end.
  void set(NodeId object, Key key, std::string_view json);
  void set(NodeId object, std::string_view key, std::string_view json);

  /// Appends an element to an array.
  void append(NodeId array, std::string_view json);

  /// The edited document as pieces, in order; views into the document and into this list, valid
  /// until either changes. Empty edits give one piece.
  [[nodiscard]] const std::vector<std::string_view>& pieces();

  /// The pieces joined.
  [[nodiscard]] std::string bytes();

 private:
  enum class Op : uint8_t { kReplace, kRemove, kAdd };

  struct Edit {
    NodeId node;  ///< The value; the container for kAdd.
    uint32_t order;
    uint32_t text_begin;
    uint32_t text_length;
    uint32_t key_length;  ///< kAdd of a member: bytes of `"key":`.
    Op op;
  };

  /// Bytes of the document to leave out, and what stands in their place.
  struct Patch {
    uint32_t begin;
    uint32_t end;
    std::string_view text;
    uint32_t order = 0;
    bool comma = false;  ///< Before the text.
  };

  void add_edit(NodeId node, Op op, std::string_view key_literal, std::string_view json);
  void add_member(NodeId object, std::string_view name, std::string_view json);
  void collect_values();
  void collect_removals();
  void collect_additions();
  [[nodiscard]] std::string_view text_of(const Edit& edit) const;

  const Document* document_;
  std::vector<Edit> edits_;
  std::string text_;
  std::string key_literal_;
  std::vector<NodeId> removed_;
  std::vector<Patch> patches_;
  std::vector<std::string_view> pieces_;
};

}  // namespace spillway::openrtb
