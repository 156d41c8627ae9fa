#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/counter.h"
#include "base/histogram.h"
#include "exchange/auction.h"
#include "resilience/outcome.h"
#include "resilience/shedder.h"

namespace spillway::app {

/// Refusals 520 to 525 in their own order, for tables.
inline constexpr uint16_t kFirstRefusal = 520;
inline constexpr size_t kRefusals = 6;

/// Names of what a worker's client counts of an endpoint, as label values.
inline constexpr std::array<std::string_view, 15> kClientCounters{
    "call",          "connect",     "reused",     "stale_retry",   "handshake_failed",
    "no_connection", "idle_closed", "poisoned",   "tail_drained",  "tail_cut",
    "tls_handshake", "tls_resumed", "tls_failed", "no_descriptor", "request_sent"};
inline constexpr std::array<std::string_view, 4> kClientGauges{"idle", "busy", "connecting",
                                                               "draining"};

/// What one worker counts of one endpoint of one DSP. Written by that worker, read at scrape; lives
/// across reloads, until a configuration without the endpoint is in force and its last call over.
struct EndpointStats {
  std::array<base::Counter, resilience::kOutcomes> outcomes;
  std::array<base::Counter, kRefusals> refused;
  base::Counter asked, bids, bids_valid, wins;
  base::Counter answers_bidding;  ///< Answers in time with at least one bid.
  base::Counter answers_useless;  ///< Of these with no valid one.
  base::Counter late_answers;     ///< Read whole after the auction had stopped waiting.
  /// Copied from the worker's client now and then, in the order of kClientCounters and
  /// kClientGauges.
  std::array<base::Counter, kClientCounters.size()> client;
  std::array<base::Counter, kClientGauges.size()> client_now;
  base::Counter network_cost_us;
  base::Histogram latency;  ///< Of whole answers in time, and of late ones with their true time.
};

/// What one worker counts of everything else.
struct WorkerStats {
  static constexpr size_t kReplyKinds = 6;
  static constexpr size_t kLosses = 528;  ///< openrtb::Loss goes to 527.

  base::Counter auctions;  ///< Requests that reached an Auction.
  std::array<base::Counter, kReplyKinds> replies;
  std::array<base::Counter, kLosses> losses;  ///< Losing bids by their reason.
  std::array<base::Counter, 4> privacy;  ///< DSPs of routed auctions by exchange::PrivacyClass.
  base::Counter imps, fills;
  base::Counter nbr_time, nbr_shed, nbr_invalid, nbr_other;
  /// By level (1, 2), reason (resilience::ShedReason, then kShedForMemory) and class of account
  /// (resilience::Criticality, then kShedUnread).
  static constexpr size_t kShedForMemory = resilience::kShedReasons;
  static constexpr size_t kShedUnread = resilience::kCriticalities;
  std::array<std::array<std::array<base::Counter, kShedUnread + 1>, kShedForMemory + 1>, 2> shed;
  std::array<base::Counter, 3> events_refused;  ///< By openrtb::EventErrc.
  base::Counter not_found, wrong_method, callers_gone;
  base::Counter in_flight;   ///< Unanswered auctions now.
  base::Counter calls_open;  ///< Calls and tails alive now.
  base::Counter turns;       ///< Grows while the worker's loop turns, some four times a second.
  base::Histogram queue_age, answer_time;
};

}  // namespace spillway::app
