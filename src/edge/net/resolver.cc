#include "net/resolver.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
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

std::string to_string(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.size, host.data(),
                  host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  const std::string text = host.data();
  return (text.contains(':') ? "[" + text + "]" : text) + ":" + port.data();
}

std::vector<SocketAddress> literal_address(const std::string& host, uint16_t port) {
  return addresses_of(host, port, AI_NUMERICHOST);
}

struct Resolver::State {
  using Name = std::pair<std::string, uint16_t>;

  LookUp look_up;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Name> jobs;                   ///< Not begun.
  std::map<Name, std::vector<Done>> done;  ///< Of jobs and of what is under way.
  size_t threads = 0;
  size_t idle = 0;
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

Resolver::Resolver(LookUp look_up) : state_(std::make_shared<State>()) {
  state_->look_up = std::move(look_up);
  if (!state_->look_up) {
    state_->look_up = [](const std::string& host, uint16_t port) {
      return addresses_of(host, port, AI_ADDRCONFIG);
    };
  }
}

Resolver::~Resolver() {
  const std::lock_guard lock(state_->mutex);
  state_->ended = true;
  state_->jobs.clear();
  state_->done.clear();
  state_->changed.notify_all();
}

void Resolver::look_up(std::string host, uint16_t port, Done done) {
  const std::lock_guard lock(state_->mutex);
  State::Name name(std::move(host), port);
  auto& waiting = state_->done[name];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) {
    return;  // begun already, or about to be
  }
  state_->jobs.push_back(std::move(name));
  if (state_->idle < state_->jobs.size() && state_->threads < kThreads) {
    ++state_->threads;
    std::thread([state = state_] { serve(state); }).detach();
  } else {
    state_->changed.notify_one();
  }
}

void Resolver::serve(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    ++state->idle;
    state->changed.wait(lock, [&] { return state->ended || !state->jobs.empty(); });
    --state->idle;
    if (state->ended) {
      return;
    }
    const State::Name name = std::move(state->jobs.front());
    state->jobs.pop_front();
    lock.unlock();
    const auto addresses = state->look_up(name.first, name.second);
    lock.lock();
    auto waiting = state->done.extract(name);
    lock.unlock();
    if (!waiting.empty()) {
      for (Done& done : waiting.mapped()) {
        done(addresses);
      }
      waiting = {};
    }
    lock.lock();
  }
}

}  // namespace spillway::net
