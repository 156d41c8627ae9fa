#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "bidder/pacing/grant.h"

namespace spillway::bidder {

class Accounts;
class OpenBids;
struct OpenBid;

/// Defaults, units and ranges of docs/configuration.md, `budget`.
struct LocalGrantSettings {
  uint32_t accounts = 131'072;   ///< Campaigns at once; 1 to 4 million; about 200 bytes each.
  uint32_t open_bids = 262'144;  ///< Bids that wait for a notice; 64 to 16 million; 64 bytes each.
  base::Duration open_for = std::chrono::minutes(2);  ///< Then a bid counts as lost; 1 s to 1 d.
};

/// What is wrong with settings, one sentence each; empty: nothing.
[[nodiscard]] std::vector<std::string> validate(const LocalGrantSettings& settings);

/// A campaign's budget, as the catalog has it.
struct CampaignBudget {
  int64_t campaign = 0;
  base::Money daily;     ///< 0: no limit.
  base::Money lifetime;  ///< 0: no limit.
};

/// Spend that another life of the process knew.
struct Spent {
  int64_t campaign = 0;
  int64_t day = 0;  ///< As BudgetTime::day().
  base::Money on_day;
  base::Money ever;
};

/// The whole budget, held in this process: what a lone bidder uses. Strict: at every instant, for
/// every campaign and every day, budget = spent + open + available, and nothing is reserved that is
/// not available. What is spent belongs to the day on which it was reserved; each day of the
/// advertiser's calendar has its budget once, however the wall clock steps. It remembers the
/// newest three days of each campaign, and forgets everything when the process ends unless
/// `spent()` is stored and handed to `restore()`.
///
/// Thread rule: refresh(), restore() and expire() by one thread at a time; the rest by any. Memory:
/// both tables are made at construction and never grow.
class LocalGrant final : public Grant {
 public:
  explicit LocalGrant(const LocalGrantSettings& settings);
  ~LocalGrant() override;

  /// Takes budgets of a new catalog. Spend stays what it was. Campaigns that are gone have
  /// no money any more; they are kept while they have open bids or a lifetime budget, or spent
  /// something in the last days, and then forgotten. The number of campaigns that found no room:
  /// they do not bid.
  size_t refresh(std::span<const CampaignBudget> budgets, int64_t now_unix_s);

  /// Raises spend to what an earlier process knew; campaigns that are not known are skipped. Call
  /// it after the first refresh(), before the first reservation.
  void restore(std::span<const Spent> spent);

  /// Every campaign that has spent something, each of its days.
  [[nodiscard]] std::vector<Spent> spent() const;

  /// Gives back bids that had no notice in time, at most `most` of them. How many were.
  size_t expire(base::Instant now, size_t most = 4096);

  [[nodiscard]] base::Result<Reservation, ReserveErrc> try_reserve(int64_t campaign,
                                                                   base::Money amount,
                                                                   const BudgetTime& at) override;
  SettleOutcome settle(uint64_t key, base::Money paid) override;
  SettleOutcome lose(uint64_t key) override;
  SettleOutcome charge_unknown(uint64_t key, int64_t campaign, base::Money paid,
                               const BudgetTime& at) override;
  [[nodiscard]] Balance balance(int64_t campaign, const BudgetTime& at) const override;

  /// Totals since construction, any thread, relaxed.
  struct Counts {
    std::array<uint64_t, kReserveErrcs> refused{};    ///< By ReserveErrc.
    std::array<uint64_t, kSettleOutcomes> settled{};  ///< Notices by SettleOutcome.
    uint64_t reserved = 0;
    uint64_t cancelled = 0;         ///< Given back before the bid went out.
    uint64_t expired = 0;           ///< Given back for want of a notice.
    int64_t overcharged_nanos = 0;  ///< Of prices above what was reserved; never charged.
    int64_t unfunded_nanos = 0;     ///< Of late wins for which nothing was available.
    uint64_t accounts = 0;
    uint64_t open_bids = 0;
  };

  [[nodiscard]] Counts counts() const;

 private:
  void cancel(uint32_t account, int64_t day, base::Money amount) noexcept override;
  [[nodiscard]] base::Result<void, ReserveErrc> submit(uint32_t account, int64_t day,
                                                       base::Money amount, uint64_t key,
                                                       base::Instant now) override;

  struct Counters;

  SettleOutcome count(SettleOutcome outcome);
  SettleOutcome count_late(int64_t wanted_nanos, int64_t taken_nanos);
  void give_back(const OpenBid& bid);
  base::Result<Reservation, ReserveErrc> refuse(ReserveErrc error);

  base::Duration open_for_;
  std::unique_ptr<Accounts> accounts_;
  std::unique_ptr<OpenBids> open_;
  std::unique_ptr<Counters> counters_;
};

}  // namespace spillway::bidder
