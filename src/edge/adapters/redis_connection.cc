#include "adapters/redis_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "adapters/redis_client.h"
#include "adapters/redis_protocol.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_settings.h"
#include "base/counter.h"
#include "base/result.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/stream.h"
#include "net/tls.h"
#include "resilience/guard.h"

namespace spillway::adapters {

namespace {

using net::IoResult;

constexpr size_t kReadBytes = size_t{16} << 10;
constexpr size_t kMostParts = 64;
}  // namespace

RedisConnection::RedisConnection(net::Reactor& reactor, const RedisSettings& settings,
                                 net::TlsClient* tls, RedisRole role, base::Counter& late_replies,
                                 Owner& owner)
    : reactor_(reactor),
      settings_(settings),
      tls_(tls),
      role_(role),
      late_replies_(late_replies),
      owner_(owner),
      stream_(net::UniqueFd()),
      reader_(settings.max_reply_bytes),
      in_(kReadBytes) {}

RedisConnection::~RedisConnection() {
  if (mask_ != 0) {
    reactor_.remove(stream_.fd(), *this);
  }
}

void RedisConnection::want(uint32_t mask) {
  if (mask == mask_) {
    return;
  }
  if (mask_ == 0) {
    reactor_.add(stream_.fd(), mask, *this);
  } else {
    reactor_.change(stream_.fd(), mask, *this);
  }
  mask_ = mask;
}

void RedisConnection::on_ready(uint32_t epoll_events) {
  if (state_ == State::kConnecting) {
    connected();
    return;
  }
  if (state_ == State::kSecuring) {
    secure();
    return;
  }
  if ((epoll_events & EPOLLOUT) != 0) {
    blocked_ = false;
    flush();
  }
  if (!ended() && (epoll_events & ~uint32_t{EPOLLOUT}) != 0) {
    read();
  }
}

base::Result<uint64_t, RedisErrc> RedisConnection::send(RedisCommand command, uint64_t call) {
  const size_t size = command.bytes().size();
  if (size == 0 || slots_.size() >= settings_.max_commands ||
      unsent_bytes_ + size > settings_.max_bytes) {
    return std::unexpected(RedisErrc::kBusy);
  }
  unsent_bytes_ += size;
  slots_.push_back(
      {.command = std::move(command), .call = call, .queued_at = reactor_.now(), .tail = {}});
  if (state_ == State::kReady) {
    watch();
  }
  return first_serial_ + slots_.size() - 1;
}

/// The unwritten bytes of the next commands. What OpenSSL has been shown may be in its buffer
/// already, what a plain socket has not taken is not.
size_t RedisConnection::gather(std::span<iovec> parts) {
  size_t count = 0;
  size_t skip = written_;
  for (uint64_t serial = next_write_;
       serial < first_serial_ + slots_.size() && count < parts.size(); ++serial) {
    Slot& slot = slots_[serial - first_serial_];
    if (!slot.dropped) {
      const std::string_view bytes = slot.command.bytes().substr(skip);
      // iovec serves reading too; nothing is written through it here.
      parts[count] = {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
      slot.begun = slot.begun || stream_.tls() != nullptr;
      ++count;
    }
    skip = 0;
  }
  return count;
}

void RedisConnection::wrote(size_t bytes) {
  unsent_bytes_ -= bytes;
  while (next_write_ < first_serial_ + slots_.size()) {
    Slot& slot = slots_[next_write_ - first_serial_];
    if (!slot.dropped) {
      const size_t left = slot.command.bytes().size() - written_;
      slot.begun = slot.begun || bytes > 0;
      if (bytes < left) {
        written_ += bytes;
        return;
      }
      bytes -= left;
      slot.command = RedisCommand();
    }
    written_ = 0;
    ++next_write_;
  }
}

void RedisConnection::flush() {
  if (state_ != State::kReady && state_ != State::kGreeting) {
    return;
  }
  while (!blocked_) {
    std::array<iovec, kMostParts> parts{};
    const size_t count = gather(parts);
    if (count == 0) {
      break;
    }
    const IoResult result = stream_.write({parts.data(), count});
    if (result.state == IoResult::State::kFailed || result.state == IoResult::State::kEnd) {
      end(io_error());
      return;
    }
    const size_t offered = [&] {
      size_t sum = 0;
      for (size_t i = 0; i < count; ++i) {
        sum += parts[i].iov_len;
      }
      return sum;
    }();
    wrote(result.bytes);
    blocked_ = result.state == IoResult::State::kBlocked || result.bytes < offered;
  }
  want(blocked_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

RedisErrc RedisConnection::io_error() const {
  const bool tls = stream_.tls() != nullptr && stream_.tls()->failure() != net::TlsFailure::kNone &&
                   stream_.tls()->failure() != net::TlsFailure::kClosed;
  return tls ? RedisErrc::kTls : RedisErrc::kLost;
}

void RedisConnection::read() {
  do {
    const IoResult result = stream_.read(in_.data(), in_.size());
    if (result.state == IoResult::State::kBlocked) {
      return;
    }
    if (result.state != IoResult::State::kDone) {
      end(io_error());
      return;
    }
    if (!reader_.feed({in_.data(), result.bytes})) {
      end(RedisErrc::kProtocol);
      return;
    }
    if (!take_replies()) {
      return;
    }
    if (result.bytes < in_.size() && !stream_.may_hold_bytes()) {
      return;
    }
  } while (true);
}

/// False when the connection has ended.
bool RedisConnection::take_replies() {
  while (true) {
    RedisReply reply;
    switch (reader_.next(reply)) {
      case RedisReader::Progress::kPart:
        return true;
      case RedisReader::Progress::kBroken:
        end(RedisErrc::kProtocol);
        return false;
      case RedisReader::Progress::kWhole:
        take_reply(reply);
        break;
    }
    if (ended()) {
      return false;
    }
  }
}

void RedisConnection::take_reply(const RedisReply& reply) {
  while (!slots_.empty() && slots_.front().dropped) {
    drop_front();
  }
  if (slots_.empty() || first_serial_ >= next_write_) {
    end(RedisErrc::kProtocol);  // A reply nobody is owed: what follows cannot be told apart.
    return;
  }
  Slot slot = std::move(slots_.front());
  drop_front();
  if (slot.call >= kGreetings) {
    on_greeting(slot.call, reply);
  } else if (slot.call == kNoCall) {
    late_replies_.add();
    slot.tail.settle(reactor_.now() - slot.queued_at);
  } else {
    owner_.on_reply(*this, slot.call, reply);
  }
}

void RedisConnection::drop_front() {
  slots_.pop_front();
  ++first_serial_;
  next_write_ = std::max(next_write_, first_serial_);
}

bool RedisConnection::sent(uint64_t serial) const {
  return serial < first_serial_ || slots_[serial - first_serial_].begun;
}

void RedisConnection::abandon(uint64_t serial, resilience::Tail tail) {
  if (serial < first_serial_) {
    return;
  }
  Slot& slot = slots_[serial - first_serial_];
  slot.call = kNoCall;
  if (slot.begun) {
    slot.tail = std::move(tail);
    return;
  }
  unsent_bytes_ -= slot.command.bytes().size();
  slot.dropped = true;
  slot.command = RedisCommand();
}

std::vector<uint64_t> RedisConnection::owed() const {
  std::vector<uint64_t> calls;
  for (const Slot& slot : slots_) {
    if (slot.call != kNoCall && slot.call < kGreetings) {
      calls.push_back(slot.call);
    }
  }
  return calls;
}

/// While commands are out, silence is looked for.
void RedisConnection::watch() {
  if (!armed() && !slots_.empty()) {
    reactor_.timers().arm(*this, reactor_.now() + settings_.stall_after / 4);
  }
}

void RedisConnection::on_timer(base::Instant now) {
  if (state_ != State::kReady) {
    end(RedisErrc::kTimeout);
    return;
  }
  while (!slots_.empty() && slots_.front().dropped) {
    drop_front();
  }
  if (!slots_.empty() && now - slots_.front().queued_at >= settings_.stall_after) {
    end(RedisErrc::kTimeout);
    return;
  }
  watch();
}

void RedisConnection::end(RedisErrc why, std::string_view text) {
  if (ended()) {
    return;
  }
  state_ = State::kEnded;
  cancel();
  if (mask_ != 0) {
    reactor_.remove(stream_.fd(), *this);
    mask_ = 0;
  }
  owner_.on_end(*this, why, text);
  slots_.clear();
  stream_.close();
}

}  // namespace spillway::adapters
