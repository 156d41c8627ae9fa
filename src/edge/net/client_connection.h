#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/call_result.h"
#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/client.h"
#include "net/client_core.h"
#include "net/http_parser.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "net/timer_wheel.h"

namespace spillway::net {

class ClientTarget;

/// One connection to a peer: connecting, then idle, busy with one call, or draining the late answer
/// of a call that is settled already.
class ClientConnection : public ReadySink, private Timer {
 public:
  enum class State : uint8_t { kConnecting, kIdle, kBusy, kDraining, kDead };

  ClientConnection(ClientTarget& target, const SocketAddress& address);
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;
  virtual ~ClientConnection();

  /// Begins to connect, for `patience` at most; errno of what fails at once, else 0.
  int connect(const SocketAddress& address, base::Duration patience);

  /// Sends a call. Requires kIdle.
  void start(Call& call);

  /// Settles the call under way with `error`; the connection drains when `drain` allows.
  void abandon(base::CallError error, bool drain);

  /// Ends the connection, telling nobody: for one that is idle or connecting.
  void close();

  /// Ends it now: a call under way is settled as cancelled, a tail reported as cut.
  void cut();

  /// Ends it as soon as no call needs it.
  void retire();

  void on_ready(uint32_t epoll_events) override;

  /// Whether this poll has an event for it that was not handled yet.
  [[nodiscard]] bool has_news() const { return core_.reactor.pending(stream_.fd()); }

  [[nodiscard]] State state() const { return state_; }

  [[nodiscard]] uint64_t address_key() const { return address_key_; }

  /// Its index among the target's addresses; ClientAddresses::kNone when it is no longer one.
  [[nodiscard]] size_t address() const { return address_; }

  void set_address(size_t address) { address_ = address; }

  [[nodiscard]] size_t index() const { return index_; }

  void set_index(size_t index) { index_ = index; }

 private:
  struct Tail {
    uint64_t tag = 0;
    CallListener* listener = nullptr;
    base::CallResult result;
    size_t bytes_left = 0;
  };

  void on_timer(base::Instant now) override;
  void want_timer(base::Instant due);
  void connected();
  bool secured();
  [[nodiscard]] base::CallError io_error() const;
  base::CallError inflate(std::string_view& body, BufferRef& buffer);
  void write();
  [[nodiscard]] uint32_t reading() const;
  IoResult::State read();
  IoResult::State read_idle();
  void take(size_t bytes, base::Instant now);
  void expect_answer();
  void parse();
  bool make_room();
  bool next_message();
  void complete();
  void fail(base::CallError error);
  void lost();
  [[nodiscard]] base::CallPhase phase() const;

  [[nodiscard]] bool sent_whole() const { return sent_ == out_size_; }

  [[nodiscard]] char* message() const { return in_.data() + begin_; }

  void read_policy(base::CallResult& result);
  void tell_number();
  void become_idle();

  ClientTarget& target_;
  ClientCore& core_;
  Stream stream_;
  uint64_t address_key_;
  size_t address_ = 0;
  size_t index_ = 0;
  uint32_t mask_ = 0;
  State state_ = State::kConnecting;
  bool retired_ = false;
  bool served_ = false;     ///< Has answered before.
  bool ends_ = false;       ///< The peer said that it closes.
  bool is_full_ = false;    ///< The last read left no room: there may be more.
  uint32_t requests_left_;  ///< By the peer's `Keep-Alive: max=`.
  base::Duration idle_timeout_;
  base::Instant wanted_ = base::kNever;  ///< The armed timer may be earlier.

  Call* call_ = nullptr;
  Tail tail_;
  BufferRef out_;
  size_t out_size_ = 0;
  size_t sent_ = 0;

  HttpParser parser_;
  BufferRef in_;      ///< The shared scratch buffer during a read, else own bytes of a part answer.
  size_t begin_ = 0;  ///< Of the message being read: behind interim answers.
  size_t end_ = 0;
  size_t received_ = 0;
  uint32_t interim_ = 0;
};

}  // namespace spillway::net
