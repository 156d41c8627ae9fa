#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/tls.h"
#include "openrtb/document.h"
#include "workload/arrivals.h"
#include "workload/corpus.h"
#include "workload/tally.h"

namespace spillway::app {

struct LoadSettings {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::string path = "/openrtb2/auction";
  std::shared_ptr<net::TlsClient> tls{};  ///< Null: plain.
  workload::ArrivalSettings arrivals;
  size_t connections = 256;  ///< Cap; opened as the schedule needs them. [1, 60 000].
  base::Duration timeout = std::chrono::milliseconds(500);  ///< A request, from its sending.
  base::Duration late_after = std::chrono::milliseconds(10);
  uint64_t seed = 1;
};

/// Sends a corpus at a target on a schedule, whatever the target does: an open loop. Each request
/// goes out when it is due on a free connection or a new one; when the cap is reached the arrival
/// is dropped and counted, never queued. Every request has a timeout, so that a run ends on time.
///
/// One thread: the reactor's. Memory: bounded by `connections`.
class Generator final : private net::CallListener, private net::ReadySink {
 public:
  /// `corpus` must outlive the generator.
  Generator(net::Reactor& reactor, const LoadSettings& settings, const workload::Corpus& corpus);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Begins the schedule now. `done` is called once, when every request sent has ended.
  void start(std::move_only_function<void()> done);

  /// No more arrivals; what is in flight still ends.
  void stop_early() { stopping_ = true; }

  [[nodiscard]] const workload::Tally& tally() const { return tally_; }

  [[nodiscard]] const LoadSettings& settings() const { return settings_; }

  [[nodiscard]] size_t in_flight() const { return in_flight_; }

  /// Every arrival has come due.
  [[nodiscard]] bool schedule_over() const { return !arrivals_.next(); }

  [[nodiscard]] base::Instant started_at() const { return started_at_; }

  [[nodiscard]] base::Duration elapsed() const;  ///< Since the start; frozen at the end.

  [[nodiscard]] const net::TargetCounters& connections() const { return client_.counters(target_); }

 private:
  struct Pending {
    base::Instant due{};
    base::Instant sent{};
  };

  void on_ready(uint32_t events) override;
  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override;
  void on_tail(uint64_t tag, const base::CallResult& result) override;

  void send(base::Instant due);
  void wait_for_next();
  void finish_if_over();

  net::Reactor& reactor_;
  LoadSettings settings_;
  const workload::Corpus& corpus_;
  workload::Arrivals arrivals_;
  workload::Tally tally_;
  openrtb::Document document_;
  net::Client client_;
  net::TargetId target_;
  std::string headers_;
  std::string id_;
  std::vector<Pending> pending_;
  std::vector<uint32_t> free_;
  size_t in_flight_ = 0;
  int timer_fd_ = -1;
  bool stopping_ = false;
  base::Instant started_at_{};
  base::Instant ended_at_{};
  std::move_only_function<void()> done_;
};

}  // namespace spillway::app
