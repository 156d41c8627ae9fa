#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "app/bidder/deployment.h"
#include "app/bidder/flight.h"
#include "app/bidder/stats.h"
#include "app/bidder/stores.h"
#include "app/serving/refusal_watch.h"
#include "base/time.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/timer_wheel.h"
#include "resilience/shedder.h"

namespace spillway::app::bidding {

/// One core's bidder: its reactor, its stores, its requests in flight. Drives bidder::Pipeline with
/// what the sockets say, and takes notices.
///
/// Thread rule: everything on its reactor's thread but the constructor, use(), watch(), deploy()
/// and the counters. Memory: at most twice shedding.level_2.in_flight flights, kept for reuse.
class Worker final : public FlightOwner, public StoreListener {
 public:
  /// `process`: a number that no other process has; bids' keys follow from it.
  Worker(uint32_t index, const base::Clock& clock, uint64_t process, const BidderConfig& config,
         Shared& shared);
  ~Worker();

  [[nodiscard]] net::Reactor& reactor() { return reactor_; }

  /// Before its thread begins; without, this process is all there is.
  void use(std::unique_ptr<Stores> stores) {
    stores_ = std::move(stores);
    reactor_.post([this] { stores_->start(); });
  }

  [[nodiscard]] Stores* stores() { return stores_.get(); }

  /// From the next request on. `pacing`: of the deployment's catalog when that is a new one, this
  /// worker's alone; else null. Any thread.
  void deploy(std::shared_ptr<const Deployment> deployment,
              std::shared_ptr<bidder::PacerTable> pacing);

  void on_request(const net::Request& request, net::Reply reply);

  [[nodiscard]] const WorkerStats& stats() const { return stats_; }

  /// The server that this worker is part of, at its own index.
  void watch(net::Server& server) {
    server_ = &server;
    refusals_.watch(server, index_);
  }

 private:
  /// Shows that the loop turns.
  class Heart final : public net::Timer {
   public:
    explicit Heart(Worker& worker) : worker_(worker) {}

   private:
    void on_timer(base::Instant now) override { worker_.beat(now); }

    Worker& worker_;
  };

  void beat(base::Instant now);
  void take_on(std::shared_ptr<const Deployment> deployment,
               std::shared_ptr<bidder::PacerTable> pacing);
  [[nodiscard]] std::optional<size_t> exchange_of(const net::Request& request) const;
  [[nodiscard]] resilience::Shed judge(const net::Request& request, base::Instant now);
  void serve(const net::Request& request, net::Reply reply, size_t exchange);
  [[nodiscard]] bidder::World world_of(const Deployment& deployment);
  Flight& take_flight();
  void drive(Flight& flight);
  [[nodiscard]] bool ask(Flight& flight);
  void stop_asking(Flight& flight);
  void answer(Flight& flight);
  void log_bids(const bidder::Pipeline& pipeline);
  void release(Flight& flight);
  void caller_gone(Flight& flight);
  [[nodiscard]] Flight* flight_of(uint64_t tag);

  void on_notice(const net::Request& request, net::Reply reply);
  [[nodiscard]] NoticeEnd take_notice(const bidder::Notice& notice);
  [[nodiscard]] NoticeEnd take_win(const bidder::Notice& notice);
  [[nodiscard]] NoticeEnd take_loss(const bidder::Notice& notice);
  [[nodiscard]] base::Cpm price_of(const bidder::Notice& notice);
  [[nodiscard]] bool count_impression(const bidder::Notice& notice);
  void log_notice(const bidder::Notice& notice, NoticeEnd end);
  void list_keys(const bidder::Claims& claims, int64_t unix_s);

  void on_patience_over(Flight& flight) override;
  void on_segments(uint64_t tag, const bidder::caps::Segments& segments) override;
  void on_counts(uint64_t tag,
                 std::optional<std::span<const bidder::caps::CapCounts>> counts) override;

  uint32_t index_;
  uint64_t process_;
  uint64_t requests_ = 0;
  net::Reactor reactor_;
  Shared& shared_;
  WorkerStats stats_;
  net::Server* server_ = nullptr;
  RefusalWatch refusals_{reactor_};
  resilience::Shedder shedder_;
  std::shared_ptr<const Deployment> deployment_;
  bidder::Pacer pacer_;
  bidder::Scratch scratch_;
  std::unique_ptr<Stores> stores_;
  std::vector<std::unique_ptr<Flight>> flights_;
  std::vector<Flight*> free_;
  Heart heart_{*this};
  std::vector<bidder::caps::CapLimit> limits_;  ///< Of one notice,
  std::vector<bidder::caps::CapKey> keys_;      ///< and its keys.
};

}  // namespace spillway::app::bidding
