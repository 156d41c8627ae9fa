#include "net/client_core.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/call_result.h"
#include "base/hash.h"
#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/client.h"
#include "net/client_connection.h"
#include "net/client_target.h"
#include "net/reactor.h"
#include "net/resolver.h"

namespace spillway::net {
namespace {

constexpr size_t kScratchBytes = 64 * 1024;
constexpr size_t kFewestBytes = 4 * kScratchBytes;

/// Workers of a process differ, so that each prefers other addresses of a peer.
uint64_t next_seed() {
  static std::atomic<uint64_t> count{0};
  return base::mix64(count.fetch_add(1, std::memory_order_relaxed) + 1);
}

}  // namespace

void Call::on_timer(base::Instant now) {
  const ClientCore::Scope scope(core);
  const base::Instant due = next_deadline();
  if (now < due) {
    core.reactor.timers().arm(*this, due);
  } else {
    target->expire(*this, base::CallError::kTimeout);
  }
}

base::Instant Call::next_deadline() const {
  base::Instant due = deadlines.answer_by;
  if (!answer_begun) {
    due = std::min(due, deadlines.first_byte_by);
  }
  return connection == nullptr ? std::min(due, deadlines.connect_by) : due;
}

ClientCore::ClientCore(Reactor& own_reactor, ClientSettings settings)
    : reactor(own_reactor),
      buffers(std::max(settings.worker_bytes, kFewestBytes)),
      scratch(buffers.take(kScratchBytes)),
      seed(next_seed()),
      mail_(std::make_shared<ClientMail>()),
      names_(std::move(settings.names)) {
  mail_->reactor = &reactor;
  mail_->core = this;
}

ClientCore::~ClientCore() {
  {
    const std::lock_guard lock(mail_->mutex);
    mail_->reactor = nullptr;
  }
  mail_->core = nullptr;
  targets.clear();
  free_dead();
  calls_.clear();
  scratch.reset();
}

Call& ClientCore::take_call() {
  if (free_calls_.empty()) {
    free_calls_.push_back(static_cast<uint32_t>(calls_.size()));
    calls_.push_back(std::make_unique<Call>(*this));
    calls_.back()->id = calls_.size() - 1;
  }
  Call& call = *calls_[free_calls_.back()];
  free_calls_.pop_back();
  call.id += uint64_t{1} << 32;
  call.target = nullptr;
  call.connection = nullptr;
  call.result = {};
  call.settled = call.answer_begun = false;
  return call;
}

Call* ClientCore::find(uint64_t id) const {
  const auto index = static_cast<uint32_t>(id);
  if (index >= calls_.size()) {
    return nullptr;
  }
  Call* const call = calls_[index].get();
  return call->id == id && call->target != nullptr ? call : nullptr;
}

void ClientCore::release(Call& call) {
  call.cancel();
  call.request.reset();
  call.target = nullptr;
  call.connection = nullptr;
  free_calls_.push_back(static_cast<uint32_t>(call.id));
}

void ClientCore::settle(Call& call, std::string_view body, bool draining) {
  // An answer that lay unread while this thread was held up is not the peer's lateness.
  const bool whole = call.result.error == base::CallError::kNone;
  call.result.ended_at =
      whole ? std::max(call.result.started_at, reactor.earliest_arrival()) : reactor.now();
  if (in_call) {
    call.cancel();
    call.settled = true;
    call.connection = nullptr;
    settle_later(call.id);
    return;
  }
  CallListener* const listener = call.listener;
  const uint64_t tag = call.tag;
  const base::CallResult result = call.result;
  release(call);
  listener->on_answer(tag, result, body, draining);
}

void ClientCore::settle_later(uint64_t id) {
  deferred_.push_back(id);
  if (deferred_.size() == 1) {
    reactor.defer([mail = mail_] {
      if (mail->core != nullptr) {
        mail->core->settle_deferred();
      }
    });
  }
}

void ClientCore::settle_deferred() {
  const Scope scope(*this);
  std::vector<uint64_t> ids;
  ids.swap(deferred_);
  for (const uint64_t id : ids) {
    if (Call* const call = find(id); call != nullptr) {
      settle(*call);
    }
  }
}

void ClientCore::bury(std::unique_ptr<ClientConnection> connection) {
  dead_.push_back(std::move(connection));
}

void ClientCore::free_dead() {
  std::vector<std::unique_ptr<ClientConnection>> dead;
  dead.swap(dead_);
}

void ClientCore::look_up(TargetId target, uint64_t round, const std::string& host, uint16_t port) {
  if (names_ == nullptr) {
    names_ = Resolver::shared();
  }
  names_->look_up(host, port, [mail = mail_, target, round](std::vector<SocketAddress> found) {
    const std::lock_guard lock(mail->mutex);
    if (mail->reactor == nullptr) {
      return;
    }
    mail->reactor->post([mail, target, round, addresses = std::move(found)] {
      if (mail->core != nullptr && mail->core->targets[target] != nullptr) {
        const Scope scope(*mail->core);
        mail->core->targets[target]->resolved(round, addresses);
      }
    });
  });
}

}  // namespace spillway::net
