#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/gzip.h"
#include "net/pending_request.h"
#include "net/reactor.h"
#include "net/response_head.h"
#include "net/server.h"
#include "net/stream.h"
#include "net/timer_wheel.h"

namespace spillway::net {

class CallerConnection;

/// What all workers of a server share. Written by any thread.
struct ServerShared {
  ServerLimits limits;
  ListenerSettings listener;
  std::atomic<size_t> open{0};  ///< Connections, those being handed over included.
  std::atomic<bool> draining{false};
  std::atomic<base::Instant> closed_at{base::kNever};  ///< When the listener closed for good.
};

/// One worker's part of a server: its connections, buffers and counts. Everything on its reactor's
/// thread but `load`.
class ServerWorker : private Timer {
 public:
  ServerWorker(ServerShared& common, Reactor& own_reactor, Handler request_handler);
  ServerWorker(const ServerWorker&) = delete;
  ServerWorker& operator=(const ServerWorker&) = delete;
  virtual ~ServerWorker();

  void adopt(UniqueFd socket, const std::string& peer);

  /// The listener has closed: idle connections have little time left.
  void hurry_idle();
  void close_all();

  /// Not while the server drains: what it waits for must come in.
  void pause_reads(base::Instant until);

  [[nodiscard]] bool reads_paused() const { return reads_paused_; }

  /// A connection became readable in a pause: counted, and noted in `since`, once.
  void note_held(base::Instant& since);

  /// Since when bytes read now may have waited, a pause included; clears `held_since`.
  [[nodiscard]] base::Instant arrival(base::Instant& held_since) const;

  /// How long what came at `arrival` has waited for this thread until now, pauses not counted.
  [[nodiscard]] base::Duration queue_age(base::Instant arrival) const;

  /// A request was refused in this Scope: the Scopes of the next while are timed.
  void note_refusal() {
    refused_ = true;
    timed_until_ = reactor.now() + kTimedFor;
  }

  /// A cleared request, linked to this worker.
  PendingRequest& take_request();
  /// Frees `request` when neither a Reply nor a connection holds it any more.
  void release(PendingRequest& request);

  void unlink(CallerConnection& connection);
  /// `next` goes on where `connection` ends; returns it.
  CallerConnection& replace(CallerConnection& connection, std::unique_ptr<CallerConnection> next);

  /// Connections closed while their own code runs are freed when the outermost Scope ends.
  class Scope {
   public:
    explicit Scope(ServerWorker& worker) : worker_(worker) {
      if (worker_.depth_++ == 0 && worker_.reactor.now() < worker_.timed_until_) {
        began_ = worker_.reactor.refresh();
      }
    }

    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    ~Scope() {
      if (--worker_.depth_ > 0) {
        return;
      }
      if (!worker_.dead_.empty()) {
        worker_.bury();
      }
      if (std::exchange(worker_.refused_, false) && began_ != base::kNever) {
        worker_.counters.refusing_ns.add(
            static_cast<uint64_t>((worker_.reactor.refresh() - began_).count()));
      }
    }

   private:
    ServerWorker& worker_;
    base::Instant began_ = base::kNever;
  };

  ServerShared& shared;
  Reactor& reactor;
  Handler handler;
  ServerCounters counters;
  BufferPool buffers;
  DateLine date;
  Inflater inflater;
  Deflater deflater;
  size_t handshakes = 0;          ///< PROXY headers and TLS handshakes under way.
  std::atomic<uint32_t> load{0};  ///< Connections handed to this worker and not closed.

 private:
  static constexpr base::Duration kTimedFor = std::chrono::milliseconds(100);

  void on_timer(base::Instant now) override;
  void end_pause();
  void bury();

  std::vector<std::unique_ptr<CallerConnection>> connections_;
  std::vector<std::unique_ptr<CallerConnection>> dead_;
  std::vector<std::unique_ptr<PendingRequest>> free_;
  PendingRequest* live_ = nullptr;
  size_t depth_ = 0;
  base::Instant timed_until_{};
  base::Instant pause_ended_at_{};
  bool refused_ = false;
  bool reads_paused_ = false;
};

}  // namespace spillway::net
