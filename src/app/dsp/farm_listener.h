#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/dsp/farm_connection.h"
#include "base/counter.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/tls.h"
#include "workload/partner.h"

namespace spillway::app {

/// One address of a fake DSP: a listener and the connections it took. A second socket holds the
/// port while the closed_listener fault keeps the listener shut, so that callers are refused and
/// nobody else can take the port.
///
/// One thread: the reactor's. Memory: kConnections at most; more are accepted and closed.
class FarmListener final : private net::ReadySink {
 public:
  static constexpr size_t kConnections = 10'000;

  /// Not listening yet. `partner` must outlive the listener; `tls` null: plain.
  FarmListener(net::Reactor& reactor, workload::Partner& partner, std::string host,
               std::shared_ptr<net::TlsServer> tls);
  ~FarmListener();
  FarmListener(const FarmListener&) = delete;
  FarmListener& operator=(const FarmListener&) = delete;

  /// Takes `port` (0: a free one) and listens. "", or why not.
  [[nodiscard]] std::string open(uint16_t port);

  [[nodiscard]] const std::string& host() const { return host_; }

  [[nodiscard]] uint16_t port() const { return port_; }

  [[nodiscard]] std::string address() const;  ///< "127.0.0.1:41234"

  [[nodiscard]] bool listening() const { return listener_ >= 0; }

  [[nodiscard]] size_t connections() const;

  /// Whole requests read here.
  [[nodiscard]] const base::Counter& calls() const { return calls_; }

  /// Opens or shuts as the faults of `now` say. Before shutting, what callers have sent already is
  /// read, so that the account knows of it.
  void follow_faults(base::Instant now);

  /// Lets go of connections that have ended.
  void sweep();

 private:
  void on_ready(uint32_t events) override;

  [[nodiscard]] int bound_socket(uint16_t port) const;
  bool listen();
  void shut();

  net::Reactor& reactor_;
  workload::Partner& partner_;
  std::string host_;
  std::shared_ptr<net::TlsServer> tls_;
  uint16_t port_ = 0;
  int reserve_ = -1;
  int listener_ = -1;
  base::Counter calls_;
  std::vector<std::unique_ptr<FarmConnection>> connections_;
};

}  // namespace spillway::app
