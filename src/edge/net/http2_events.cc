// What nghttp2 tells an Http2Session while it reads and writes frames.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <nghttp2/nghttp2.h>

#include "base/time.h"
#include "net/http2_session.h"
#include "net/http2_stream.h"
#include "net/server.h"
#include "net/server_worker.h"

namespace spillway::net {
namespace {

/// DATA that brings less than this and ends nothing is counted like a frame that brings nothing.
constexpr size_t kLeastData = 64;

std::string_view text(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

struct Http2Session::Events {
  static Http2Session& self(void* user) { return *static_cast<Http2Session*>(user); }

  static Http2Stream* stream_of(nghttp2_session* session, int32_t id) {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }

  static int on_begin_frame(nghttp2_session* /*session*/, const nghttp2_frame_hd* head,
                            void* user) {
    if (head->type != NGHTTP2_HEADERS && head->type != NGHTTP2_DATA) {
      self(user).on_control_frame();
    }
    return 0;
  }

  static int on_begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                              void* user) {
    Http2Session& own = self(user);
    const ServerLimits& limits = own.worker_.shared.limits;
    own.fields_.begin(limits.header_bytes, limits.header_count);
    own.header_since_ = own.now();
    own.watch(own.header_since_ + limits.header_timeout);
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      own.begin_stream(frame->hd.stream_id);
    }
    return 0;
  }

  // NOLINTNEXTLINE(readability-function-size): its parameters are nghttp2's
  static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                       const uint8_t* name, size_t name_size, const uint8_t* value,
                       size_t value_size, uint8_t /*flags*/, void* user) {
    Http2Session& own = self(user);
    if (own.fields_.add(text(name, name_size), text(value, value_size))) {
      return 0;
    }
    own.worker_.counters.http2_header_floods.add();
    own.end(NGHTTP2_ENHANCE_YOUR_CALM);
    return NGHTTP2_ERR_PAUSE;
  }

  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Session& own = self(user);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
        on_headers_frame(own, session, *frame);
        break;
      case NGHTTP2_DATA:
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
          on_last_frame(own, stream_of(session, frame->hd.stream_id));
        } else if (frame->hd.length - frame->data.padlen < kLeastData) {
          own.on_control_frame();
        }
        break;
      case NGHTTP2_RST_STREAM:
        own.worker_.counters.http2_resets.add();
        own.on_reset();
        break;
      case NGHTTP2_SETTINGS:
        own.met_ = true;
        break;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
          own.finish_drain();
        }
        break;
      default:
        break;
    }
    return 0;
  }

  /// Whatever was wrong: its header block, if it had one, is no longer under way.
  static int on_bad_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, int /*error*/,
                          void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS) {
      self(user).header_since_ = base::kNever;
    }
    return 0;
  }

  static void on_headers_frame(Http2Session& own, nghttp2_session* session,
                               const nghttp2_frame& frame) {
    own.header_since_ = base::kNever;
    Http2Stream* const stream = stream_of(session, frame.hd.stream_id);
    if (stream != nullptr && frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
      stream->remote_done = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
      own.on_headers(*stream);
    } else {
      own.fields_.drop();
    }
    if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      on_last_frame(own, stream);
    }
  }

  static void on_last_frame(Http2Session& own, Http2Stream* stream) {
    if (stream != nullptr) {
      stream->remote_done = true;
      own.on_whole(*stream);
    }
  }

  static int on_data(nghttp2_session* session, uint8_t /*flags*/, int32_t id, const uint8_t* bytes,
                     size_t size, void* user) {
    if (Http2Stream* const stream = stream_of(session, id); stream != nullptr) {
      self(user).on_body(*stream, text(bytes, size));
    }
    return 0;
  }

  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Session& own = self(user);
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
      on_reset_sent(own, frame->rst_stream.error_code);
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
      const uint32_t code = frame->goaway.error_code;
      if (code != NGHTTP2_NO_ERROR && code != NGHTTP2_ENHANCE_YOUR_CALM) {
        own.worker_.counters.http2_protocol.add();
      } else if (own.drain_since_ != base::kNever && !own.drained_ && !own.stopped_) {
        own.on_notice_sent();
      }
    } else if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
               (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      Http2Stream* const stream = stream_of(session, frame->hd.stream_id);
      if (stream != nullptr) {
        stream->sent = true;
        if (!stream->remote_done) {  // refused before it was whole
          nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
        }
      }
    }
    return 0;
  }

  static void on_reset_sent(Http2Session& own, uint32_t code) {
    if (code == NGHTTP2_NO_ERROR || code == NGHTTP2_CANCEL) {
      return;
    }
    auto& counters = own.worker_.counters;
    (code == NGHTTP2_REFUSED_STREAM ? counters.http2_refused : counters.http2_protocol).add();
    own.on_reset();  // the caller made us do it
  }

  static int on_close(nghttp2_session* session, int32_t id, uint32_t /*error_code*/, void* user) {
    if (Http2Stream* const stream = stream_of(session, id); stream != nullptr) {
      self(user).on_closed(*stream);
    }
    return 0;
  }
};

const nghttp2_session_callbacks* Http2Session::callbacks() {
  struct Free {
    void operator()(nghttp2_session_callbacks* table) const {
      nghttp2_session_callbacks_del(table);
    }
  };

  static const auto table = [] {
    nghttp2_session_callbacks* fresh = nullptr;
    nghttp2_session_callbacks_new(&fresh);
    nghttp2_session_callbacks_set_on_begin_frame_callback(fresh, &Events::on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(fresh, &Events::on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(fresh, &Events::on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(fresh, &Events::on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(fresh, &Events::on_bad_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(fresh, &Events::on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(fresh, &Events::on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(fresh, &Events::on_close);
    nghttp2_session_callbacks_set_send_data_callback(fresh, &send_data);
    return std::unique_ptr<nghttp2_session_callbacks, Free>(fresh);
  }();
  return table.get();
}

void Http2Session::on_control_frame() {
  if (!stopped_ && floods_.control_frame(now())) {
    worker_.counters.http2_control_floods.add();
    end(NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

void Http2Session::on_reset() {
  if (!stopped_ && floods_.reset(now())) {
    worker_.counters.http2_reset_floods.add();
    end(NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

}  // namespace spillway::net
