#include "adapters/agent_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/socket.h>

#include "base/time.h"
#include "net/acceptor.h"
#include "net/reactor.h"
#include "net/stream.h"

namespace spillway::adapters {
namespace {

constexpr int kReads = 8;  // of one caller that sends on and on

/// Reads what was sent and forgets it; whether the caller has closed, or is gone.
bool has_closed(int socket) {
  std::array<char, 1024> ignored{};
  for (int i = 0; i < kReads; ++i) {
    const auto got = ::recv(socket, ignored.data(), ignored.size(), MSG_DONTWAIT);
    if (got <= 0) {
      return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    }
  }
  return false;
}

}  // namespace

std::string_view to_string(AgentWord word) {
  constexpr std::array<std::string_view, kAgentWords> kNames{"up", "up_bare", "drain", "ready_up"};
  return kNames.at(static_cast<size_t>(word));
}

std::string agent_line(const AgentReply& reply) {
  const uint32_t percent = std::clamp<uint32_t>(reply.percent, 1, 256);
  std::string line;
  switch (reply.word) {
    case AgentWord::kUpBare:
      return "up\n";
    case AgentWord::kDrain:
      return "drain\n";
    case AgentWord::kUp:
      line = fmt::format("up {}%", percent);
      break;
    case AgentWord::kReadyUp:
      line = fmt::format("ready up {}%", percent);
      break;
  }
  if (reply.absolute_weight) {
    line += fmt::format(" weight:{}", percent);
  }
  return line + "\n";
}

AgentCheckServer::AgentCheckServer(net::Reactor& reactor, std::string_view address,
                                   size_t max_connections)
    : reactor_(reactor), max_connections_(max_connections), line_(agent_line(reply_)) {
  auto listener = net::listen_on(address);
  error_ = std::move(listener.error);
  port_ = listener.port;
  if (error_.empty()) {
    acceptor_ = std::make_unique<net::Acceptor>(
        reactor_, std::move(listener.socket), acceptor_counters_,
        [this](net::UniqueFd socket, const std::string& peer) { take(std::move(socket), peer); });
  }
}

AgentCheckServer::~AgentCheckServer() = default;

void AgentCheckServer::start() { acceptor_->start(); }

void AgentCheckServer::set_reply(const AgentReply& reply) {
  let_go();
  reply_ = reply;
  line_ = agent_line(reply_);
}

// Once a poll of the reactor, however many callers it brings. Closing before the caller has, with
// bytes of its unread, would reset the connection and could take the line away again.
void AgentCheckServer::let_go() {
  const auto now = reactor_.now();
  if (now == looked_at_) {
    return;
  }
  looked_at_ = now;
  std::erase_if(open_, [now](const Answered& one) {
    return now - one.at >= kLinger || has_closed(one.socket.fd());
  });
}

void AgentCheckServer::take(net::UniqueFd socket, const std::string& peer) {
  let_go();
  if (open_.size() >= max_connections_) {
    counters_.refused.add();
    return;
  }
  // Held back until the end of the stream goes with it.
  const auto sent =
      ::send(socket.fd(), line_.data(), line_.size(), MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE);
  if (sent != static_cast<ssize_t>(line_.size())) {
    counters_.failed.add();
    return;
  }
  ::shutdown(socket.fd(), SHUT_WR);
  counters_.answered.add();
  note_poller(peer);
  open_.push_back({.socket = std::move(socket), .at = reactor_.now()});
}

void AgentCheckServer::note_poller(const std::string& peer) {
  const std::string_view address = std::string_view(peer).substr(0, peer.rfind(':'));
  auto place = std::ranges::find(pollers_, address, &AgentPoller::address);
  if (place == pollers_.end()) {
    if (pollers_.size() < kPollers) {
      pollers_.push_back({.address = std::string(address), .last_at = {}});
      place = pollers_.end() - 1;
    } else {
      place = std::ranges::min_element(pollers_, {}, &AgentPoller::last_at);
      place->address = address;
    }
  }
  place->last_at = reactor_.now();
}

std::vector<AgentPoller> AgentCheckServer::pollers(base::Instant now, base::Duration age) const {
  std::vector<AgentPoller> live;
  std::ranges::copy_if(pollers_, std::back_inserter(live),
                       [=](const AgentPoller& poller) { return now - poller.last_at <= age; });
  return live;
}

}  // namespace spillway::adapters
