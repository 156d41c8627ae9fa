// The reading half of Http2Session: from a header block to the handler.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <nghttp2/nghttp2.h>

#include "base/time.h"
#include "net/address_set.h"
#include "net/buffer_pool.h"
#include "net/gzip.h"
#include "net/http.h"
#include "net/http2_session.h"
#include "net/http2_stream.h"
#include "net/pending_request.h"
#include "net/server.h"
#include "net/server_codings.h"
#include "net/server_worker.h"

namespace spillway::net {
namespace {

/// nghttp2 has checked that it is one; what does not fit is too large for anybody.
size_t declared_size(const Request& request) {
  const std::string_view text = request.header("content-length");
  size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  return error == std::errc::result_out_of_range ? std::numeric_limits<size_t>::max() : size;
}

}  // namespace

void Http2Session::begin_stream(int32_t id) {
  if (streams_.size() >= settings().max_streams) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
    return;
  }
  streams_.push_back(std::make_unique<Http2Stream>());
  Http2Stream& stream = *streams_.back();
  stream.id = id;
  stream.index = streams_.size() - 1;
  stream.arrival = arrival_;
  stream.age = worker_.queue_age(stream.arrival);
  stream.pending = &worker_.take_request();
  stream.pending->connection = &connection_;
  stream.pending->stream = &stream;
  stream.pending->queued = true;
  nghttp2_session_set_stream_user_data(session_, id, &stream);
}

void Http2Session::on_headers(Http2Stream& stream) {
  PendingRequest& pending = *stream.pending;
  const ServerLimits& limits = worker_.shared.limits;
  const uint16_t status = fields_.place(pending, worker_.buffers);
  if (status != 0) {
    auto& counters = worker_.counters;
    (status == 431   ? counters.header_too_large
     : status == 503 ? counters.over_budget
                     : counters.bad_request)
        .add();
    refuse(stream, status);
    return;
  }
  stream.expected_size = declared_size(pending.request);
  if (stream.expected_size > limits.body_bytes) {
    worker_.counters.body_too_large.add();
    refuse(stream, 413);
    return;
  }
  stream.phase = Http2Stream::Phase::kBody;
  if (stream.remote_done) {
    return;
  }
  stream.since = now();
  watch(stream.since + limits.body_timeout);
  if (same_name(pending.request.header("expect"), "100-continue")) {
    nghttp2_nv line = http2_line(":status", "100");
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream.id, nullptr, &line, 1, nullptr);
  }
}

void Http2Session::on_body(Http2Stream& stream, std::string_view bytes) {
  if (stream.phase != Http2Stream::Phase::kBody) {
    return;  // refused already
  }
  if (stream.body_size + bytes.size() > worker_.shared.limits.body_bytes) {
    worker_.counters.body_too_large.add();
    refuse(stream, 413);
  } else if (!make_room(stream, stream.body_size + bytes.size())) {
    worker_.counters.over_budget.add();
    refuse(stream, 503);
  } else {
    std::memcpy(stream.body.data() + stream.body_size, bytes.data(), bytes.size());
    stream.body_size += bytes.size();
  }
}

/// For `bytes` of body in all.
bool Http2Session::make_room(Http2Stream& stream, size_t bytes) {
  if (stream.body && bytes <= stream.body.capacity()) {
    return true;
  }
  const size_t doubled = std::min(2 * stream.body_size, worker_.shared.limits.body_bytes);
  BufferRef larger = worker_.buffers.take(std::max({bytes, doubled, stream.expected_size}));
  if (!larger) {
    return false;
  }
  if (stream.body_size != 0) {
    std::memcpy(larger.data(), stream.body.data(), stream.body_size);
  }
  stream.body = std::move(larger);
  worker_.counters.buffered_bytes.set(worker_.buffers.bytes());
  return true;
}

void Http2Session::on_whole(Http2Stream& stream) {
  if (stream.phase != Http2Stream::Phase::kBody) {
    return;
  }
  PendingRequest& pending = *stream.pending;
  std::string_view body = pending.request.body;  // empty, with its padding
  if (stream.body) {
    std::memset(stream.body.data() + stream.body_size, 0, kBodyPadding);
    body = {stream.body.data(), stream.body_size};
  }
  if (worker_.shared.listener.gzip) {
    const uint16_t status = inflate_body(worker_, pending.request.header("content-encoding"), body,
                                         pending.inflated, body);
    if (status != 0) {
      refuse(stream, status);
      return;
    }
  }
  if (pending.inflated) {
    stream.body.reset();
  } else {
    pending.inflated = std::move(stream.body);
  }
  dispatch(stream, body);
}

void Http2Session::dispatch(Http2Stream& stream, std::string_view body) {
  PendingRequest& pending = *stream.pending;
  Request& request = pending.request;
  const size_t peer_size = std::min(caller_.peer.size(), pending.peer.size());
  std::memcpy(pending.peer.data(), caller_.peer.data(), peer_size);
  request.body = body;
  request.peer = {pending.peer.data(), peer_size};
  request.client_address = address_of(request.peer);
  request.secure = caller_.secure;
  request.time_zero = stream.arrival;
  request.read_at = now();
  request.queue_age = stream.age;
  if (caller_.forwards) {
    name_client(worker_.shared.listener.forwarders, pending);
  }
  pending.head_only = request.method == "HEAD";
  pending.takes_gzip =
      worker_.shared.listener.gzip && accepts_gzip(request.header("accept-encoding"));
  pending.held = true;
  stream.phase = Http2Stream::Phase::kHandler;
  worker_.counters.requests.add();
  worker_.handler(request, Reply(&pending));
}

/// nghttp2 has let go of it: answered, or reset by either side.
void Http2Session::on_closed(Http2Stream& stream) {
  PendingRequest& pending = *stream.pending;
  if (stream.sent) {
    worker_.counters.answers.add();
    if (pending.deadline != base::kNever) {
      deadlines_.push_back(pending.deadline);
    }
  }
  if (!pending.held) {
    forget(stream);
    return;
  }
  // The handler's views stay good, and the work counts as this connection's, until it lets go.
  stream.phase = Http2Stream::Phase::kClosed;
  pending.caller_gone = true;
  worker_.counters.callers_gone.add();
  if (auto gone = std::exchange(pending.gone, nullptr)) {
    gone();
  }
}

}  // namespace spillway::net
