#include "net/server_worker.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/caller_connection.h"
#include "net/pending_request.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/server_connection.h"
#include "net/stream.h"

namespace spillway::net {
namespace {

constexpr size_t kKeptRequests = 1024;
constexpr size_t kKeptAnswerBytes = 4096;

}  // namespace

ServerWorker::ServerWorker(ServerShared& common, Reactor& own_reactor, Handler request_handler)
    : shared(common),
      reactor(own_reactor),
      handler(std::move(request_handler)),
      buffers(common.limits.worker_bytes) {}

ServerWorker::~ServerWorker() {
  close_all();
  for (PendingRequest* request = live_; request != nullptr; request = request->next) {
    request->worker = nullptr;  // its Reply frees it
    request->buffer.orphan();
    request->inflated.orphan();
  }
}

void ServerWorker::adopt(UniqueFd socket, const std::string& peer) {
  const Scope scope(*this);
  counters.accepted.add();
  counters.open.add();
  auto connection = std::make_unique<ServerConnection>(*this, std::move(socket), peer);
  ServerConnection& opening = *connection;
  opening.set_index(connections_.size());
  connections_.push_back(std::move(connection));
  opening.open();
}

void ServerWorker::unlink(CallerConnection& connection) {
  const size_t index = connection.index();
  dead_.push_back(std::move(connections_[index]));
  if (index + 1 != connections_.size()) {
    connections_[index] = std::move(connections_.back());
    connections_[index]->set_index(index);
  }
  connections_.pop_back();
  counters.closed.add();
  counters.open.subtract();
  load.fetch_sub(1, std::memory_order_relaxed);
  shared.open.fetch_sub(1, std::memory_order_relaxed);
}

CallerConnection& ServerWorker::replace(CallerConnection& connection,
                                        std::unique_ptr<CallerConnection> next) {
  const size_t index = connection.index();
  next->set_index(index);
  dead_.push_back(std::exchange(connections_[index], std::move(next)));
  return *connections_[index];
}

void ServerWorker::bury() {
  std::vector<std::unique_ptr<CallerConnection>> dead;
  dead.swap(dead_);
}

void ServerWorker::hurry_idle() {
  const Scope scope(*this);
  end_pause();
  // From the back: one that ends at once is replaced by the last, which had its turn.
  for (size_t i = connections_.size(); i-- > 0;) {
    connections_[i]->hurry();
  }
}

void ServerWorker::pause_reads(base::Instant until) {
  if (shared.closed_at.load(std::memory_order_relaxed) != base::kNever) {
    return;
  }
  counters.read_pauses.add();
  reads_paused_ = true;
  reactor.timers().arm(*this, until);
}

void ServerWorker::note_held(base::Instant& since) {
  if (since == base::kNever) {
    since = reactor.earliest_arrival();
    counters.reads_held.add();
  }
}

base::Instant ServerWorker::arrival(base::Instant& held_since) const {
  return std::min(reactor.earliest_arrival(), std::exchange(held_since, base::kNever));
}

base::Duration ServerWorker::queue_age(base::Instant arrival) const {
  return reactor.now() - std::min(reactor.now(), std::max(arrival, pause_ended_at_));
}

void ServerWorker::on_timer(base::Instant /*now*/) {
  const Scope scope(*this);
  end_pause();
}

void ServerWorker::end_pause() {
  if (!std::exchange(reads_paused_, false)) {
    return;
  }
  cancel();
  pause_ended_at_ = reactor.now();
  for (size_t i = connections_.size(); i-- > 0;) {
    connections_[i]->resume();
  }
}

void ServerWorker::close_all() {
  if (std::exchange(reads_paused_, false)) {
    cancel();
  }
  if (connections_.empty()) {
    return;  // nor is the reactor touched: another worker's thread may be the last to let go
  }
  const Scope scope(*this);
  while (!connections_.empty()) {
    connections_.back()->destroy();
  }
}

PendingRequest& ServerWorker::take_request() {
  if (free_.empty()) {
    free_.push_back(std::make_unique<PendingRequest>());
  }
  PendingRequest* const request = free_.back().release();
  free_.pop_back();
  request->worker = this;
  request->previous = nullptr;
  request->next = live_;
  if (live_ != nullptr) {
    live_->previous = request;
  }
  live_ = request;
  return *request;
}

void ServerWorker::release(PendingRequest& request) {
  if (request.held || request.queued) {
    return;
  }
  (request.previous != nullptr ? request.previous->next : live_) = request.next;
  if (request.next != nullptr) {
    request.next->previous = request.previous;
  }
  std::unique_ptr<PendingRequest> owner(&request);
  buffers.discharge(request.charged);
  request.buffer.reset();
  request.inflated.reset();
  counters.buffered_bytes.set(buffers.bytes());
  if (free_.size() >= kKeptRequests) {
    return;
  }
  request.connection = nullptr;
  request.behind = nullptr;
  request.stream = nullptr;
  request.deadline = base::kNever;
  request.gone = nullptr;
  request.request = {};  // its views are dead, and a refusal of the next may ask for a header
  request.answered = request.close = request.http10 = request.head_only = request.takes_gzip =
      request.caller_gone = false;
  request.keep_alive = true;
  request.charged = request.sent = 0;
  if (request.body.capacity() > kKeptAnswerBytes) {
    request.body = std::string();
  }
  request.body.clear();
  free_.push_back(std::move(owner));
}

}  // namespace spillway::net
