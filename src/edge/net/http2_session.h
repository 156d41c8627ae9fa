#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "base/time.h"
#include "net/caller_connection.h"
#include "net/http.h"
#include "net/http2_fields.h"
#include "net/http2_floods.h"
#include "net/http2_memory.h"
#include "net/http2_stream.h"
#include "net/pending_request.h"
#include "net/server_worker.h"

namespace spillway::net {

/// Who is at the other end, as the connection's opening told.
struct Http2Caller {
  std::string peer;       ///< "address:port".
  bool secure = false;    ///< Over TLS.
  bool forwards = false;  ///< Its X-Forwarded-For is believed.
};

/// The protocol of one caller's HTTP/2 connection, without its socket: bytes in, frames out, whole
/// requests to the worker's handler. nghttp2 checks framing, header grammar and pseudo headers,
/// what a request may not carry (`connection`, `transfer-encoding`, ...) and that a body has its
/// declared length; this class adds the limits.
///
/// A request over a limit is answered (413, 431, 503, 408) and the rest of it declined with
/// RST_STREAM, NO_ERROR; the connection goes on. A caller that costs more than it asks ends it:
/// GOAWAY, ENHANCE_YOUR_CALM. Bodies are kept whole, one buffer a request, so that flow control
/// gives back what is received; max_streams and the worker's byte budget bound the sum. An answer
/// must be taken whole within write_timeout, whether socket or window is what stays shut.
///
/// One thread. Memory: nghttp2's is capped at 256 KiB and 8 KiB a stream, an idle session holds
/// about 26 KiB. Source: RFC 9113; CVE-2019-9511 to -9518, CVE-2023-44487, CVE-2024-27316,
/// CVE-2025-8671.
class Http2Session {
 public:
  /// `connection` is what requests name as theirs.
  Http2Session(ServerWorker& worker, CallerConnection& connection, Http2Caller caller);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;
  ~Http2Session();

  /// Takes the caller's bytes, the 24 of its preface first; handlers are called from in here.
  /// False: the connection is of no use any more. At most 16 KiB at once, so that acknowledgements
  /// leave between two calls. `arrival`: since when they may have waited to be read.
  [[nodiscard]] bool receive(std::string_view bytes, base::Instant arrival);

  /// Appends frames to `out` until it has `most` bytes or there are none; a frame more may come.
  /// False as above.
  [[nodiscard]] bool produce(std::string& out, size_t most);

  /// The kernel has taken everything that produce() made.
  void delivered();

  void answer(PendingRequest& request, Response response);

  /// Graceful end: GOAWAY at once, another that names the last request taken once the caller has
  /// seen it (or a second later), over() when that one is answered. Idempotent.
  void drain();

  /// Ends what is over its time, and finds out when to look again.
  void on_time(base::Instant now);

  /// Not later than the next thing that on_time() has to do.
  [[nodiscard]] base::Instant next_look() const { return next_look_; }

  /// Nothing more is to be read or written.
  [[nodiscard]] bool over() const;

  /// Lets go of all requests and tells their owners; only destruction may follow.
  void detach_all();

  [[nodiscard]] size_t memory_bytes() const { return memory_.bytes(); }

 private:
  struct Events;  // what nghttp2 calls
  static const nghttp2_session_callbacks* callbacks();
  static int send_data(nghttp2_session* session, nghttp2_frame* frame, const uint8_t* head,
                       size_t length, nghttp2_data_source* source, void* user);
  static nghttp2_nv http2_line(std::string_view name, std::string_view value);

  void begin_stream(int32_t id);
  void on_headers(Http2Stream& stream);
  void on_body(Http2Stream& stream, std::string_view bytes);
  bool make_room(Http2Stream& stream, size_t bytes);
  void on_whole(Http2Stream& stream);
  void dispatch(Http2Stream& stream, std::string_view body);
  void on_control_frame();
  void on_reset();
  void on_closed(Http2Stream& stream);
  void refuse(Http2Stream& stream, uint16_t status);
  void submit(Http2Stream& stream, Response response);
  void forget(Http2Stream& stream);
  void end(uint32_t error_code);
  void on_notice_sent();
  void finish_drain();
  void watch(base::Instant instant);
  void look_at_streams(base::Instant now);

  [[nodiscard]] base::Instant now() const { return worker_.reactor.now(); }

  [[nodiscard]] const Http2Settings& settings() const { return worker_.shared.listener.http2; }

  ServerWorker& worker_;
  CallerConnection& connection_;
  Http2Caller caller_;
  Http2Memory memory_;
  nghttp2_session* session_ = nullptr;
  Http2Floods floods_;
  Http2Fields fields_;
  std::vector<std::unique_ptr<Http2Stream>> streams_;
  std::vector<nghttp2_nv> lines_;         ///< Of the answer being submitted.
  std::vector<base::Instant> deadlines_;  ///< Of answers made and not delivered.
  std::string* out_ = nullptr;            ///< During produce() only.
  size_t out_most_ = 0;

  base::Instant next_look_ = base::kNever;
  base::Instant arrival_;  ///< Of the bytes being received.
  base::Instant opened_at_;
  base::Instant idle_since_;
  base::Instant header_since_ = base::kNever;  ///< Of the block under way.
  base::Instant drain_since_ = base::kNever;
  bool met_ = false;      ///< The caller's preface is whole.
  bool drained_ = false;  ///< The last request taken is named.
  bool stopped_ = false;  ///< What comes in is not looked at any more.
};

}  // namespace spillway::net
