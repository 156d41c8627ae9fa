#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/caller_connection.h"
#include "net/http.h"
#include "net/http2_session.h"
#include "net/reactor.h"
#include "net/server_worker.h"
#include "net/stream.h"
#include "net/timer_wheel.h"

namespace spillway::net {

/// One caller's HTTP/2 connection: the socket under an Http2Session. Takes over from a
/// ServerConnection once that knows what is spoken.
///
/// Answers given in one poll of the reactor leave together, in writes of about 64 KiB. What the
/// kernel does not take is kept here, at most that much and a frame; nothing more is made until it
/// is gone. A caller that shuts its side is gone: it could not speak the protocol any more. At the
/// end it lingers as ServerConnection does.
class Http2Connection final : public CallerConnection, private ReadySink, private Timer {
 public:
  Http2Connection(ServerWorker& worker, Stream stream, Http2Caller caller);
  ~Http2Connection() override;

  /// Goes on from `read`, what was read before, in the worker's list already.
  void open(std::string_view read);
  void destroy() override;
  void hurry() override;
  void resume() override;
  void answer(PendingRequest& request, Response response) override;

 private:
  void on_ready(uint32_t epoll_events) override;
  void on_timer(base::Instant now) override;
  void read();
  [[nodiscard]] bool held() const;
  void take(std::string_view bytes, base::Instant arrival);
  void discard();
  void flush();
  void write(std::string_view bytes);
  void keep_unsent(std::string_view bytes);
  void flush_soon();
  void linger();
  void update();

  ServerWorker& worker_;
  Stream stream_;
  std::unique_ptr<Http2Session> session_;
  std::string unsent_;                      ///< What the kernel did not take.
  std::shared_ptr<Http2Connection*> self_;  ///< Nobody once it is gone; for deferred work.
  uint32_t mask_ = 0;
  base::Instant since_{};                    ///< Start of a blocked write or of lingering.
  base::Instant held_since_ = base::kNever;  ///< When it became readable in a pause of reads.
  size_t linger_left_ = 0;
  bool busy_ = false;       ///< A flush follows anyway.
  bool flush_due_ = false;  ///< A flush is deferred.
  bool blocked_ = false;
  bool lingering_ = false;
  bool dead_ = false;
};

}  // namespace spillway::net
