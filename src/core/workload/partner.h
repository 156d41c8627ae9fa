#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/rng.h"
#include "base/time.h"
#include "workload/bidding.h"
#include "workload/fault.h"
#include "workload/latency.h"
#include "workload/script.h"
#include "workload/server_queue.h"

namespace spillway::workload {

/// A fake DSP: how it bids, how long it takes, what it does wrong and when.
struct PartnerSettings {
  BidStyle style;
  Latency latency = Latency::lognormal(std::chrono::milliseconds(20), 0.4);
  std::vector<Fault> faults;
  /// An answer that would come later than the request's tmax less `tmax_reserve` is a no-bid then.
  bool keeps_tmax = false;
  base::Duration tmax_reserve = std::chrono::milliseconds(5);  ///< For the answer's way. [0, 1 s].
  Script script{};  ///< Not empty: what it does with each call that no fault hits.
};

[[nodiscard]] std::vector<Problem> validate(const PartnerSettings& settings);

/// What the driver must do with one call.
struct Plan {
  enum class Action : uint8_t {
    kAnswer,  ///< After `delay`, send status and body whole.
    kDrip,    ///< After `delay`, send the whole answer `drip_bytes` every `drip_interval`.
    kRaw,     ///< After `delay`, send `body` as it is: no HTTP; then close.
    kReset,   ///< After `delay`, reset the connection.
    kHang,    ///< Nothing, until the caller goes.
  };
  Action action = Action::kAnswer;
  base::Duration delay{};
  uint16_t status = 200;
  std::string body;
  base::Duration retry_after{};  ///< Zero: no header.
  base::Duration drip_interval{};
  size_t drip_bytes = 1;
  uint32_t bids = 0;
  bool garbage = false;                           ///< `body` is no bid response on purpose.
  std::optional<FaultKind> fault = std::nullopt;  ///< What made it so.
};

/// The exact account of what a partner was sent and did: the sums by meaning agree with `calls`
/// (calls = bids + no_bids + bad_requests + errors + hung + reset), and with the other side's
/// counters. The driver counts what became of each on the wire.
struct PartnerAccount {
  base::Counter calls;                            ///< Whole requests read.
  base::Counter bids, no_bids, bad_requests;      ///< Calls planned to be answered so.
  base::Counter errors, hung, reset;              ///< 5xx, 429 and garbage; hang; reset.
  std::array<base::Counter, kFaultKinds> faults;  ///< Calls hit, by fault.
  base::Counter bids_sent;                        ///< Bids within the bid answers.
  base::Counter connections;                      ///< Accepted; by the driver from here on.
  base::Counter answered;                         ///< Last byte accepted by the kernel.
  base::Counter abandoned;                        ///< Connection ended before that.
};

/// Decides each call of one partner. Pure: time and seed come in, a plan goes out; the simulator
/// drives the same object. One thread owns it.
class Partner {
 public:
  Partner(PartnerSettings settings, base::Instant start, uint64_t seed);

  /// The plan for a request (Document::kPadding readable bytes behind it) read whole at `now` on
  /// the partner's address `host`. Calls come in the order of `now`.
  [[nodiscard]] Plan on_call(base::Instant now, std::string_view request,
                             std::string_view host = "");

  [[nodiscard]] const PartnerSettings& settings() const { return settings_; }

  [[nodiscard]] FaultSchedule& faults() { return faults_; }

  [[nodiscard]] const FaultSchedule& faults() const { return faults_; }

  [[nodiscard]] PartnerAccount& account() { return account_; }

  [[nodiscard]] const PartnerAccount& account() const { return account_; }

 private:
  void spoil(Plan& plan, const Fault& fault, std::string_view request);
  void play(Plan& plan, const ScriptedCall& call, std::string_view request);
  void delay_by(Plan& plan, const Hit& hit, base::Instant now);
  void answer(Plan& plan, std::string_view request, Spoil how,
              std::optional<bool> wants = std::nullopt);
  void keep_tmax(Plan& plan) const;
  void count(const Plan& plan);

  PartnerSettings settings_;
  Bidding bidding_;
  FaultSchedule faults_;
  ServerQueue queue_;
  base::Duration tmax_{};  ///< Of the request last answered.
  base::Rng rng_;
  PartnerAccount account_;
};

}  // namespace spillway::workload
