#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_result.h"
#include "base/time.h"
#include "exchange/classify.h"
#include "exchange/clearing/bid.h"
#include "exchange/privacy.h"
#include "exchange/shed_levels.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "resilience/guard.h"

namespace spillway::exchange {

struct ClearedNotices;

/// Everything the auction takes from outside at its start.
struct Start {
  base::Instant now{};
  base::Instant time_zero{};          ///< Deadlines count from here.
  int64_t wall_ms = 0;                ///< Since the epoch, for ${AUCTION_IMP_TS}.
  uint64_t seed = 0;                  ///< Ties, shares of traffic.
  ShedLevels shed{};                  ///< By class of account; 2 for all: nothing is read.
  bool has_origin = false;            ///< The caller is a browser: no-bids are 200 JSON.
  bool is_json = true;                ///< False for content types we do not speak (protobuf, avro).
  std::string_view client_address{};  ///< Of the caller, without port or brackets; lives as `body`.
  std::string_view user_agent{};      ///< The caller's header; "" for none; lives as `body`.
  std::string_view body;              ///< openrtb::Document::kPadding readable bytes behind it;
                                      ///< must live until the last on_answer.
};

/// A DSP that qualifies, before its guard was asked.
struct Candidate {
  uint32_t dsp = 0;            ///< Index into Snapshot::dsps.
  uint32_t endpoint = 0;       ///< Index into its endpoints.
  std::vector<uint32_t> imps;  ///< Indices into RequestView::imps it may bid on.
};

/// The guard's word on one candidate, and what the ask needs to know. An input: it is recorded.
struct Verdict {
  uint16_t refusal = 0;           ///< 0: admitted; else a resilience::Refusal, or 525.
  resilience::Terms terms;        ///< Of the permit, when admitted.
  base::Duration network_cost{};  ///< Measured, to take off the tmax announced to this DSP.
};

/// Send these bytes to a DSP.
struct Ask {
  uint32_t candidate = 0;
  base::Instant deadline{};                ///< The whole answer by then; never after the auction's.
  base::Duration announced_tmax{};         ///< Never more than what is left.
  std::span<const std::string_view> body;  ///< Valid until the Auction is reset.
};

enum class ReplyKind : uint8_t { kBid, kHouse, kNoBid, kInvalid, kShed, kUnsupported };

[[nodiscard]] std::string_view to_string(ReplyKind kind);

/// Answer the caller with this.
struct ReplyBytes {
  ReplyKind kind = ReplyKind::kNoBid;
  uint16_t status = 204;
  bool json = false;  ///< Content-Type: application/json.
  std::string body;
  openrtb::NoBid nbr = openrtb::NoBid::kUnknown;
};

/// How a (DSP, imp) ended without the win; the lines of seatnonbid.
struct SeatNonBid {
  uint32_t dsp = 0;
  uint32_t imp = 0;
  openrtb::NonBid code = openrtb::NonBid::kNoBid;
  openrtb::Loss loss = openrtb::Loss::kWon;  ///< Of the best losing bid, when there was one.
};

/// What happened to one candidate, for metrics, log and explain.
struct CandidateReport {
  uint16_t refusal = 0;
  bool asked = false;
  bool answered = false;
  AnswerKind answer = AnswerKind::kNone;
  resilience::Outcome outcome = resilience::Outcome::kNotSent;  ///< When answered.
  uint32_t bids = 0;                                            ///< Received.
  uint32_t bids_valid = 0;
  uint32_t wins = 0;
  base::Duration elapsed{};
};

/// One auction as a pure state machine, fed time and bytes:
///
///   start -> candidates -> (guards are asked) -> admit -> asks -> on_answer* -> finish -> reply
///
/// start may already decide (invalid, shed, too little time): then reply() is there and nothing
/// else is called. finish ends it at any time after admit: unanswered asks count as timeouts.
/// on_answer after finish still classifies, and changes nothing else.
///
/// The same inputs give the same bytes: it is what the recorder replays.
///
/// One thread owns it; reset() keeps its memory for the next auction. Never blocks, never throws.
class Auction {
 public:
  Auction();
  ~Auction();
  Auction(const Auction&) = delete;
  Auction& operator=(const Auction&) = delete;

  /// Forgets all but memory.
  void reset();

  /// Walks, validates and routes. `snapshot` must outlive the auction. Candidates in order of DSP.
  std::span<const Candidate> start(const Snapshot& snapshot, const Start& input);

  /// Whether reply() is ready.
  [[nodiscard]] bool finished() const;

  /// When the auction ends at the latest; valid after start.
  [[nodiscard]] base::Instant deadline() const;

  /// Answers later than this are misses: time zero + clamp(tmax), the margin not subtracted.
  [[nodiscard]] base::Instant miss_after() const;

  /// Hash of the request id: what guards hash for ramps.
  [[nodiscard]] uint64_t request_hash() const;

  /// One verdict a candidate, in the same order. Returns the asks; when nobody is asked the
  /// auction is finished at once. An admitted candidate gets no ask when less than 1 ms is left for
  /// it (its code is 524): settle its permit as not sent. A missing verdict counts as 525.
  std::span<const Ask> admit(base::Instant now, std::span<const Verdict> verdicts);

  /// The end of one asked call. `body` is copied, needs no padding, and lives until this returns.
  /// Returns its outcome, for the permit. Candidates that were not asked, or answered already, are
  /// classified and change nothing.
  resilience::Outcome on_answer(base::Instant now, uint32_t candidate,
                                const base::CallResult& result, std::string_view body);

  /// Whether all asked have answered: finish early.
  [[nodiscard]] bool all_answered() const;

  void finish(base::Instant now);

  [[nodiscard]] const ReplyBytes& reply() const;
  [[nodiscard]] ReplyBytes take_reply();

  /// The account the request was read for; the default one before that.
  [[nodiscard]] const Account& account() const;

  [[nodiscard]] const openrtb::RequestView& request() const;
  [[nodiscard]] std::span<const Candidate> candidates() const;
  [[nodiscard]] const CandidateReport& report(uint32_t candidate) const;

  /// What privacy lets each DSP of the snapshot be sent; valid after start, empty when it did not
  /// come to routing.
  [[nodiscard]] std::span<const PrivacyDecision> privacy() const;

  /// All bids of all answers, judged; valid after finish.
  [[nodiscard]] std::span<const clearing::Bid* const> bids() const;
  [[nodiscard]] std::span<const clearing::Cleared> cleared() const;

  /// What is to be told to the DSPs, and what waits for the caller's word; valid after finish.
  void list_notices(ClearedNotices& out) const;

  /// A reason for every (DSP, imp) of the configuration that did not win; valid after finish.
  [[nodiscard]] std::vector<SeatNonBid> seat_non_bids() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace spillway::exchange
