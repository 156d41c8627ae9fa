#include "bidder/pacing/local_grant.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "bidder/pacing/account.h"
#include "bidder/pacing/accounts.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/open_bids.h"

namespace spillway::bidder {

/// Written by all threads, hence atomic additions: a few for each bid.
struct LocalGrant::Counters {
  std::array<std::atomic<uint64_t>, kReserveErrcs> refused{};
  std::array<std::atomic<uint64_t>, kSettleOutcomes> settled{};
  std::atomic<uint64_t> reserved{0};
  std::atomic<uint64_t> cancelled{0};
  std::atomic<uint64_t> expired{0};
  std::atomic<int64_t> overcharged_nanos{0};
  std::atomic<int64_t> unfunded_nanos{0};
};

std::vector<std::string> validate(const LocalGrantSettings& settings) {
  constexpr uint32_t kAccountsMax = 4'000'000;
  constexpr uint32_t kOpenMin = 64;
  constexpr uint32_t kOpenMax = 16'000'000;
  std::vector<std::string> out;
  if (settings.accounts < 1 || settings.accounts > kAccountsMax) {
    out.emplace_back("budget.accounts: must be 1 to 4000000");
  }
  if (settings.open_bids < kOpenMin || settings.open_bids > kOpenMax) {
    out.emplace_back("budget.open_bids: must be 64 to 16000000");
  }
  if (settings.open_for < std::chrono::seconds(1) || settings.open_for > std::chrono::days(1)) {
    out.emplace_back("budget.open_for: must be 1 s to 1 d");
  }
  return out;
}

LocalGrant::LocalGrant(const LocalGrantSettings& settings)
    : open_for_(settings.open_for),
      accounts_(std::make_unique<Accounts>(settings.accounts)),
      open_(std::make_unique<OpenBids>(settings.open_bids)),
      counters_(std::make_unique<Counters>()) {}

LocalGrant::~LocalGrant() = default;

size_t LocalGrant::refresh(std::span<const CampaignBudget> budgets, int64_t now_unix_s) {
  const int64_t utc_day = BudgetTime{.now = {}, .local_s = now_unix_s}.day();
  std::unordered_set<int64_t> there;
  for (const CampaignBudget& budget : budgets) {
    there.insert(budget.campaign);
  }
  accounts_->for_each([&](uint32_t place, int64_t campaign) {
    if (!there.contains(campaign) && !accounts_->forget(place, [utc_day](const Account& account) {
          return account.is_forgettable(utc_day);
        })) {
      accounts_->with(place, [](Account& account) { account.close(); });
    }
  });
  size_t without_room = 0;
  for (const CampaignBudget& budget : budgets) {
    if (const auto place = accounts_->add(budget.campaign)) {
      accounts_->with(*place, [&budget](Account& account) {
        account.set_budget(budget.daily, budget.lifetime);
      });
    } else {
      ++without_room;
    }
  }
  return without_room;
}

void LocalGrant::restore(std::span<const Spent> spent) {
  for (const Spent& of : spent) {
    accounts_->with_campaign(of.campaign, [&of](uint32_t, Account& account) {
      account.restore(of.day, of.on_day.nanos, of.ever.nanos);
    });
  }
}

std::vector<Spent> LocalGrant::spent() const {
  std::vector<Spent> out;
  accounts_->for_each([&](uint32_t place, int64_t campaign) {
    const Account account = accounts_->with(place, [](const Account& of) { return of; });
    for (const Account::Day& day : account.days()) {
      if (day.spent > 0) {
        out.push_back({.campaign = campaign,
                       .day = day.number,
                       .on_day = {day.spent},
                       .ever = account.lifetime().spent});
      }
    }
  });
  return out;
}

size_t LocalGrant::expire(base::Instant now, size_t most) {
  size_t expired = 0;
  for (size_t i = 0; i < most; ++i) {
    const auto found = open_->pop_expired(now);
    if (!found) {
      break;
    }
    if (found->was == OpenBids::State::kOpen) {
      give_back(found->bid);
      ++expired;
    }
  }
  return expired;
}

void LocalGrant::give_back(const OpenBid& bid) {
  accounts_->with(bid.account, [&bid](Account& account) { account.release(bid.day, bid.amount); });
  counters_->expired.fetch_add(1, std::memory_order_relaxed);
}

base::Result<Reservation, ReserveErrc> LocalGrant::refuse(ReserveErrc error) {
  counters_->refused[static_cast<size_t>(error)].fetch_add(1, std::memory_order_relaxed);
  return std::unexpected(error);
}

base::Result<Reservation, ReserveErrc> LocalGrant::try_reserve(int64_t campaign, base::Money amount,
                                                               const BudgetTime& at) {
  if (amount.nanos <= 0) {
    return refuse(ReserveErrc::kBadAmount);
  }
  uint32_t place = 0;
  std::optional<ReserveErrc> error;
  const bool known = accounts_->with_campaign(campaign, [&](uint32_t found, Account& account) {
    place = found;
    error = account.reserve(at.day(), amount.nanos);
  });
  if (!known || error) {
    return refuse(known ? *error : ReserveErrc::kUnknownCampaign);
  }
  counters_->reserved.fetch_add(1, std::memory_order_relaxed);
  return reservation(place, at.day(), amount);
}

void LocalGrant::cancel(uint32_t account, int64_t day, base::Money amount) noexcept {
  accounts_->with(account, [&](Account& of) { of.release(day, amount.nanos); });
  counters_->cancelled.fetch_add(1, std::memory_order_relaxed);
}

base::Result<void, ReserveErrc> LocalGrant::submit(uint32_t account, int64_t day,
                                                   base::Money amount, uint64_t key,
                                                   base::Instant now) {
  OpenBids::Left left;
  const auto added = open_->add({.key = key,
                                 .campaign = accounts_->campaign_at(account),
                                 .account = account,
                                 .day = day,
                                 .amount = amount.nanos,
                                 .until = now + open_for_},
                                OpenBids::State::kOpen, now, left);
  if (left) {
    give_back(*left);
  }
  if (!added) {
    counters_->refused[static_cast<size_t>(added.error())].fetch_add(1, std::memory_order_relaxed);
  }
  return added;
}

SettleOutcome LocalGrant::count(SettleOutcome outcome) {
  counters_->settled[static_cast<size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
  return outcome;
}

SettleOutcome LocalGrant::count_late(int64_t wanted_nanos, int64_t taken_nanos) {
  counters_->unfunded_nanos.fetch_add(wanted_nanos - taken_nanos, std::memory_order_relaxed);
  return count(SettleOutcome::kLate);
}

SettleOutcome LocalGrant::settle(uint64_t key, base::Money paid) {
  const int64_t wanted = std::max<int64_t>(paid.nanos, 0);
  const auto found = open_->mark(key, OpenBids::State::kWon);
  if (!found) {
    return count(SettleOutcome::kUnknown);
  }
  const OpenBid& bid = found->bid;
  switch (found->was) {
    case OpenBids::State::kWon:
      return count(SettleOutcome::kDuplicate);
    case OpenBids::State::kLost: {
      int64_t taken = 0;
      // By campaign: without open money the account may have been forgotten, and its place given
      // to another.
      accounts_->with_campaign(bid.campaign, [&](uint32_t, Account& account) {
        taken = account.charge(bid.day, wanted);
      });
      return count_late(wanted, taken);
    }
    case OpenBids::State::kOpen:
      break;
  }
  const int64_t taken = std::min(wanted, bid.amount);
  accounts_->with(bid.account,
                  [&](Account& account) { account.settle(bid.day, bid.amount, taken); });
  counters_->overcharged_nanos.fetch_add(wanted - taken, std::memory_order_relaxed);
  return count(wanted > taken ? SettleOutcome::kOvercharged : SettleOutcome::kSettled);
}

SettleOutcome LocalGrant::lose(uint64_t key) {
  const auto found = open_->mark(key, OpenBids::State::kLost);
  if (!found) {
    return count(SettleOutcome::kUnknown);
  }
  if (found->was != OpenBids::State::kOpen) {
    return count(SettleOutcome::kDuplicate);
  }
  accounts_->with(found->bid.account, [&found](Account& account) {
    account.release(found->bid.day, found->bid.amount);
  });
  return count(SettleOutcome::kSettled);
}

SettleOutcome LocalGrant::charge_unknown(uint64_t key, int64_t campaign, base::Money paid,
                                         const BudgetTime& at) {
  OpenBids::Left left;
  const auto added =
      open_->add({.key = key, .campaign = campaign, .day = at.day(), .until = at.now + open_for_},
                 OpenBids::State::kWon, at.now, left);
  if (left) {
    give_back(*left);
  }
  if (!added && added.error() == ReserveErrc::kDuplicateBid) {
    return count(SettleOutcome::kDuplicate);
  }
  const int64_t wanted = std::max<int64_t>(paid.nanos, 0);
  int64_t taken = 0;
  if (!accounts_->with_campaign(campaign, [&](uint32_t, Account& account) {
        taken = account.charge(at.day(), wanted);
      })) {
    return count(SettleOutcome::kUnknown);
  }
  return count_late(wanted, taken);
}

Balance LocalGrant::balance(int64_t campaign, const BudgetTime& at) const {
  Balance out;
  accounts_->with_campaign(
      campaign, [&](uint32_t, const Account& account) { out = account.balance(at.day()); });
  return out;
}

LocalGrant::Counts LocalGrant::counts() const {
  const auto read = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  Counts out;
  std::ranges::transform(counters_->refused, out.refused.begin(), read);
  std::ranges::transform(counters_->settled, out.settled.begin(), read);
  out.reserved = read(counters_->reserved);
  out.cancelled = read(counters_->cancelled);
  out.expired = read(counters_->expired);
  out.overcharged_nanos = read(counters_->overcharged_nanos);
  out.unfunded_nanos = read(counters_->unfunded_nanos);
  out.accounts = accounts_->size();
  out.open_bids = open_->open();
  return out;
}

}  // namespace spillway::bidder
