#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/client_addresses.h"
#include "net/client_connection.h"
#include "net/client_core.h"
#include "net/host_choice.h"
#include "net/resolver.h"
#include "net/timer_wheel.h"

namespace spillway::net {

/// One peer: its addresses, its connections, and the calls that wait for one.
///
/// A call takes the idle connection used last. Without one, a connection is opened while
/// max_connections and max_handshakes allow, and the call waits in a FIFO for whichever connection
/// is free first. With all connections in use it is refused at once; behind busy handshakes at
/// most max_waiting calls wait.
///
/// With a HostChoice that says where each call goes first: to an idle connection there, else to one
/// elsewhere while a connection there is opened for the next. Connections to an address that may
/// take no calls are closed when idle; what is under way there is finished and drained.
class ClientTarget : private Timer {
 public:
  ClientTarget(ClientCore& owner, TargetId id, TargetSettings initial);
  ClientTarget(const ClientTarget&) = delete;
  ClientTarget& operator=(const ClientTarget&) = delete;
  virtual ~ClientTarget();

  void change(TargetSettings next);
  void remove();

  void start(Call& call);
  void expire(Call& call, base::CallError error);
  /// A reused connection died before the first byte: the call goes first, on a fresh one.
  void retry(Call& call);

  /// The end of look-up `round`; one of an earlier round is of a host left since.
  void resolved(uint64_t round, const std::vector<SocketAddress>& addresses);

  // Told by connections.
  void connected(ClientConnection& connection);
  void connect_failed(ClientConnection& connection, int error);
  /// An idle connection: the first waiting call takes it, else it goes on top of the pool.
  void offer(ClientConnection& connection);
  void leave_idle(ClientConnection& connection);
  void unlink(ClientConnection& connection, ClientConnection::State was);
  /// Whether one more connection may drain; counts it.
  bool begin_drain();

  void end_drain() { --draining_; }

  [[nodiscard]] Client::Pool pool() const;

  [[nodiscard]] size_t addresses() const { return addresses_.size(); }

  [[nodiscard]] HostChoice* hosts() const { return addresses_.hosts(); }

  [[nodiscard]] const std::string& host_line() const { return host_line_; }

  ClientCore& core;
  TargetSettings settings;
  TargetCounters counters;

 private:
  void on_timer(base::Instant now) override;
  void resolve();
  void wait_or_refuse(Call& call);
  void refuse(Call& call, base::CallError error, base::CallPhase phase);
  [[nodiscard]] bool can_open() const;
  [[nodiscard]] uint64_t candidates() const;
  ClientConnection* take_idle(uint64_t among);
  ClientConnection* take_chosen(const Call& call);
  void leave_unusable();
  void open_spare(size_t address, const Call& call);
  void send(ClientConnection& connection, Call& call);
  void open_for_waiting();
  /// Opens one connection for a call that waits until `call_by`; false when it failed at once.
  bool open_one(size_t address, base::Instant call_by);
  [[nodiscard]] size_t fewest_connections(uint64_t among) const;
  [[nodiscard]] size_t connections_to(size_t address) const;
  void fail_waiting(base::CallError error, base::CallPhase phase);

  TargetId id_;
  std::string host_line_;
  ClientAddresses addresses_;
  std::vector<std::unique_ptr<ClientConnection>> connections_;
  std::vector<ClientConnection*> idle_;  ///< Used last at the back.
  std::deque<Call*> waiting_;
  size_t connecting_ = 0;
  size_t draining_ = 0;
  uint64_t round_ = 0;
  bool literal_ = false;
  bool resolving_ = false;
  bool lookup_failed_ = false;
  bool removed_ = false;
};

}  // namespace spillway::net
