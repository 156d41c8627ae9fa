#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/load/self_watch.h"
#include "base/call_result.h"
#include "base/counter.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/tls.h"
#include "openrtb/document.h"
#include "workload/arrivals.h"
#include "workload/corpus.h"
#include "workload/series.h"
#include "workload/shuffle.h"
#include "workload/tally.h"

namespace spillway::app {

struct LoadTarget {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::string path = "/openrtb2/auction";
  std::shared_ptr<net::TlsClient> tls{};  ///< Null: plain.
};

struct LoadSettings {
  std::vector<LoadTarget> targets;  ///< Arrivals take turns.
  workload::ArrivalSettings arrivals;
  size_t connections = 256;  ///< Cap; opened as the schedule needs them. [1, 60 000].
  base::Duration timeout = std::chrono::milliseconds(500);  ///< A request, from its sending.
  base::Duration late_after = std::chrono::milliseconds(10);
  uint64_t seed = 1;
  bool keep_alive = true;  ///< False: a connection of its own for every request.
  bool shuffle = false;    ///< Every connection goes through the corpus in an order of its own.
  std::string headers;     ///< More request headers: whole lines, each ended by CRLF.
};

/// Sends requests at targets on a schedule, whatever the targets do: an open loop. Each goes out
/// when it is due on a free connection or a new one; when the cap is reached the arrival is dropped
/// and counted, never queued. Every request has a timeout, so that a run ends on time.
///
/// One thread: the reactor's; tally(), in_flight() and connects() may be read by any. Memory:
/// bounded by `connections` and the series.
class Generator final : private net::CallListener, private net::ReadySink {
 public:
  /// `corpus` must outlive the generator; null: GET without a body.
  Generator(net::Reactor& reactor, const LoadSettings& settings, const workload::Corpus* corpus,
            workload::ArrivalStripe stripe = {});
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// The schedule begins at `start`. `done` is called once, when every request sent has ended.
  void start(base::Instant start, std::move_only_function<void()> done);

  /// No more arrivals; what is in flight still ends.
  void stop_early();

  [[nodiscard]] const workload::Tally& tally() const { return tally_; }

  [[nodiscard]] const workload::Series& series() const { return series_; }

  [[nodiscard]] uint64_t in_flight() const { return in_flight_.value(); }

  /// Connections opened so far.
  [[nodiscard]] uint64_t connects() const;

 private:
  struct Pending {
    base::Instant due{};
    base::Instant sent{};
    base::Duration tmax{};
    bool valid = true;
  };

  /// A target's connections; those whose requests go out compressed are apart.
  struct Place {
    net::TargetId plain = 0;
    net::TargetId gzip = 0;
  };

  void on_ready(uint32_t events) override;
  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override;
  void on_tail(uint64_t tag, const base::CallResult& result) override;

  void add_places();
  void send(base::Instant due, uint64_t number);
  const workload::Corpus::Item& pick(uint32_t slot, uint64_t number);
  void fill_parts(const workload::Corpus::Item& item, uint64_t number);
  void wait_for_next();
  void finish_if_over();

  net::Reactor& reactor_;
  LoadSettings settings_;
  const workload::Corpus* corpus_;
  workload::ArrivalStripe stripe_;
  workload::Arrivals arrivals_;
  workload::Tally tally_;
  workload::Series series_;
  SelfWatch watch_;
  openrtb::Document document_;
  net::Client client_;
  std::vector<Place> places_;
  std::string headers_;
  std::string id_, user_, seconds_, millis_;
  int64_t stamped_ms_ = 0;
  std::vector<std::string_view> parts_;
  std::vector<Pending> pending_;
  std::vector<uint32_t> free_;
  std::vector<uint64_t> steps_;  ///< With shuffle: how far each slot is in its order.
  base::Counter in_flight_;
  int timer_fd_ = -1;
  bool stopping_ = false;
  std::move_only_function<void()> done_;
};

}  // namespace spillway::app
