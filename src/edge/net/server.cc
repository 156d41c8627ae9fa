#include "net/server.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "net/acceptor.h"
#include "net/server_worker.h"
#include "net/stream.h"

namespace spillway::net {

struct Server::Body : std::enable_shared_from_this<Server::Body> {
  ServerShared shared;
  std::string error;
  uint16_t port = 0;
  std::vector<std::unique_ptr<ServerWorker>> workers;
  std::unique_ptr<Acceptor> acceptor;

  /// On the acceptor's thread: the worker with the fewest connections takes this one.
  void hand_over(UniqueFd socket, const std::string& peer) {
    if (shared.open.load(std::memory_order_relaxed) >= shared.limits.connections) {
      workers.front()->counters.over_connections.add();
      return;
    }
    ServerWorker* least = workers.front().get();
    for (const auto& worker : workers) {
      if (worker->load.load(std::memory_order_relaxed) <
          least->load.load(std::memory_order_relaxed)) {
        least = worker.get();
      }
    }
    shared.open.fetch_add(1, std::memory_order_relaxed);
    least->load.fetch_add(1, std::memory_order_relaxed);
    if (least == workers.front().get()) {
      least->adopt(std::move(socket), peer);
      return;
    }
    least->reactor.post([self = shared_from_this(), least, peer, fd = std::move(socket)]() mutable {
      least->adopt(std::move(fd), peer);
    });
  }

  template <typename Action>
  void on_every_worker(Action action) {
    for (const auto& worker : workers) {
      worker->reactor.post(
          [self = shared_from_this(), target = worker.get(), action] { action(*target); });
    }
  }
};

Server::Server(std::string_view address, const ServerLimits& limits, std::vector<Worker> workers,
               ListenerSettings settings)
    : body_(std::make_shared<Body>()) {
  body_->shared.listener = std::move(settings);
  body_->shared.limits = limits;
  for (Worker& worker : workers) {
    body_->workers.push_back(
        std::make_unique<ServerWorker>(body_->shared, worker.reactor, std::move(worker.handler)));
  }
  if (workers.empty()) {
    body_->error = "a server needs a worker";
    return;
  }
  Listener listener = listen_on(address);
  body_->error = std::move(listener.error);
  body_->port = listener.port;
  ServerWorker& first = *body_->workers.front();
  body_->acceptor =
      std::make_unique<Acceptor>(first.reactor, std::move(listener.socket), first.counters,
                                 [body = body_.get()](UniqueFd socket, const std::string& peer) {
                                   body->hand_over(std::move(socket), peer);
                                 });
}

// Posting may throw when memory is gone; ending the process is right then.
// NOLINTNEXTLINE(bugprone-exception-escape)
Server::~Server() {
  if (body_->workers.empty()) {
    return;
  }
  body_->workers.front()->reactor.post([body = body_] { body->acceptor.reset(); });
  body_->on_every_worker([](ServerWorker& worker) { worker.close_all(); });
}

const std::string& Server::error() const { return body_->error; }

uint16_t Server::port() const { return body_->port; }

void Server::start() {
  if (body_->error.empty()) {
    body_->workers.front()->reactor.post([body = body_] { body->acceptor->start(); });
  }
}

void Server::announce_drain() { body_->shared.draining.store(true, std::memory_order_relaxed); }

void Server::stop_accepting() {
  announce_drain();
  if (body_->workers.empty()) {
    return;
  }
  body_->workers.front()->reactor.post([body = body_] {
    body->acceptor->stop([body = body.get()] {
      body->shared.closed_at.store(body->workers.front()->reactor.refresh());
      body->on_every_worker([](ServerWorker& worker) { worker.hurry_idle(); });
    });
  });
}

bool Server::drained() const {
  return body_->shared.closed_at.load() != base::kNever && open_connections() == 0;
}

void Server::pause_reads(size_t worker, base::Instant until) {
  body_->workers[worker]->pause_reads(until);
}

size_t Server::open_connections() const {
  return body_->shared.open.load(std::memory_order_relaxed);
}

const ServerCounters& Server::counters(size_t worker) const {
  return body_->workers[worker]->counters;
}

size_t Server::workers() const { return body_->workers.size(); }

}  // namespace spillway::net
