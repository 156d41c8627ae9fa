#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/money.h"
#include "bidder/pacing/grant.h"

namespace spillway::bidder {

/// One campaign's money, day by day. What is reserved on a day is spent or given back on that day,
/// however late; each day has the daily budget once, and the lifetime budget bounds all of them:
///
///     daily    = spent(day) + open(day) + available(day)
///     lifetime = spent      + open      + available
///
/// A day is a number, not "since midnight": when the wall steps back it finds what it spent of that
/// day already, and when it steps forward and back again the day it came back to. Nothing is ever
/// reset. Three days are kept, and those with open reservations before others; one that was dropped
/// has no budget any more, nor has one before it.
///
/// A new account has no money. One thread at a time. 112 bytes.
class Account {
 public:
  static constexpr int64_t kUnlimited = INT64_MAX;
  static constexpr size_t kDays = 3;

  struct Day {
    int64_t number = INT64_MIN;  ///< INT64_MIN: never used.
    int64_t spent = 0;           ///< Billionths, as everything here.
    int64_t open = 0;
  };

  /// Budgets of a new catalog; what is spent and open stays. 0: no limit.
  void set_budget(base::Money daily, base::Money lifetime);

  /// No money any more, until the next set_budget(). What is spent and open stays.
  void close() { daily_ = 0; }

  /// Reserves on a day: kExhausted or kOldDay when not.
  [[nodiscard]] std::optional<ReserveErrc> reserve(int64_t day, int64_t amount);

  /// Gives back what was reserved on that day.
  void release(int64_t day, int64_t amount);

  /// `paid` of the `reserved` is spent, the rest given back. Requires 0 <= paid <= reserved.
  void settle(int64_t day, int64_t reserved, int64_t paid);

  /// Spends up to `amount` that is reserved no more, as far as available on that day. What it took.
  [[nodiscard]] int64_t charge(int64_t day, int64_t amount);

  /// Raises what was spent to what another process knew.
  void restore(int64_t day, int64_t on_day, int64_t ever);

  /// The day's. Its budget is what the day may come to: less than `daily` when the lifetime budget
  /// leaves less.
  [[nodiscard]] Balance balance(int64_t day) const;

  [[nodiscard]] Balance lifetime() const;

  [[nodiscard]] const std::array<Day, kDays>& days() const { return days_; }

  /// Whether nothing is known of it that a budget from `utc_day` on must respect.
  [[nodiscard]] bool is_forgettable(int64_t utc_day) const;

 private:
  [[nodiscard]] Day* find(int64_t day);
  [[nodiscard]] const Day* find(int64_t day) const;
  [[nodiscard]] Day* find_or_open(int64_t day);
  [[nodiscard]] int64_t available(const Day& day) const;

  int64_t daily_ = 0;
  int64_t lifetime_ = kUnlimited;
  int64_t spent_ = 0;
  int64_t open_ = 0;
  int64_t dropped_ = INT64_MIN;  ///< The newest day that was dropped.
  std::array<Day, kDays> days_{};
};

}  // namespace spillway::bidder
