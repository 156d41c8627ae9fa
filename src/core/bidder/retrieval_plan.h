#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bidder/facts.h"
#include "bidder/targeting_index.h"

namespace spillway::bidder {

/// How many line items one dimension took that those before it had left.
struct Drop {
  std::string_view dimension = {};  ///< "country", "radius", "offer" …
  size_t line_items = 0;

  bool operator==(const Drop&) const = default;
};

/// Bits that are set.
[[nodiscard]] size_t count_bits(std::span<const uint64_t> bits);

/// The postings that decide which line items match a request (or an imp), dimension by dimension,
/// and where each stands in one pass over the blocks, from the first to the last. Scratch: cleared
/// and filled for every request, keeping its memory.
class RetrievalPlan {
 public:
  explicit RetrievalPlan(const TargetingIndex* index = nullptr) : index_(index) {}

  void clear(const TargetingIndex& index);

  /// What a request asks of every line item. Segments last: they cost most.
  void add_request(const RequestFacts& facts);

  /// One dimension with one value; "" is unknown.
  void add(Dimension dimension, std::string_view value);

  /// Values are gathered with want(), then make one term: one in `include` suffices, one in
  /// `exclude` drops. Not `known`: nothing that restricts the dimension matches.
  void want(Dimension dimension, std::string_view value);
  void want(Dimension dimension, uint32_t value);
  void add_wanted(Dimension dimension, bool known);

  /// The same, but line items without lists do not match.
  void add_strict(Dimension dimension);

  /// The same, but one value that is allowed suffices.
  void add_any(Dimension dimension);

  /// Line items of any of these postings; null ones are skipped.
  void want_posting(const Posting* posting);
  void add_postings();

  /// Takes from `bits` what does not match in block `block` of `words` words, which are as many as
  /// the block has. Blocks in ascending order, some left out if need be.
  void apply(size_t block, std::span<uint64_t> bits);

  /// The same, and adds to `drops` how many line items each dimension took, in order of the
  /// dimensions; for explanations.
  void count(size_t block, std::span<uint64_t> bits, std::vector<Drop>& drops);

 private:
  /// A posting, and for a sparse one what of it is still ahead.
  struct Cursor {
    const uint64_t* words = nullptr;
    const uint32_t* at = nullptr;
    const uint32_t* end = nullptr;
  };

  enum class Rule : uint8_t {
    kOpen,      ///< Unknown: only line items without lists.
    kLists,     ///< Known.
    kDegraded,  ///< Partly known: and none that excludes anybody.
    kStrict,    ///< Known: and none without lists.
    kAny,       ///< One value suffices: include and exclude cursors go in pairs.
    kPostings,  ///< The include cursors alone.
  };

  struct Term {
    const DimensionIndex* index = nullptr;
    Rule rule = Rule::kOpen;
    uint32_t include = 0;  ///< First cursor.
    uint32_t exclude = 0;  ///< First cursor behind those of include.
    uint32_t end = 0;
    std::string_view name = {};  ///< Of the dimension.
  };

  void add_segments(const RequestFacts& facts);
  void add_radii(const GeoFacts& geo);
  void bound_wanted(const DimensionIndex& index);
  void add_term(std::string_view name, const DimensionIndex& index, Rule rule);
  void push_wanted(const std::vector<Posting>& postings);
  void push(const Posting& posting);
  void apply(const Term& term, size_t first, std::span<uint64_t> bits);
  void unite_all(std::span<Cursor> cursors, size_t first, std::span<uint64_t> bits);
  void unite(Cursor& cursor, size_t first, std::span<uint64_t> bits);
  void subtract(Cursor& cursor, size_t first, std::span<uint64_t> bits);

  const TargetingIndex* index_ = nullptr;
  std::vector<Term> terms_;
  std::vector<Cursor> cursors_;
  std::vector<uint32_t> wanted_;  ///< Values found in the catalog; kNoValue for those not.
  std::vector<const Posting*> postings_;
  std::vector<uint32_t> inside_;   ///< Line items with the point in a circle,
  std::vector<uint32_t> outside_;  ///< in one to keep out of.
};

}  // namespace spillway::bidder
