#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {

/// Names from an object down to one of its members: {user, ext, eids}.
class Path {
 public:
  static constexpr size_t kLongest = 4;

  Path() = default;

  /// At most kLongest names; further ones are dropped.
  constexpr Path(std::initializer_list<Key> keys) {
    for (const Key key : keys) {
      *this = then(key);
    }
  }

  [[nodiscard]] constexpr size_t size() const { return size_; }

  [[nodiscard]] constexpr Key operator[](size_t i) const {
    return static_cast<Key>(keys_ >> (16 * i) & 0xffff);
  }

  [[nodiscard]] constexpr Path then(Key key) const {
    Path longer = *this;
    if (size_ < kLongest) {
      longer.keys_ |= static_cast<uint64_t>(key) << (16 * longer.size_++);
    }
    return longer;
  }

  /// Whether this path begins with all names of `other`.
  [[nodiscard]] constexpr bool begins_with(const Path& other) const {
    const uint64_t mask =
        other.size_ == kLongest ? ~uint64_t{0} : (uint64_t{1} << (16 * other.size_)) - 1;
    return ((keys_ ^ other.keys_) & mask) == 0;  // No name is numbered 0.
  }

  bool operator==(const Path&) const = default;

 private:
  uint64_t keys_ = 0;  ///< 16 bits a name, the first lowest: comparing is one step.
  size_t size_ = 0;
};

/// One change, as a value: what it names, and the raw JSON to stand there; empty JSON removes.
struct PathEdit {
  Path path;
  std::string json;

  bool operator==(const PathEdit&) const = default;
};

/// Changes to an object's members by name, whether they or the objects around them are there or
/// not: objects that are missing are made, objects that removals empty are removed. Of several
/// words about one path the last counts, and a word about an object covers all inside it, in
/// whatever order they came.
///
/// One thread owns it. Memory: one entry and its text an edit, kept. Cost: quadratic in the number
/// of edits, which is small.
class PathEdits {
 public:
  /// Starts over; keeps memory.
  void clear();

  /// `json` must be one valid value; it is copied.
  void set(const Path& path, std::string_view json);
  void remove(const Path& path);
  void add(const PathEdit& edit);

  /// Whether something was said about exactly this path, and what: empty for a removal.
  [[nodiscard]] bool says(const Path& path) const { return find(path) != nullptr; }

  [[nodiscard]] std::string_view said(const Path& path) const;

  /// Writes them as edits of `object`. The object itself stays, however empty.
  void apply(const Document& document, NodeId object, EditList& out) const;

 private:
  struct Entry {
    Path path;
    uint32_t begin = 0;
    uint32_t length = 0;  ///< 0: removed.
  };

  void add_entry(const Path& path, std::string_view json);
  [[nodiscard]] const Entry* find(const Path& path) const;
  [[nodiscard]] std::string_view text_of(const Entry& entry) const;
  [[nodiscard]] bool is_first_inside(size_t entry, const Path& prefix) const;
  bool apply_inside(const Document& document, NodeId object, const Path& prefix,
                    EditList& out) const;
  [[nodiscard]] std::string compose(const Path& prefix) const;

  std::vector<Entry> entries_;
  std::string text_;
};

}  // namespace spillway::openrtb
