#include "net/resolver.h"

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/hash.h"

namespace spillway::net {
namespace {

std::vector<SocketAddress> addresses_of(const std::string& host, uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_flags = flags | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<SocketAddress> addresses;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return addresses;
  }
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6) {
      SocketAddress& address = addresses.emplace_back();
      std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
      address.size = entry->ai_addrlen;
    }
  }
  freeaddrinfo(found);
  return addresses;
}

}  // namespace

uint64_t SocketAddress::key() const {
  // Only address and port: the rest (flow label, padding) may differ between two look-ups.
  if (storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
    return base::hash64({reinterpret_cast<const char*>(&in.sin_addr), sizeof in.sin_addr},
                        in.sin_port);
  }
  const auto& in6 = reinterpret_cast<const sockaddr_in6&>(storage);
  return base::hash64({reinterpret_cast<const char*>(&in6.sin6_addr), sizeof in6.sin6_addr},
                      in6.sin6_port);
}

std::vector<SocketAddress> literal_address(const std::string& host, uint16_t port) {
  return addresses_of(host, port, AI_NUMERICHOST);
}

struct Resolver::State {
  struct Job {
    std::string host;
    uint16_t port;
    Done done;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool ended = false;
};

std::shared_ptr<Resolver> Resolver::shared() {
  static std::mutex mutex;
  static std::weak_ptr<Resolver> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Resolver> resolver = current.lock();
  if (resolver == nullptr) {
    resolver = std::make_shared<Resolver>();
    current = resolver;
  }
  return resolver;
}

Resolver::Resolver() : state_(std::make_shared<State>()) {
  std::thread([state = state_] { serve(state); }).detach();
}

Resolver::~Resolver() {
  const std::lock_guard lock(state_->mutex);
  state_->ended = true;
  state_->jobs.clear();
  state_->changed.notify_one();
}

void Resolver::look_up(std::string host, uint16_t port, Done done) {
  const std::lock_guard lock(state_->mutex);
  state_->jobs.push_back({.host = std::move(host), .port = port, .done = std::move(done)});
  state_->changed.notify_one();
}

void Resolver::serve(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->ended || !state->jobs.empty(); });
    if (state->ended) {
      return;
    }
    State::Job job = std::move(state->jobs.front());
    state->jobs.pop_front();
    lock.unlock();
    job.done(addresses_of(job.host, job.port, AI_ADDRCONFIG));
    job.done = nullptr;
    lock.lock();
  }
}

}  // namespace spillway::net
