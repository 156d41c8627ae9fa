#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/record.h"
#include "net/server.h"
#include "net/timer_wheel.h"
#include "resilience/guard.h"

namespace spillway::app {

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final, never deleted through a base
class Flight;

/// Whoever is told that an auction's time is up.
class FlightOwner {
 public:
  virtual void on_deadline(Flight& flight, base::Instant now) = 0;

 protected:
  ~FlightOwner() = default;
};

/// One auction from its request to the last answer of a DSP: what the pure Auction needs kept for
/// it. Belongs to one worker, and is used again with its memory.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): never deleted through a base.
class Flight final : public net::Timer {
 public:
  explicit Flight(FlightOwner& owner) : owner_(owner) {}

  /// One candidate's guard, from admission until its call is made.
  struct Admission {
    resilience::Permit permit;
  };

  /// The request's bytes with padding behind them, kept until the last answer.
  std::string_view keep_body(std::string_view body);

  /// Forgets all but memory.
  void reset();

  exchange::Auction auction;
  std::shared_ptr<const void> route;  ///< What it began under stays until it ends.
  net::Reply reply;
  std::string origin;
  base::Instant time_zero{};
  std::unique_ptr<exchange::Record> record;  ///< Null when not in the sample.
  std::vector<Admission> admissions;         ///< Beside the candidates.
  std::vector<exchange::Verdict> verdicts;
  std::vector<uint32_t> call_slots;  ///< The worker's, of unsettled calls.
  uint32_t calls_open = 0;           ///< Whose on_answer is still to come.
  bool shed = false;                 ///< The answer says no for want of capacity.
  bool answered = false;             ///< The caller was answered, or is gone.
  bool pinned = false;               ///< Being worked on further up the stack.
  bool counted = false;              ///< Among the worker's auctions in flight.
  bool released = true;              ///< In the worker's free list.

 private:
  void on_timer(base::Instant now) override { owner_.on_deadline(*this, now); }

  FlightOwner& owner_;
  std::string body_;
};

}  // namespace spillway::app
