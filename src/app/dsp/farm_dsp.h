#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/dsp/farm_config.h"
#include "app/dsp/farm_connection.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"
#include "net/tls.h"
#include "workload/partner.h"

namespace spillway::app {

/// One fake DSP: a listener of its own and the connections it took. A second socket holds the port
/// while the closed_listener fault keeps the listener shut, so that callers are refused and nobody
/// else can take the port.
///
/// One thread: the reactor's. Memory: kConnections at most; more are accepted and closed.
class FarmDsp final : private net::ReadySink, private net::Timer {
 public:
  static constexpr size_t kConnections = 10'000;

  /// Listens. `error()` is empty, or one sentence.
  FarmDsp(net::Reactor& reactor, const FarmDspConfig& config, uint64_t seed, base::Instant start);
  ~FarmDsp();
  FarmDsp(const FarmDsp&) = delete;
  FarmDsp& operator=(const FarmDsp&) = delete;

  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] const std::string& name() const { return partner_.settings().style.name; }

  [[nodiscard]] std::string address() const;  ///< "127.0.0.1:41234"

  [[nodiscard]] uint16_t port() const { return port_; }

  [[nodiscard]] bool listening() const { return listener_ >= 0; }

  [[nodiscard]] size_t connections() const;

  [[nodiscard]] workload::Partner& partner() { return partner_; }

  [[nodiscard]] const workload::Partner& partner() const { return partner_; }

  /// Opens or shuts the listener as the faults of `now` say. Called every 20 ms by itself, and by
  /// whoever changes faults.
  void follow_faults(base::Instant now);

 private:
  void on_ready(uint32_t events) override;
  void on_timer(base::Instant now) override;

  [[nodiscard]] int bound_socket(uint16_t port);
  bool open_listener();
  void shut_listener();

  net::Reactor& reactor_;
  workload::Partner partner_;
  std::string host_;
  uint16_t port_ = 0;
  int reserve_ = -1;
  int listener_ = -1;
  std::string error_;
  std::shared_ptr<net::TlsServer> tls_;  // null: plain
  std::vector<std::unique_ptr<FarmConnection>> connections_;
};

}  // namespace spillway::app
