#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "app/config/notice_config.h"
#include "app/exchange/event_forwarder.h"
#include "base/call_result.h"
#include "base/counter.h"
#include "base/time.h"
#include "exchange/notices.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"
#include "openrtb/signed_url.h"

namespace spillway::app {

/// Sends what exchange::Notices wants sent, over connections of its own, on the control thread: a
/// dead notice host costs auctions nothing.
///
/// Thread rule: take_cleared, take_event and dropped from any thread; the rest on the reactor's.
/// The reactor must have ended before destruction, or be on the destroying thread. Memory: at most
/// kMailbox messages wait between the threads, and what EventForwarder holds.
class NoticeDesk final : private net::CallListener, private net::Timer {
 public:
  static constexpr size_t kMailbox = 20'000;

  NoticeDesk(net::Reactor& reactor, const NoticeConfig& config, uint64_t seed);
  ~NoticeDesk();

  void deploy(const NoticeConfig& config);

  /// Hands over an auction's notices; what is posted before an event is known when it comes. False,
  /// and counted, when too many messages wait.
  bool take_cleared(exchange::ClearedNotices&& cleared);
  bool take_event(openrtb::Event event, std::string query);

  [[nodiscard]] const exchange::Notices& notices() const { return notices_; }

  [[nodiscard]] const EventForwarder& forwarder() const { return forwarder_; }

  /// Messages dropped on their way to here.
  [[nodiscard]] uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  /// Notices and events that are not settled.
  [[nodiscard]] size_t pending() const { return notices_.pending() + forwarder_.pending(); }

  /// The process ends: drops what is not settled, counted. How many.
  size_t abandon();

  /// Nothing is under way and nothing waits to be handed over; repeats may still be due.
  [[nodiscard]] bool quiet() const;

 private:
  template <typename Work>
  bool post(Work work);
  void make_calls(base::Instant now);
  net::TargetId target_of(const exchange::NoticeCall& call);
  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override;

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

  void on_timer(base::Instant now) override;

  net::Reactor& reactor_;
  std::string instance_;
  std::shared_ptr<std::atomic<bool>> allow_private_;
  exchange::Notices notices_;
  net::Client client_;
  EventForwarder forwarder_;
  std::map<uint32_t, net::TargetId> targets_;  // by host
  uint32_t in_flight_ = 0;
  size_t connections_ = 1;
  std::string ca_file_;
  std::atomic<size_t> mailbox_{0};
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace spillway::app
