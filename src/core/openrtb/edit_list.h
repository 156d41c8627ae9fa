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
/// Edits of disjoint values commute; an edit inside a removed or replaced value is ignored. Commas
/// are looked after. One thread owns it. Memory: one entry and its text an edit.
class EditList {
 public:
  explicit EditList(const Document& document) : document_(&document) {}

  /// Starts over for `document`; keeps memory.
  void reset(const Document& document);

  /// Replaces a value by raw JSON.
  void replace(NodeId value, std::string_view json);

  /// Removes a member or an array element.
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
  struct Edit {
    uint32_t begin;
    uint32_t end;
    uint32_t order;
    uint32_t text_begin;
    uint32_t text_length;
  };

  const Document* document_;
  std::vector<Edit> edits_;
  std::string text_;
  std::vector<std::string_view> pieces_;
};

}  // namespace spillway::openrtb
