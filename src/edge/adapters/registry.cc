#include "adapters/registry.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "net/reactor.h"

namespace spillway::adapters {

std::optional<RegistryHold> RegistryGate::judge(size_t current, size_t next, uint64_t digest,
                                                base::Instant now) {
  if (next > 0 ? 2 * next >= current : current == 0) {
    seen_ = 0;
    waiting_ = false;
    return std::nullopt;
  }
  if (!waiting_) {
    waiting_ = true;
    since_ = now;
    seen_ = 0;
  }
  seen_ = digest == digest_ ? seen_ + 1 : 1;
  digest_ = digest;
  if (seen_ >= confirm_reads_ || (now > since_ && now - since_ >= confirm_after_)) {
    seen_ = 0;
    waiting_ = false;
    return std::nullopt;
  }
  return next == 0 ? RegistryHold::kEmpty : RegistryHold::kShrunk;
}

Registry::Registry(net::Reactor& reactor, RegistrySettings settings)
    : reactor_(reactor),
      settings_(std::move(settings)),
      gate_(settings_.confirm_reads, settings_.confirm_after),
      renew_timer_(*this, &Registry::renew),
      read_timer_(*this, &Registry::read) {
  const auto start = static_cast<uint64_t>(reactor.now().time_since_epoch().count());
  spread_ = base::mix64(start ^ reinterpret_cast<uintptr_t>(this));
}

base::Instant Registry::deadline() { return reactor_.refresh() + settings_.timeout; }

base::Duration Registry::backoff(uint32_t failures) {
  const base::Duration longest = std::min<base::Duration>(10 * settings_.poll, settings_.ttl);
  const base::Duration wait =
      std::min(settings_.poll * (1U << std::min(failures, uint32_t{4})) / 2, longest);
  spread_ = base::mix64(spread_ + 1);
  return wait + wait * static_cast<int64_t>(spread_ % 256) / 1024;  // up to a quarter more
}

void Registry::announce(RegistryInstance instance) {
  instance_ = std::move(instance);
  announcing_ = Announcing::kWanted;
  registered_ = false;
  if (renewing_) {
    again_ = true;
  } else {
    reactor_.timers().arm(renew_timer_, reactor_.now());
  }
}

void Registry::withdraw() {
  if (announcing_ != Announcing::kWanted) {
    return;
  }
  announcing_ = Announcing::kWithdrawing;
  withdraw_by_ = reactor_.refresh() + settings_.ttl;
  if (!renewing_) {
    reactor_.timers().arm(renew_timer_, reactor_.now());
  }
}

void Registry::renew(base::Instant now) {
  if (announcing_ == Announcing::kWithdrawing) {
    if (now >= withdraw_by_) {
      announcing_ = Announcing::kNothing;
      return;
    }
    renewing_ = true;
    begin_withdraw(instance_);
  } else if (announcing_ == Announcing::kWanted) {
    renewing_ = true;
    begin_renew(instance_, !registered_);
  }
}

/// After a call about our membership: what is wanted next, in `pause` unless something changed.
void Registry::renew_in(base::Duration pause) {
  renewing_ = false;
  const bool now = std::exchange(again_, false);
  reactor_.timers().arm(renew_timer_, reactor_.refresh() + (now ? base::Duration::zero() : pause));
}

void Registry::on_renewed(bool was_lost) {
  (registered_ ? counters_.renewals : counters_.registrations).add();
  if (was_lost) {
    counters_.lost.add();
  }
  registered_ = !again_ && announcing_ == Announcing::kWanted;
  renewed_at_ = reactor_.refresh();
  renew_failures_ = 0;
  last_error_.clear();
  const bool ending = announcing_ == Announcing::kWithdrawing;
  renew_in(ending ? base::Duration::zero() : settings_.ttl / 3);
}

void Registry::on_renew_failed(RegistryErrc error, std::string what) {
  counters_.registration_errors[static_cast<size_t>(error)].add();
  last_error_ = std::move(what);
  renew_in(std::min(backoff(++renew_failures_), settings_.ttl / 3));
}

void Registry::on_lost() {
  counters_.lost.add();
  registered_ = false;
  renew_in(base::Duration::zero());
}

void Registry::on_withdrawn() {
  renewing_ = false;
  registered_ = false;
  counters_.withdrawals.add();
  if (announcing_ == Announcing::kWithdrawing) {
    announcing_ = Announcing::kNothing;
  } else {
    renew_in(base::Duration::zero());
  }
}

bool Registry::announced() const {
  return registered_ && reactor_.now() - renewed_at_ <= settings_.ttl;
}

void Registry::watch(RegistryListener& listener) {
  listener_ = &listener;
  if (!reading_) {
    reactor_.timers().arm(read_timer_, reactor_.now());
  }
}

void Registry::stop_watching() {
  listener_ = nullptr;
  read_timer_.cancel();
}

std::optional<base::Duration> Registry::age() const {
  if (!read_once_) {
    return std::nullopt;
  }
  return reactor_.now() - view_.read_at;
}

void Registry::read(base::Instant /*now*/) {
  if (!reading_ && listener_ != nullptr) {
    reading_ = true;
    begin_read(doubted_);
  }
}

void Registry::on_read_failed(RegistryErrc error, std::string what) {
  reading_ = false;
  counters_.read_errors[static_cast<size_t>(error)].add();
  last_error_ = std::move(what);
  if (listener_ != nullptr) {
    reactor_.timers().arm(read_timer_, reactor_.refresh() + backoff(++read_failures_));
  }
}

void Registry::on_read(std::vector<RegistryInstance> instances, uint64_t index,
                       base::Duration pause) {
  if (instances.size() > kMaxInstances) {
    on_read_failed(RegistryErrc::kTooLarge, "more instances than a backend can hold");
    return;
  }
  reading_ = false;
  read_failures_ = 0;
  last_error_.clear();
  counters_.reads.add();
  view_.read_at = reactor_.refresh();
  read_once_ = true;
  const bool changed = take(std::move(instances), index);
  if (doubted_) {
    pause = settings_.poll;
  }
  if (listener_ != nullptr) {
    reactor_.timers().arm(read_timer_, reactor_.now() + pause);
    if (changed) {
      listener_->on_registry(view_);
    }
  }
}

bool Registry::take(std::vector<RegistryInstance>&& instances, uint64_t index) {
  const size_t all = instances.size();
  std::erase_if(instances, [](const RegistryInstance& one) { return !is_sound(one); });
  std::ranges::stable_sort(instances, {}, &RegistryInstance::id);
  const auto twice = std::ranges::unique(instances, {}, &RegistryInstance::id);
  instances.erase(twice.begin(), twice.end());
  counters_.unsound.add(all - instances.size());
  std::erase_if(instances, [this](const RegistryInstance& one) {
    return !settings_.zone.empty() && one.zone != settings_.zone;
  });
  uint64_t digest = instances.size();
  for (const RegistryInstance& one : instances) {
    digest = base::hash64(to_json(one), digest);
  }
  const size_t current = view_.known ? view_.instances.size() : expected_;
  const auto hold = gate_.judge(current, instances.size(), digest, view_.read_at);
  doubted_ = hold.has_value();
  if (hold) {
    counters_.held[static_cast<size_t>(*hold)].add();
    held_size_ = instances.size();
    return false;
  }
  view_.index = index;
  if (view_.known && instances == view_.instances) {
    return false;
  }
  view_.known = true;
  view_.instances = std::move(instances);
  counters_.changes.add();
  return true;
}

namespace {

/// Its members never change.
class StaticRegistry final : public Registry {
 public:
  StaticRegistry(net::Reactor& reactor, std::vector<RegistryInstance> instances)
      : Registry(reactor, {.confirm_reads = 1}), instances_(std::move(instances)) {}

  [[nodiscard]] std::string_view kind() const override { return "static"; }

 private:
  void begin_renew(const RegistryInstance& /*instance*/, bool /*first*/) override {
    on_renewed(false);
  }

  void begin_withdraw(const RegistryInstance& /*instance*/) override { on_withdrawn(); }

  void begin_read(bool /*at_once*/) override { on_read(instances_, 1, std::chrono::seconds(1)); }

  std::vector<RegistryInstance> instances_;
};

}  // namespace

std::unique_ptr<Registry> static_registry(net::Reactor& reactor,
                                          std::vector<RegistryInstance> instances) {
  return std::make_unique<StaticRegistry>(reactor, std::move(instances));
}

}  // namespace spillway::adapters
