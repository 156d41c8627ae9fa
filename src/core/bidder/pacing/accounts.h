#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/spin_lock.h"
#include "bidder/pacing/account.h"

namespace spillway::bidder {

/// Accounts by campaign, in a table of fixed size. Any thread finds and uses them, each under its
/// own lock; one thread at a time adds and forgets them. Ids are positive.
class Accounts {
 public:
  explicit Accounts(size_t most);

  /// The account's place, which stays its own as long as it has open reservations.
  [[nodiscard]] std::optional<uint32_t> find(int64_t campaign) const;

  /// Finds or adds; nullopt when the table is full. One thread at a time.
  [[nodiscard]] std::optional<uint32_t> add(int64_t campaign);

  /// Forgets the account when `may_go(account)`; whether it did. One thread at a time.
  template <typename MayGo>
  bool forget(uint32_t place, const MayGo& may_go) {
    Slot& slot = slots_[place];
    const base::SpinSection section(slot.lock);
    if (!may_go(slot.account)) {
      return false;
    }
    slot.account = Account{};
    slot.campaign.store(kForgotten, std::memory_order_release);
    --size_;
    return true;
  }

  /// Runs `use(account)` under the account's lock: short, no allocation. Requires a place whose
  /// account has open reservations, or the thread that adds and forgets.
  template <typename Use>
  auto with(uint32_t place, const Use& use) {
    Slot& slot = slots_[place];
    const base::SpinSection section(slot.lock);
    return use(slot.account);
  }

  /// The same for a campaign: false when it has no account.
  template <typename Use>
  bool with_campaign(int64_t campaign, const Use& use) {
    const auto place = find(campaign);
    if (!place) {
      return false;
    }
    Slot& slot = slots_[*place];
    const base::SpinSection section(slot.lock);
    if (slot.campaign.load(std::memory_order_relaxed) != campaign) {
      return false;  // Forgotten since.
    }
    use(*place, slot.account);
    return true;
  }

  /// Whose account is at a place that has open reservations.
  [[nodiscard]] int64_t campaign_at(uint32_t place) const {
    return slots_[place].campaign.load(std::memory_order_relaxed);
  }

  /// Calls `visit(place, campaign)` for every account.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (uint32_t place = 0; place <= mask_; ++place) {
      const int64_t campaign = slots_[place].campaign.load(std::memory_order_acquire);
      if (campaign > 0) {
        visit(place, campaign);
      }
    }
  }

  [[nodiscard]] size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  static constexpr int64_t kNever = 0;       ///< Never used: a search ends here.
  static constexpr int64_t kForgotten = -1;  ///< Free, but searches go on.

  struct alignas(64) Slot {
    std::atomic<int64_t> campaign{kNever};
    mutable base::SpinLock lock;
    Account account;
  };

  size_t most_;
  size_t mask_;
  std::atomic<size_t> size_{0};
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace spillway::bidder
