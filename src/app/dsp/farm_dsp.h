#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/dsp/farm_config.h"
#include "app/dsp/farm_listener.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"
#include "workload/partner.h"

namespace spillway::app {

/// One fake DSP: one partner behind one listener an address, all on the same port.
///
/// One thread: the reactor's.
class FarmDsp final : private net::Timer {
 public:
  /// Listens. `error()` is empty, or one sentence.
  FarmDsp(net::Reactor& reactor, const FarmDspConfig& config, uint64_t seed, base::Instant start);
  ~FarmDsp();
  FarmDsp(const FarmDsp&) = delete;
  FarmDsp& operator=(const FarmDsp&) = delete;

  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] const std::string& name() const { return partner_.settings().style.name; }

  [[nodiscard]] std::string address() const { return listeners_.front()->address(); }

  [[nodiscard]] uint16_t port() const { return listeners_.front()->port(); }

  /// One an address, the configured `listen` first. Never empty.
  [[nodiscard]] const std::vector<std::unique_ptr<FarmListener>>& listeners() const {
    return listeners_;
  }

  [[nodiscard]] bool listening() const;  ///< At every address.

  [[nodiscard]] size_t connections() const;

  [[nodiscard]] bool has_host(std::string_view host) const;

  [[nodiscard]] workload::Partner& partner() { return partner_; }

  [[nodiscard]] const workload::Partner& partner() const { return partner_; }

  /// Opens or shuts listeners as the faults of `now` say. Called every 20 ms by itself, and by
  /// whoever changes faults.
  void follow_faults(base::Instant now);

 private:
  void on_timer(base::Instant now) override;

  [[nodiscard]] std::string open(uint16_t port);

  net::Reactor& reactor_;
  workload::Partner partner_;
  std::string error_;
  std::vector<std::unique_ptr<FarmListener>> listeners_;
};

}  // namespace spillway::app
