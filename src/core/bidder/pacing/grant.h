#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"

namespace spillway::bidder {

/// When something happens, for budgets: monotonic time for what expires, and the second on the
/// advertiser's wall (Unix time plus the offset of its zone now) for what belongs to a day.
struct BudgetTime {
  base::Instant now;
  int64_t local_s = 0;

  /// Days since 1 January 1970 there.
  [[nodiscard]] int64_t day() const {
    return local_s >= 0 ? local_s / 86'400 : (local_s + 1) / 86'400 - 1;
  }

  /// How much of that day is over, in [0, 1).
  [[nodiscard]] double day_ratio() const {
    return static_cast<double>(local_s - day() * 86'400) / 86'400.0;
  }
};

enum class ReserveErrc : uint8_t {
  kUnknownCampaign,  ///< The grant has no account of it.
  kExhausted,        ///< Less than the amount is available today, or in all.
  kTooManyOpen,      ///< The table of bids that wait for their notice is full.
  kDuplicateBid,     ///< A bid with this key is open or was settled lately.
  kOldDay,           ///< The wall went back to a day that is no longer kept.
  kBadAmount,        ///< Not above 0.
};

inline constexpr size_t kReserveErrcs = 6;

[[nodiscard]] std::string_view to_string(ReserveErrc error);

/// One campaign's money on one day of its own, at one instant: budget = spent + open + available.
/// Without a limit the budget is the largest amount there is.
struct Balance {
  base::Money budget;  ///< What the day may come to.
  base::Money spent;
  base::Money open;       ///< Reserved: bids being made, and bids that wait for their notice.
  base::Money available;  ///< Below 0 after a budget was cut.
  /// Of the lifetime budget, neither spent nor open; the largest amount without one.
  base::Money lifetime_left{INT64_MAX};
};

/// What a notice did.
enum class SettleOutcome : uint8_t {
  kSettled,      ///< An open bid became spend, or was given back.
  kOvercharged,  ///< The same, but the price was above what was reserved: that much was charged.
  kDuplicate,    ///< It was settled before; nothing moved.
  kLate,         ///< A win after the bid was given back: charged again, as far as money was there.
  kUnknown,      ///< No such bid here, or too long ago; nothing moved.
};

inline constexpr size_t kSettleOutcomes = 5;

[[nodiscard]] std::string_view to_string(SettleOutcome outcome);

class Grant;

/// Money set aside for one bid of one campaign. Move-only: what is destroyed before submit() is
/// given back, so that no path out of a request keeps it.
class [[nodiscard]] Reservation {
 public:
  Reservation() = default;
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  Reservation(Reservation&& other) noexcept
      : grant_(std::exchange(other.grant_, nullptr)),
        account_(other.account_),
        day_(other.day_),
        amount_(other.amount_) {}

  Reservation& operator=(Reservation&& other) noexcept {
    if (this != &other) {
      cancel();
      grant_ = std::exchange(other.grant_, nullptr);
      account_ = other.account_;
      day_ = other.day_;
      amount_ = other.amount_;
    }
    return *this;
  }

  ~Reservation() { cancel(); }

  [[nodiscard]] bool held() const { return grant_ != nullptr; }

  [[nodiscard]] base::Money amount() const { return amount_; }

  /// Gives the money back. Nothing when it is not held.
  void cancel() noexcept;

  /// The bid goes out under `key` (see Grant): the money stays open until its notice or expiry. On
  /// an error it is given back, and the bid must not go out. Requires held().
  [[nodiscard]] base::Result<void, ReserveErrc> submit(uint64_t key, base::Instant now);

 private:
  friend class Grant;

  Reservation(Grant& grant, uint32_t account, int64_t day, base::Money amount)
      : grant_(&grant), account_(account), day_(day), amount_(amount) {}

  Grant* grant_ = nullptr;
  uint32_t account_ = 0;
  int64_t day_ = 0;
  base::Money amount_;
};

/// Where a bidder's money comes from: a port, because the ledger that a fleet shares deals grants
/// to its instances, and a lone bidder has all of it. Bids are known by a 64-bit key that their
/// notices can make again: a hash of what they sign (request, imp, campaign, creative).
///
/// Thread rule: any thread, at any time, never waiting for more than a bounded section. A grant
/// outlives its reservations.
class Grant {
 public:
  Grant() = default;
  Grant(const Grant&) = delete;
  Grant& operator=(const Grant&) = delete;
  virtual ~Grant() = default;

  /// Sets `amount` aside for the one bid that was chosen, on the day of `at`. All or nothing:
  /// what is not available is refused. Never blocks, never allocates.
  [[nodiscard]] virtual base::Result<Reservation, ReserveErrc> try_reserve(
      int64_t campaign, base::Money amount, const BudgetTime& at) = 0;

  /// A win: `paid` (what charge_of() says, from 0) of the open bid is spent, the rest given back.
  /// Idempotent: a second notice of one bid moves nothing.
  virtual SettleOutcome settle(uint64_t key, base::Money paid) = 0;

  /// A loss: the open bid is given back.
  virtual SettleOutcome lose(uint64_t key) = 0;

  /// A win of a bid that is not known here, because it expired or another process made it: what is
  /// available of `paid` is spent. The caller has made sure that the notice is ours. Idempotent for
  /// as long as a bid stays open. kLate, kDuplicate, or kUnknown for an unknown campaign.
  virtual SettleOutcome charge_unknown(uint64_t key, int64_t campaign, base::Money paid,
                                       const BudgetTime& at) = 0;

  /// Of an unknown campaign: zeros.
  [[nodiscard]] virtual Balance balance(int64_t campaign, const BudgetTime& at) const = 0;

 protected:
  friend class Reservation;

  /// For implementations: what try_reserve() hands out.
  [[nodiscard]] Reservation reservation(uint32_t account, int64_t day, base::Money amount) {
    return {*this, account, day, amount};
  }

  virtual void cancel(uint32_t account, int64_t day, base::Money amount) noexcept = 0;

  /// On success the money is the open bid's; on an error it still is the reservation's.
  [[nodiscard]] virtual base::Result<void, ReserveErrc> submit(uint32_t account, int64_t day,
                                                               base::Money amount, uint64_t key,
                                                               base::Instant now) = 0;
};

inline void Reservation::cancel() noexcept {
  if (Grant* const grant = std::exchange(grant_, nullptr)) {
    grant->cancel(account_, day_, amount_);
  }
}

}  // namespace spillway::bidder
