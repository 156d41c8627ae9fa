#include "bidder/pacing/account.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/assert.h"
#include "base/money.h"
#include "bidder/pacing/grant.h"

namespace spillway::bidder {

namespace {

int64_t limit_of(base::Money budget) {
  return budget.nanos <= 0 ? Account::kUnlimited : budget.nanos;
}

}  // namespace

void Account::set_budget(base::Money daily, base::Money lifetime) {
  daily_ = limit_of(daily);
  lifetime_ = limit_of(lifetime);
}

const Account::Day* Account::find(int64_t day) const {
  const auto* const found = std::ranges::find(days_, day, &Day::number);
  return found == days_.end() ? nullptr : found;
}

Account::Day* Account::find(int64_t day) {
  auto* const found = std::ranges::find(days_, day, &Day::number);
  return found == days_.end() ? nullptr : found;
}

Account::Day* Account::find_or_open(int64_t day) {
  if (Day* const found = find(day)) {
    return found;
  }
  if (day <= dropped_) {
    return nullptr;
  }
  Day* oldest = nullptr;
  for (Day& kept : days_) {
    if (kept.open == 0 && (oldest == nullptr || kept.number < oldest->number)) {
      oldest = &kept;
    }
  }
  if (oldest == nullptr) {
    return nullptr;
  }
  dropped_ = std::max(dropped_, oldest->number);
  if (day <= dropped_) {
    return nullptr;
  }
  *oldest = Day{.number = day};
  return oldest;
}

int64_t Account::available(const Day& day) const {
  // Neither can overflow: spent and open are never negative, and never exceed the largest amount.
  return std::min(daily_ - day.spent - day.open, lifetime_ - spent_ - open_);
}

std::optional<ReserveErrc> Account::reserve(int64_t day, int64_t amount) {
  SPILLWAY_ASSERT(amount > 0);
  Day* const of = find_or_open(day);
  if (of == nullptr) {
    return ReserveErrc::kOldDay;
  }
  if (amount > available(*of)) {
    return ReserveErrc::kExhausted;
  }
  of->open += amount;
  open_ += amount;
  return std::nullopt;
}

void Account::release(int64_t day, int64_t amount) { settle(day, amount, 0); }

void Account::settle(int64_t day, int64_t reserved, int64_t paid) {
  Day* const of = find(day);
  SPILLWAY_ASSERT(of != nullptr && of->open >= reserved && paid >= 0 && paid <= reserved);
  of->open -= reserved;
  open_ -= reserved;
  of->spent += paid;
  spent_ += paid;
}

int64_t Account::charge(int64_t day, int64_t amount) {
  Day* const of = find_or_open(day);
  if (of == nullptr) {
    return 0;
  }
  const int64_t taken = std::clamp<int64_t>(available(*of), 0, std::max<int64_t>(amount, 0));
  of->spent += taken;
  spent_ += taken;
  return taken;
}

void Account::restore(int64_t day, int64_t on_day, int64_t ever) {
  constexpr int64_t kMost = kUnlimited / 2;
  if (Day* const of = find_or_open(day); of != nullptr) {
    of->spent = std::max(of->spent, std::min(on_day, kMost));
  }
  spent_ = std::max(spent_, std::min(ever, kMost));
}

Balance Account::balance(int64_t day) const {
  const Day* const kept = find(day);
  const Day none{.number = day};
  const Day& of = kept != nullptr ? *kept : none;
  const int64_t left = kept == nullptr && day <= dropped_ ? 0 : available(of);
  return {.budget = {of.spent + of.open + left},
          .spent = {of.spent},
          .open = {of.open},
          .available = {left},
          .lifetime_left = {lifetime_ == kUnlimited ? kUnlimited : lifetime_ - spent_ - open_}};
}

Balance Account::lifetime() const {
  return {.budget = {lifetime_},
          .spent = {spent_},
          .open = {open_},
          .available = {lifetime_ - spent_ - open_},
          .lifetime_left = {lifetime_ == kUnlimited ? kUnlimited : lifetime_ - spent_ - open_}};
}

bool Account::is_forgettable(int64_t utc_day) const {
  // A day somewhere on earth is at most one off the day of UTC.
  constexpr int64_t kOver = 2;
  return open_ == 0 && lifetime_ == kUnlimited && std::ranges::all_of(days_, [&](const Day& day) {
           return day.spent == 0 || day.number + kOver < utc_day;
         });
}

}  // namespace spillway::bidder
