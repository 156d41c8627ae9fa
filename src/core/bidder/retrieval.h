#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bidder/catalog.h"
#include "bidder/creative_fit.h"
#include "bidder/facts.h"

namespace spillway::bidder {

/// A line item that may serve an imp, with the creative that would.
struct Candidate {
  uint32_t item = 0;      ///< In Catalog::items(): smaller is worth more.
  uint32_t creative = 0;  ///< In Catalog::creatives().
  /// The deal it would be bought under, in ImpFacts::deals; kNoDeal for the open auction.
  uint32_t deal = kNoDeal;

  static constexpr uint32_t kNoDeal = 0xffffffff;

  bool operator==(const Candidate&) const = default;
};

/// Finds the line items that may serve the imps of a request, best first: the scratch of one
/// worker, reused for every request. A line item matches when every dimension does: AND between
/// dimensions, OR within a list. Of several values of a request (segments, categories, domains with
/// their parents, deals, positions) one in `include` suffices and one in `exclude` drops; of media
/// and sizes one must be allowed, and the creative must be for that one. Unknown values match
/// nothing that restricts their dimension. A private auction takes only line items that include one
/// of its deals.
///
///     retrieval.begin(catalog, facts, now_unix_s);
///     for each imp:
///       retrieval.begin_imp(imp);
///       while (n = retrieval.next(candidates)) ...   // the next best; stop when there are enough
///
/// One thread owns it. `catalog` and `facts` must outlive the request, and facts must not change
/// within it. After warm-up (the first requests on a catalog of this size) nothing is allocated.
/// What the clock decides (flights, day parts) is worked out anew only when the time comes at which
/// some line item begins or ends: a pass over all, about 5 ns each.
class Retrieval {
 public:
  /// Begins a request.
  void begin(const Catalog& catalog, const RequestFacts& facts, int64_t now_unix_s);

  /// Begins an imp of it, by position; any order, any number of times.
  void begin_imp(size_t imp);

  /// The next best candidates of the imp, at most one of each line item; fewer than asked for means
  /// that there are no more. Of several creatives that fit, the request's id chooses.
  [[nodiscard]] size_t next(std::span<Candidate> out);

  /// What was dropped since begin_imp, as far as next() has looked, by the last reason of the line
  /// item's creatives.
  [[nodiscard]] const MisfitCounts& dropped() const { return dropped_; }

  /// Line items that matched since begin_imp, as far as next() has looked, fitting or not.
  [[nodiscard]] size_t matched() const { return matched_; }

  /// All creatives of a candidate's line item that fit the imp that was begun last, by position in
  /// Catalog::creatives(); as many as `out` takes.
  [[nodiscard]] size_t fitting(uint32_t item, std::span<uint32_t> out);

 private:
  /// Where a posting stands in the pass over the blocks.
  struct Cursor {
    const uint64_t* words = nullptr;  ///< Dense; else
    const uint32_t* at = nullptr;
    const uint32_t* end = nullptr;
  };

  /// One dimension of one request: which postings decide.
  struct Term {
    const DimensionIndex* index = nullptr;
    uint32_t include_begin = 0, include_end = 0;  ///< In cursors.
    uint32_t exclude_begin = 0, exclude_end = 0;
    bool known = false;
    bool degraded = false;  ///< Nothing that excludes anybody.
    bool open = true;       ///< Line items without lists match.
  };

  struct Plan {
    std::vector<Term> terms;
    std::vector<Cursor> cursors;

    void clear() {
      terms.clear();
      cursors.clear();
    }
  };

  class Planner;

  void plan_request();
  void plan_imp();
  void refresh_active(int64_t now_unix_s);
  void evaluate(Plan& plan, size_t block, uint64_t* bits);
  void apply(Plan& plan, const Term& term, size_t block, uint64_t* bits);
  bool load_block(size_t block);
  [[nodiscard]] std::optional<Candidate> consider(uint32_t item);
  [[nodiscard]] Misfit advertiser(uint32_t advertiser);
  [[nodiscard]] uint32_t deal_of(uint32_t item) const;

  const Catalog* catalog_ = nullptr;
  uint64_t version_ = 0;
  const RequestFacts* facts_ = nullptr;
  const ImpFacts* imp_ = nullptr;
  uint64_t rotation_ = 0;

  std::vector<uint64_t> active_;  ///< Line items in flight and in their hours,
  int64_t active_from_s_ = 0;     ///< from here
  int64_t active_until_s_ = 0;    ///< to before here.

  Plan request_;
  std::vector<uint64_t> request_bits_;  ///< Blocks of the request alone, as far as worked out.
  size_t request_blocks_ = 0;
  Plan imp_plan_;
  std::vector<uint64_t> block_bits_;
  size_t block_ = 0;  ///< The next to load.
  size_t word_ = 0;   ///< Within the one that is loaded.
  size_t block_words_ = 0;
  std::vector<uint32_t> inside_;   ///< Line items with the point in a circle,
  std::vector<uint32_t> outside_;  ///< in one to keep out of.
  std::vector<uint32_t> judged_;   ///< Advertiser: request in which it was judged,
  std::vector<Misfit> verdicts_;   ///< and how.
  uint32_t request_number_ = 0;
  MisfitCounts dropped_{};
  size_t matched_ = 0;
};

}  // namespace spillway::bidder
