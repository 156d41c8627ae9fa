#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bidder/catalog.h"
#include "bidder/creative_fit.h"
#include "bidder/facts.h"
#include "bidder/in_flight.h"
#include "bidder/retrieval_plan.h"

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

/// What became of every line item for one imp, for people: each is counted once, at the first thing
/// that dropped it.
struct Explanation {
  std::vector<Drop> drops;  ///< "flight" (or hours), then the dimensions in order, then "offer".
  MisfitCounts misfits{};   ///< Of those that matched.
  size_t candidates = 0;    ///< What is left.
};

/// Finds the line items that may serve the imps of a request, best first: the scratch of one
/// worker, reused for every request. A line item matches when every dimension does: AND between
/// dimensions, OR within a list. Of several values of a request (segments, categories and domains
/// with their parents, positions, deals) one in `include` suffices and one in `exclude` drops; of
/// media and sizes one must be allowed, and the creative must be for that one. Unknown values match
/// nothing that restricts their dimension; an imp without deals is known to have none. Deals of
/// other seats are not offered. A private auction takes only line items that include one of its
/// deals; a line item that includes deals serves under the first of them whose wadomain allows it.
///
///     retrieval.begin(catalog, facts, now_unix_s, seat);
///     for each imp:
///       retrieval.begin_imp(imp);
///       while (n = retrieval.next(candidates)) ...   // the next best; stop when there are enough
///
/// One thread owns it. `catalog` and `facts` must outlive the request, and facts must not change
/// within it. After warm-up (the first requests on a catalog of this size) nothing is allocated.
/// What the clock decides (flights, day parts) is looked up in the tables that begin() is given;
/// without one for this time it is worked out anew, once for all requests until some line item
/// begins or ends. Memory: 2 bits a line item.
class Retrieval {
 public:
  /// Begins a request. `seat`: the one that bids, for deals that name seats. `prepared`: tables of
  /// this catalog, for this time or others, null or not; they must outlive the request.
  void begin(const Catalog& catalog, const RequestFacts& facts, int64_t now_unix_s,
             std::string_view seat = {}, std::span<const InFlight* const> prepared = {});

  /// Begins an imp of it, by position; any order, any number of times.
  void begin_imp(size_t imp);

  /// The next best candidates of the imp, at most one of each line item; fewer than asked for means
  /// that there are no more. Of several creatives that fit, the request's id chooses.
  [[nodiscard]] size_t next(std::span<Candidate> out);

  /// Line items that were dropped since begin_imp, as far as next() has looked, by the reason
  /// against their last creative; kOffer: without any for the imp's media and sizes.
  [[nodiscard]] const MisfitCounts& dropped() const { return dropped_; }

  /// Line items that matched since begin_imp, in the blocks next() has looked at, fitting or not.
  [[nodiscard]] size_t matched() const { return matched_; }

  /// The creatives of a line item that fit the imp that was begun last, by position in
  /// Catalog::creatives(); as many as `out` takes. `reason` says why there are none.
  size_t fitting(uint32_t item, std::span<uint32_t> out, Misfit& reason);

  /// What becomes of every line item for one imp of the request. Begins the imp, and ends it. Looks
  /// at all: for requests that ask for it, not for every one. Allocates.
  [[nodiscard]] Explanation explain(size_t imp);

 private:
  [[nodiscard]] const InFlight& in_flight_at(int64_t now_unix_s,
                                             std::span<const InFlight* const> prepared);
  void plan_imp();
  void plan_offers();
  [[nodiscard]] bool load_block();
  [[nodiscard]] size_t take_from_block(std::span<Candidate> out);
  [[nodiscard]] std::optional<Candidate> consider(uint32_t item);
  void block_advertisers();
  void block_foreign_categories();
  void allow_categories();
  std::string_view foreign(std::string_view category);
  void block(std::span<const uint32_t> advertisers, Misfit reason);
  [[nodiscard]] Misfit judge(uint32_t advertiser) const;
  [[nodiscard]] std::optional<uint32_t> deal_of(uint32_t item) const;
  [[nodiscard]] bool is_ours(const DealFacts& deal) const;

  const Catalog* catalog_ = nullptr;
  uint64_t version_ = 0;
  const RequestFacts* facts_ = nullptr;
  const ImpFacts* imp_ = nullptr;
  std::string_view seat_;
  uint64_t id_hash_ = 0;  ///< Of the request's id.

  std::span<const uint64_t> active_;  ///< Line items in flight and in their hours.
  InFlight own_in_flight_;            ///< For when nobody has prepared it.

  RetrievalPlan request_plan_;
  std::vector<uint64_t> request_bits_;  ///< What matches the request, in blocks from the first,
  size_t request_blocks_ = 0;           ///< so many.
  RetrievalPlan imp_plan_;
  RetrievalPlan offer_plan_;
  std::vector<uint64_t> block_bits_;  ///< What is left of the block that is loaded.
  size_t block_ = 0;                  ///< The next to load.
  size_t word_ = 0;                   ///< Within the one that is loaded.

  std::vector<uint32_t> blocked_;  ///< By advertiser: the last request that blocked it,
  std::vector<Misfit> verdicts_;   ///< and why.
  std::vector<uint32_t> allowed_;  ///< The same, that names one of its categories in acat.
  uint32_t request_number_ = 0;
  /// By advertiser, of a request that blocks categories of another taxonomy: whether it is filed in
  /// it. Empty: nobody is.
  std::span<const uint8_t> filed_;
  bool blocks_foreign_ = false;
  std::string category_;        ///< Reused.
  std::vector<uint32_t> fits_;  ///< Creatives of one line item.
  MisfitCounts dropped_{};
  size_t matched_ = 0;
};

}  // namespace spillway::bidder
