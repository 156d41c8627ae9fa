#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/config/currency_config.h"
#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"
#include "resilience/guard.h"

namespace spillway::app {

/// What attempts to fetch rates came to, since the start.
struct RateFetches {
  uint64_t taken = 0;      ///< New rates are in use.
  uint64_t unchanged = 0;  ///< The rates that are in use already.
  uint64_t failed = 0;     ///< No whole 200 answer in time.
  uint64_t refused = 0;    ///< An answer that is no rates, or older ones, or stale ones.
  uint64_t skipped = 0;    ///< The guard let none through.
};

/// Fetches exchange rates from `currency.url` every `refresh`, behind a guard of its own, on the
/// control thread: auctions never wait for it. After a failure it asks again after 1 s, then twice
/// as long, up to a minute or `refresh`. What was taken last stays until something better comes;
/// auctions stop using it by its own age.
///
/// Thread rule: all of it on the reactor's thread. Memory: one answer of at most 64 KiB.
class RateSource final : private net::CallListener, private net::Timer {
 public:
  /// Puts rates to use; why not, in one sentence, or "".
  using Take = std::function<std::string(const std::string& text)>;

  RateSource(net::Reactor& reactor, uint64_t seed, Take take);
  ~RateSource();

  /// Begins, changes or ends. The same feed again changes nothing.
  void deploy(const RateFeed& feed);

  /// The bytes of the rates in use, when they came from the URL of this feed; else "".
  [[nodiscard]] std::string_view text_of(const RateFeed& feed) const;

  [[nodiscard]] const RateFetches& fetches() const { return fetches_; }

  /// Why the last attempt brought nothing; "" when it did.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void fetch(base::Instant now);
  void settle(base::Instant now, std::string problem);
  [[nodiscard]] std::string read(std::string_view body);
  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override;

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

  void on_timer(base::Instant now) override;

  net::Reactor& reactor_;
  Take take_;
  net::Client client_;
  resilience::Guard guard_;
  resilience::Permit permit_;
  RateFeed feed_;
  net::TargetId target_ = 0;
  bool in_flight_ = false;
  uint64_t call_ = 0;
  base::Instant next_fetch_ = base::kNever;
  base::Duration retry_{};
  std::string text_;
  std::string problem_;
  RateFetches fetches_;
};

}  // namespace spillway::app
