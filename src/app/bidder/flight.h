#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "app/bidder/deployment.h"
#include "app/bidder/stats.h"
#include "base/time.h"
#include "bidder/pipeline.h"
#include "net/server.h"
#include "net/timer_wheel.h"

namespace spillway::app::bidding {

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final, never deleted through a base
class Flight;

/// Whom a Flight tells that its question has waited long enough.
class FlightOwner {
 public:
  virtual void on_patience_over(Flight& flight) = 0;

 protected:
  ~FlightOwner() = default;
};

/// One request between its reading and its answer. Reused; one thread.
class Flight final : public net::Timer {
 public:
  Flight(FlightOwner& owner, uint32_t slot, WorkerStats& stats)
      : pipeline(stats.pipeline), slot_(slot), owner_(owner) {}

  /// Its place, and how often that was used: answers to an earlier question find another number.
  [[nodiscard]] uint64_t tag() const { return uint64_t{turn} << 32U | slot_; }

  [[nodiscard]] uint32_t slot() const { return slot_; }

  bidder::Pipeline pipeline;
  net::Reply reply;
  std::shared_ptr<const Deployment> deployment;
  base::Instant time_zero{};
  uint32_t turn = 0;
  std::optional<uint64_t> ticket;  ///< Of counts that are being read.
  bool asking = false;

 private:
  void on_timer(base::Instant) override { owner_.on_patience_over(*this); }

  uint32_t slot_;
  FlightOwner& owner_;
};

}  // namespace spillway::app::bidding
