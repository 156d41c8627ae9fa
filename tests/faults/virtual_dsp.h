#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/call_result.h"
#include "base/rng.h"
#include "base/time.h"
#include "exchange/bid_watch.h"
#include "exchange/call.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"
#include "workload/partner.h"

namespace spillway::faults {

using namespace std::chrono_literals;

/// One DSP of an exchange in virtual time: a real guard, a real workload::Partner that answers
/// generated bid requests, exchange::take_answer between them. Poisson arrivals, one worker,
/// ticks of 100 ms, late answers drained for a second. What a socket would report of each plan is
/// the only part that is made up here.
class VirtualDsp {
 public:
  /// The time an ask is given.
  using Offered = std::function<base::Duration(base::Rng&)>;

  explicit VirtualDsp(uint64_t seed, workload::PartnerSettings partner = healthy(),
                      const resilience::Settings& settings = {});
  ~VirtualDsp();
  VirtualDsp(const VirtualDsp&) = delete;
  VirtualDsp& operator=(const VirtualDsp&) = delete;

  /// Answers in 20 to 25 ms, bids on half.
  [[nodiscard]] static workload::PartnerSettings healthy();

  /// The mix of the generated requests: tmax of 100 to 300 ms less the margin.
  [[nodiscard]] static base::Duration usual_budget(base::Rng& rng);

  void inject(const workload::Fault& fault, base::Duration lasting = base::Duration::max());

  void clear() { partner_.faults().clear(true); }

  /// `rate` asks a second for `time`. Stops early when `until` holds after a tick.
  void run(base::Duration time, double rate, const std::function<bool()>& until = {},
           const Offered& offered = usual_budget);

  /// Until the circuit is in `state`: the time it took, or nothing in `limit`.
  std::optional<base::Duration> until(resilience::State state, base::Duration limit, double rate,
                                      const Offered& offered = usual_budget);

  [[nodiscard]] int opened() const;

  [[nodiscard]] uint64_t outcomes(resilience::Outcome outcome) const {
    return outcomes_[static_cast<size_t>(outcome)];
  }

  [[nodiscard]] uint64_t alerts(exchange::BidAlert alert) const {
    return watch_.times_raised(alert);
  }

  [[nodiscard]] bool alerting() const;

  resilience::Guard guard;
  base::Rng rng;
  base::Instant now{1h};
  std::vector<resilience::Transition> log;
  std::vector<exchange::BidAlertChange> alert_log;
  uint64_t admitted = 0;
  uint64_t refused = 0;

 private:
  struct Asked;
  struct Call;

  struct Pending {
    base::Instant at{};
    size_t index = 0;

    bool operator<(const Pending& other) const { return at > other.at; }
  };

  base::Duration gap(double rate);
  void tick();
  void ask(base::Duration offered);
  void settle(size_t index);
  size_t take_slot();
  [[nodiscard]] const Asked& request_for(base::Duration offered);

  exchange::Snapshot snapshot_;
  exchange::Candidate candidate_;
  std::vector<std::unique_ptr<Asked>> requests_;
  workload::Partner partner_;
  exchange::Call answer_;
  exchange::BidWatch watch_;
  exchange::BidCounts counts_;
  std::array<uint64_t, resilience::kOutcomes> outcomes_{};
  base::Instant next_tick_ = base::Instant(1h) + 100ms;
  uint64_t ticks_ = 0;
  uint64_t serial_ = 0;
  std::priority_queue<Pending> pending_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<size_t> free_;
};

}  // namespace spillway::faults
