#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/epoll.h>

#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/caller_connection.h"
#include "net/http_parser.h"
#include "net/pending_request.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/stream.h"
#include "net/timer_wheel.h"

namespace spillway::net {

class ServerWorker;

/// One caller's connection: reads requests out of pooled buffers, hands each whole one to the
/// worker's handler and writes the answers in order.
///
/// One read per readiness, one write per answer (or per batch of answers ready together). An idle
/// connection holds no buffer. After a refusal or a last answer it *lingers*: our side is shut, up
/// to 256 KiB and 1 s of the caller's bytes are read and dropped, so that a reset does not overtake
/// the answer.
///
/// When HTTP/2 is agreed on by TLS, or begun with its preface, an Http2Connection takes over.
class ServerConnection final : public CallerConnection, private ReadySink, private Timer {
 public:
  ServerConnection(ServerWorker& worker, UniqueFd socket, std::string peer);
  ~ServerConnection() override;

  void open();
  void destroy() override;

  void hurry() override { update(); }

  void resume() override;
  void answer(PendingRequest& request, Response response) override;

 private:
  void on_ready(uint32_t epoll_events) override;
  void on_timer(base::Instant now) override;

  // Opening: PROXY header, then TLS handshake.
  void begin_opening();
  void go_on_opening();
  bool read_proxy_header();
  bool shake_hands();
  void count_failed_handshake();
  void become_http2();
  bool begins_http2();

  // Reading.
  void hold();
  void stop_reading();
  void take_held();
  void read();
  bool reserve();
  void relocate(BufferRef to);
  void parse();
  void dispatch();
  void refuse(ParseError error);
  void refuse(uint16_t status);
  void on_end();
  void close_idle();
  void discard();
  void drop_input();
  [[nodiscard]] bool can_parse() const;
  [[nodiscard]] bool held() const;

  // Writing.
  void pump();
  void flush();
  void advance(size_t bytes);
  void send_continue();
  void linger();
  void detach_all();
  void update();
  [[nodiscard]] base::Instant wanted_timer() const;

  ServerWorker& worker_;
  Stream stream_;
  std::string peer_;
  std::string proxy_header_;  ///< What was read of it.
  static constexpr uint32_t kToldOnce = EPOLLIN | EPOLLRDHUP | EPOLLET;
  uint32_t mask_ = 0;

  HttpParser parser_;
  BufferRef in_;
  size_t begin_ = 0;         ///< Of the message being read.
  size_t end_ = 0;           ///< Of the bytes read.
  base::Instant arrival_{};  ///< Of the last read's bytes.
  base::Duration arrival_age_{};
  base::Instant message_arrival_{};  ///< Of the current message's first byte.
  base::Duration message_age_{};
  base::Instant held_since_ = base::kNever;  ///< When it became readable in a pause of reads.
  base::Instant phase_since_{};  ///< Start of header, body, idle time or of a blocked write.

  PendingRequest* first_ = nullptr;
  PendingRequest* last_ = nullptr;
  size_t queued_ = 0;
  size_t linger_left_ = 0;
  base::Instant wanted_ = base::kNever;  ///< The armed timer may be earlier.

  bool opening_ = false;
  bool takes_proxy_header_ = false;
  bool peer_forwards_ = false;  ///< Its X-Forwarded-For is believed.
  bool fresh_ = true;           ///< No byte yet that HTTP/2 would not begin with.
  bool in_message_ = false;
  bool in_body_ = false;
  bool at_end_ = false;         ///< Told that the caller sends no more: behind its last bytes.
  bool may_read_more_ = false;  ///< The last read did not take all: it must be told again.
  bool needs_bytes_ = false;    ///< What was read is no whole message.
  bool wants_continue_ = false;
  bool no_more_requests_ = false;
  bool read_closed_ = false;
  bool blocked_ = false;  ///< The kernel takes no more bytes now.
  bool pumping_ = false;
  bool lingering_ = false;
  bool dead_ = false;
};

}  // namespace spillway::net
