#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/exchange/deployment.h"
#include "app/exchange/dsp_hosts.h"
#include "app/exchange/endpoint_use.h"
#include "app/exchange/flight.h"
#include "app/exchange/notice_desk.h"
#include "app/exchange/recorder.h"
#include "app/exchange/shed_gate.h"
#include "app/exchange/stats.h"
#include "app/serving/refusal_watch.h"
#include "base/rng.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/server.h"

namespace spillway::app {

/// One core's exchange: its reactor, its connections to every DSP, its auctions in flight. Drives
/// exchange::Auction with what the sockets say.
///
/// Thread rule: everything on its reactor's thread but the constructor, deploy() and the counters.
/// Memory: at most twice shedding.level_2.in_flight flights and, a flight, one call an endpoint;
/// both are kept for reuse.
class Worker final : public net::CallListener, public FlightOwner {
 public:
  /// What all workers share; it outlives them.
  struct Common {
    Recorder& recorder;
    NoticeDesk& notices;
    DspHosts& hosts;
    EndpointUse& use;
  };

  Worker(uint32_t index, uint32_t workers, const base::Clock& clock, uint64_t seed,
         const Common& common);
  ~Worker();

  [[nodiscard]] net::Reactor& reactor() { return reactor_; }

  /// From the next request on; auctions in flight keep what they began under. Any thread.
  void deploy(Deployment deployment);

  void on_request(const net::Request& request, net::Reply reply);

  [[nodiscard]] const WorkerStats& stats() const { return stats_; }

  /// The server that this worker is part of, at its own index: its byte budget decides shedding,
  /// and its reads pause when refusing costs too much. Outlives the worker's thread.
  void watch(net::Server& server) {
    server_ = &server;
    refusals_.watch(server, index_);
  }

 private:
  struct Target;
  struct Call;
  struct Route;

  /// Copies the client's counts to where scrapes read them.
  class Publisher final : public net::Timer {
   public:
    explicit Publisher(Worker& worker) : worker_(worker) {}

   private:
    void on_timer(base::Instant now) override { worker_.publish(now); }

    Worker& worker_;
  };

  void publish(base::Instant now);

  void take_on(Deployment deployment);
  [[nodiscard]] net::TargetSettings target_settings(const exchange::DspConfig& dsp,
                                                    const exchange::Endpoint& endpoint) const;
  void drop_unused_targets();
  void tell_held();

  void serve(const net::Request& request, net::Reply reply);
  exchange::ShedLevels judge(const net::Request& request, base::Instant now);
  Flight* take_flight();
  void ask_guards(Flight& flight, base::Instant now);
  void send_asks(Flight& flight, std::span<const exchange::Ask> asks, base::Instant now);
  void send_ask(Flight& flight, const exchange::Ask& ask);
  void begin_asking(Flight& flight, base::Instant now);
  void end_auction(Flight& flight, base::Instant now);
  void answer_caller(Flight& flight, base::Instant now);
  void tell_dsps(const Flight& flight);
  void on_event(const net::Request& request, net::Reply reply);
  void count_reply(const Flight& flight, const exchange::ReplyBytes& reply, base::Instant now);
  void count_bids(const Flight& flight);
  void release_if_done(Flight& flight);
  void caller_gone(Flight& flight);

  uint32_t take_call();
  void free_call(uint32_t slot);

  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override;
  void on_tail(uint64_t tag, const base::CallResult& result) override;
  void on_deadline(Flight& flight, base::Instant now) override;

  uint32_t index_;
  uint32_t workers_;
  net::Reactor reactor_;
  net::Client client_;
  base::Rng rng_;
  Recorder& recorder_;
  NoticeDesk& notices_;
  DspHosts& hosts_;
  EndpointUse& use_;
  WorkerStats stats_;
  net::Server* server_ = nullptr;
  ShedGate gate_{stats_};
  RefusalWatch refusals_{reactor_};

  std::shared_ptr<const Route> route_;
  std::vector<std::weak_ptr<const Route>> old_routes_;
  std::map<std::string, std::unique_ptr<Target>> targets_;  // by guard key
  uint64_t deployment_ = 0;                                 ///< Number of the last one taken on.
  uint64_t told_ = 0;  ///< Of the one up to which it was said what is held.
  std::vector<std::unique_ptr<Flight>> flights_;
  std::vector<Flight*> free_flights_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<uint32_t> free_calls_;
  uint32_t in_flight_ = 0;
  Publisher publisher_{*this};
  bool retiring_ = false;  ///< Some target waits for its last call or configuration to go.
};

}  // namespace spillway::app
