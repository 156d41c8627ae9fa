#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/rates.h"
#include "base/time.h"
#include "bidder/caps/key_set.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/table.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/in_flight.h"
#include "bidder/notice.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pricing.h"
#include "bidder/response.h"
#include "bidder/retrieval.h"
#include "bidder/scoring/cascade.h"
#include "bidder/scoring/feature_rows.h"
#include "bidder/scoring/model_set.h"
#include "bidder/stages.h"
#include "openrtb/consent/privacy.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::bidder {

/// An exchange that sends requests, as the pipeline needs it.
struct ExchangeTerms {
  std::string name;
  std::string seat;  ///< Ours there; empty: none, and wseat is not looked at.
};

/// Defaults, units and ranges of docs/configuration.md, `pipeline` and `privacy`.
struct PipelineSettings {
  base::Duration deadline = std::chrono::milliseconds(40);
  base::Duration network_margin = std::chrono::milliseconds(10);
  base::Duration tmax_default = std::chrono::milliseconds(100);
  /// For segments and for caps: what has not come by then is done without.
  base::Duration ask_timeout = std::chrono::milliseconds(10);
  /// Of each stage: longer ones are counted. Waiting counts.
  std::array<base::Duration, kStages> budgets{};
  uint32_t candidates = 64;  ///< Retrieved for an imp, and scored.
  uint32_t contenders = 16;  ///< Of them the best, that go on to caps and price.
  uint32_t rounds = 3;       ///< Retrieved again while an imp has none left.
  base::Duration bid_lifetime = std::chrono::minutes(10);  ///< bid.exp: to its impression.
  base::Duration notice_lifetime = std::chrono::hours(1);  ///< Until its notices are refused.
  openrtb::RequestPolicy request;
  openrtb::consent::PrivacyPolicy privacy;
  uint32_t gvl_id = 0;
  bool legitimate_interest = false;

  PipelineSettings();
};

/// Finds the place of an address that a request does not tell itself; false: unknown.
struct GeoHook {
  using Call = bool (*)(const void* context, std::string_view address, GeoFacts& out);
  Call call = nullptr;
  const void* context = nullptr;
};

/// What a worker reuses from request to request; none of it is kept across an Ask.
struct Scratch {
  explicit Scratch(size_t most_candidates) : scores(most_candidates) {}

  Retrieval retrieval;
  ScoreBatch scores;
  FeatureRows rows;
};

/// Under what a request is decided. All of it outlives the request.
struct World {
  const PipelineSettings* settings = nullptr;
  std::span<const ExchangeTerms> exchanges;
  const Catalog* catalog = nullptr;
  std::array<const InFlight*, 2> in_flight{};  ///< Of it: now's and the next; null: none made.
  std::span<const CampaignTerms> terms;        ///< By Catalog::campaigns().
  const ModelSet* models = nullptr;
  const base::Rates* rates = nullptr;
  const NoticeSigner* signer = nullptr;  ///< Null: bids name no notice addresses.
  caps::CapTable* caps = nullptr;
  Grant* grant = nullptr;
  Pacer* pacer = nullptr;      ///< The worker's.
  Scratch* scratch = nullptr;  ///< The worker's.
  GeoHook geo;
  Shading shading;
  bool asks_segments = false;  ///< There is a store of segments,
  bool asks_caps = false;      ///< and one of counts.
};

/// One request, as it comes in.
struct Start {
  base::Instant now;
  base::Instant time_zero;  ///< Of its first byte.
  int64_t unix_s = 0;
  uint64_t bid_key = 0;   ///< Unique in this process and the next ones: bids' keys follow from it.
  bool shed = false;      ///< There is no capacity for it.
  bool debug = false;     ///< Answer with nbr and ext.explain.
  size_t exchange = 0;    ///< Index into World::exchanges.
  std::string_view body;  ///< With Document::kPadding readable bytes; outlives the request.
};

/// What the pipeline needs to know before it goes on.
struct Ask {
  enum class What : uint8_t { kSegments, kCounts };

  What what = What::kSegments;
  caps::UserHash user;
  std::span<const caps::CapKey> keys;  ///< Of kCounts: each once. Valid until answered.
  base::Instant until;                 ///< Then say that it could not be asked.
};

/// A candidate on its way through the stages.
struct Contender {
  Candidate candidate;
  uint32_t imp = 0;
  DropReason drop = DropReason::kNone;
  std::optional<CapSkip> skipped;
  uint32_t limits = 0;  ///< Where its caps begin,
  uint32_t limit_count = 0;
  double probability = 0;
  base::Cpm worth;  ///< To its advertiser, in a currency all have in common: for order alone.
  Price price;
};

/// One request on its way to an answer. Driven from outside: each step runs one stage and is told
/// the time, so that stages are timed without a clock of their own and every decision replays.
///
///     pipeline.begin(world, start);
///     while ((next = pipeline.step(now)) != Next::kDone)
///       if (next == Next::kAsk) ... later on_segments() or on_counts(), then step() again
///
/// Whatever happens to a request, its money and its places under caps are given back unless a bid
/// went out: the destructor, begin() and abandon() see to it.
///
/// One thread. Reused: after warm-up nothing is allocated, but for what is explained, what is wrong
/// with a request, and consent strings in JSON escapes. Memory: the document's nodes, imps ×
/// contenders and the answer.
class Pipeline {
 public:
  enum class Next : uint8_t { kMore, kAsk, kDone };

  explicit Pipeline(PipelineStats& stats);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline();

  void begin(const World& world, const Start& start);

  /// Runs the next stage. Not to be called while an Ask is open.
  Next step(base::Instant now);

  /// What is asked; valid after kAsk.
  [[nodiscard]] const Ask& ask() const { return ask_; }

  /// The answers to an Ask; kCouldNotAsk and nullopt when there was none in time. `counts` in the
  /// order of Ask::keys. Views need not live longer than the call.
  void on_segments(const caps::Segments& segments);
  void on_counts(std::optional<std::span<const caps::CapCounts>> counts);

  /// The caller has gone: gives everything back.
  void abandon();

  /// When the answer must have been made.
  [[nodiscard]] base::Instant deadline() const { return deadline_; }

  /// Time zero plus tmax: an answer after it is a miss.
  [[nodiscard]] base::Instant tmax_at() const { return tmax_at_; }

  /// After kDone.
  [[nodiscard]] NoBidReason reason() const { return reason_; }

  /// Of kInvalid.
  [[nodiscard]] const openrtb::FieldError& error() const { return error_; }

  /// The answer's bytes: a bid response, or with debug a no-bid; empty: 204.
  [[nodiscard]] const std::string& body() const { return body_; }

  [[nodiscard]] size_t bids() const { return chosen_.size(); }

  /// The bids of the answer, valid as long as the request's body and until begin().
  [[nodiscard]] std::span<const BidToWrite> sent() const {
    return chosen_.empty() ? std::span<const BidToWrite>{} : to_write_;
  }

  /// Who asked.
  [[nodiscard]] const ExchangeTerms& exchange() const { return world_.exchanges[start_.exchange]; }

  /// The request's id; with sent().
  [[nodiscard]] std::string_view request_id() const { return view_.id; }

  /// Whose models scored it.
  [[nodiscard]] Arm arm() const { return arm_; }

  /// For tests and explanations: every contender of the last round, with why it was dropped.
  [[nodiscard]] std::span<const Contender> contenders() const { return contenders_; }

  [[nodiscard]] const RequestFacts& facts() const { return facts_; }

 private:
  friend class ExplanationWriter;

  /// A bid in the making: what it holds is given back by release_all() unless it is sent.
  struct Chosen {
    uint32_t contender = 0;
    caps::CapHold hold = 0;
    bool holds_caps = false;
    Reservation money;
    uint64_t key = 0;
  };

  enum class Step : uint8_t {
    kValidate,
    kShed,
    kEnrich,
    kEnriched,
    kRetrieve,
    kScore,
    kCap,
    kCapped,
    kPace,
    kPrice,
    kChoose,
    kBuild,
    kDone
  };

  [[nodiscard]] static Stage stage_of(Step step);
  void run(Step step, base::Instant now);
  void settle_time(base::Instant now);
  void end(NoBidReason reason);
  void drop(Contender& contender, DropReason why);

  // validate, shed, enrich: pipeline_request.cc
  void validate();
  void read_times();
  [[nodiscard]] bool seat_is_blocked() const;
  [[nodiscard]] bool demands_transparency() const;
  void enrich(base::Instant now);
  [[nodiscard]] bool obey_privacy();
  void find_place();
  void find_user();

  // retrieve, score: pipeline_candidates.cc
  void retrieve();
  void retrieve_imp(uint32_t imp);
  void score();
  [[nodiscard]] base::Cpm reached(const CampaignTerms& terms) const;
  void weigh(Contender& contender, std::optional<double> probability);
  void keep_best();

  // cap, pace: pipeline_limits.cc
  void cap(base::Instant now);
  void list_limits(Contender& contender);
  void capped();
  void look_up_caps();
  void judge_caps(Contender& contender);
  [[nodiscard]] std::span<const caps::CapLimit> limits_of(const Contender& contender) const;
  [[nodiscard]] std::span<const uint8_t> allowed_of(const Contender& contender) const;
  [[nodiscard]] std::span<const caps::CapCounts> known_of(const Contender& contender) const;
  void pace(base::Instant now);
  [[nodiscard]] BudgetTime budget_time(const Contender& contender, base::Instant now) const;

  // price, choose, build: pipeline_choice.cc
  void price();
  void choose_currency();
  void price_one(Contender& contender);
  void choose(base::Instant now);
  void choose_imp(uint32_t imp, base::Instant now);
  [[nodiscard]] DropReason secure(uint32_t index, base::Instant now);
  [[nodiscard]] bool begin_next_round();
  [[nodiscard]] NoBidReason why_none() const;
  void build(base::Instant now);
  [[nodiscard]] bool send_money(base::Instant now);
  void list_bids();
  void give_back(Chosen& chosen);
  void release_all();

  [[nodiscard]] const Campaign& campaign_of(const Contender& contender) const;
  [[nodiscard]] const CampaignTerms& terms_of(const Contender& contender) const;

  PipelineStats& stats_;
  World world_;
  Start start_;

  Step next_ = Step::kDone;
  std::optional<Stage> running_;  ///< The stage whose time is being taken,
  base::Instant stage_began_{};   ///< and since when.
  base::Instant deadline_{};
  base::Instant tmax_at_{};
  NoBidReason reason_ = NoBidReason::kNone;
  openrtb::FieldError error_;

  openrtb::Document document_;
  openrtb::RequestView view_;
  RequestFacts facts_;
  openrtb::consent::PrivacyDecision privacy_;
  std::optional<caps::UserHash> user_;
  Arm arm_ = Arm::kControl;
  bool explains_ = false;

  Ask ask_;
  bool asking_ = false;
  size_t keys_asked_ = 0;
  std::vector<Candidate> found_;       ///< Of one imp.
  std::vector<Contender> contenders_;  ///< Of all rounds, one after the other.
  size_t round_begin_ = 0;             ///< Where this round's begin.
  uint32_t round_ = 0;

  /// Where an imp stands.
  struct Slot {
    uint32_t looked_at = 0;  ///< Candidates of it so far.
    bool exhausted = false;  ///< There are no more.
    bool filled = false;     ///< It has its bid.
  };

  std::vector<Slot> slots_;
  std::vector<uint32_t> batch_;  ///< Contenders by their place in the batch.
  /// Contenders of one imp: minus their worth, and which.
  std::vector<std::pair<int64_t, uint32_t>> ranked_;
  MisfitCounts misfits_{};

  std::vector<caps::CapLimit> limits_;   ///< Of all contenders, one after the other,
  std::vector<caps::CapCounts> known_;   ///< and what is known of each.
  std::vector<uint8_t> allowed_;         ///< Whether each has a place left.
  std::vector<uint32_t> limit_key_;      ///< Their numbers in keys_.
  caps::KeySet keys_;                    ///< Each once.
  std::vector<caps::CapCounts> counts_;  ///< Of keys_; fewer: could not be read.
  bool counts_unread_ = false;
  std::vector<caps::CapKey> given_back_;

  base::Currency currency_;
  std::vector<uint32_t> order_;
  std::vector<Chosen> chosen_;
  std::vector<BidToWrite> to_write_;
  WriterMemory writer_;
  std::string body_;
  std::string explain_;
};

}  // namespace spillway::bidder
