#pragma once

// For this room's tests only: an HTTP/2 caller that behaves, and one that sends what it likes.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include "net/server_fixture.h"
#include "net/test_kit.h"

namespace spillway::net::testing {

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// One frame as it is on the wire.
inline std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  const size_t size = payload.size();
  std::string bytes{static_cast<char>(size >> 16), static_cast<char>(size >> 8),
                    static_cast<char>(size), static_cast<char>(type), static_cast<char>(flags)};
  for (const int shift : {24, 16, 8, 0}) {
    bytes.push_back(static_cast<char>(stream >> shift));
  }
  return bytes.append(payload);
}

inline std::string big_endian(uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) {
    bytes.push_back(static_cast<char>(number >> shift));
  }
  return bytes;
}

struct Frame {
  uint8_t type;
  uint8_t flags;
  uint32_t stream;
  std::string payload;

  [[nodiscard]] uint32_t number(size_t at) const {
    uint32_t value = 0;
    for (size_t i = at; i < at + 4 && i < payload.size(); ++i) {
      value = value << 8 | static_cast<uint8_t>(payload[i]);
    }
    return value;
  }
};

/// Takes the whole frames off the front of `bytes`.
inline std::vector<Frame> take_frames(std::string& bytes) {
  constexpr size_t kHead = 9;
  std::vector<Frame> frames;
  size_t at = 0;
  const auto byte = [&](size_t offset) { return static_cast<uint8_t>(bytes[at + offset]); };
  while (at + kHead <= bytes.size()) {
    const size_t size = size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2);
    if (at + kHead + size > bytes.size()) {
      break;
    }
    const Frame stream{0, 0, 0, bytes.substr(at + 5, 4)};
    frames.push_back({byte(3), byte(4), stream.number(0), bytes.substr(at + kHead, size)});
    at += kHead + size;
  }
  bytes.erase(0, at);
  return frames;
}

/// A literal header field without indexing or Huffman coding; both shorter than 127 bytes.
inline std::string literal(std::string_view name, std::string_view value) {
  std::string bytes(1, '\0');
  bytes.push_back(static_cast<char>(name.size()));
  bytes.append(name).push_back(static_cast<char>(value.size()));
  return bytes.append(value);
}

/// The header block of GET or POST `path`, by the static table's indices.
inline std::string block(std::string_view path, bool post = false) {
  return std::string(post ? "\x83" : "\x82") + "\x86" + literal(":authority", "a") +
         literal(":path", path);
}

inline constexpr uint8_t kEndStream = NGHTTP2_FLAG_END_STREAM;
inline constexpr uint8_t kEndHeaders = NGHTTP2_FLAG_END_HEADERS;

struct Http2Ask {
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  size_t piece = SIZE_MAX;  ///< Most bytes of body in a frame.
};

struct Http2Answer {
  std::string status{};
  std::string informational{};
  std::map<std::string, std::string> headers{};
  std::string body{};
  bool closed = false;
  uint32_t error = 0;  ///< With closed: RST_STREAM's code.
};

/// A blocking HTTP/2 client: frames it did not make itself can be slipped in between.
class Http2Client {
 public:
  explicit Http2Client(uint16_t port, std::vector<nghttp2_settings_entry> settings = {},
                       std::string_view before_preface = {}, bool opens_windows = true)
      : socket(RawSocket::to(port)) {
    const int now = 1;
    setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
    socket.send(before_preface);
    nghttp2_session_callbacks* table = nullptr;
    nghttp2_session_callbacks_new(&table);
    nghttp2_session_callbacks_set_on_header_callback(table, &on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(table, &on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, &on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(table, &on_close);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, opens_windows ? 0 : 1);
    nghttp2_session_client_new2(&session_, table, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(table);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  }

  ~Http2Client() { nghttp2_session_del(session_); }

  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  int32_t ask(std::string_view path, const Http2Ask& what = {}) {
    std::vector<nghttp2_nv> lines{line(":method", what.method), line(":scheme", "http"),
                                  line(":authority", "a.example"), line(":path", path)};
    for (const auto& [name, value] : what.headers) {
      lines.push_back(line(name, value));
    }
    bodies_.push_back(std::make_unique<Body>(Body{what.body, what.piece, 0}));
    nghttp2_data_provider provider{.source = {.ptr = bodies_.back().get()}, .read_callback = &read};
    const bool has_body = what.method == "POST";
    const int32_t id = nghttp2_submit_request(session_, nullptr, lines.data(), lines.size(),
                                              has_body ? &provider : nullptr, nullptr);
    answers[id];
    return id;
  }

  void reset(int32_t id) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    flush();
  }

  /// Sends what is due.
  bool flush() {
    const uint8_t* bytes = nullptr;
    for (ssize_t size = 1; size > 0;) {
      size = nghttp2_session_mem_send(session_, &bytes);
      if (size < 0 ||
          !socket.send({reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)})) {
        return false;
      }
    }
    return true;
  }

  /// Sends and receives until `done` or the end; whether it was `done`.
  bool run(const std::function<bool()>& done) {
    flush();
    while (!done()) {
      if (!socket.receive()) {
        ended = true;
        return done();
      }
      const std::string bytes = socket.take();
      unscanned_ += bytes;
      for (const Frame& frame : take_frames(unscanned_)) {
        if (frame.type == NGHTTP2_GOAWAY) {  // nghttp2 tells of the first alone
          goaways.emplace_back(frame.number(0), frame.number(4));
        }
      }
      if (nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()),
                                   bytes.size()) < 0) {
        return false;
      }
      flush();
    }
    return true;
  }

  /// The whole answer on stream `id`; its status is empty when there was none.
  const Http2Answer& wait(int32_t id) {
    run([&] { return answers[id].closed; });
    return answers[id];
  }

  /// Until the server closes; the code of its last GOAWAY, -1 when there was none.
  int64_t wait_for_end() {
    run([] { return false; });
    return goaways.empty() ? -1 : static_cast<int64_t>(goaways.back().second);
  }

  RawSocket socket;
  std::map<int32_t, Http2Answer> answers;
  std::vector<std::pair<int32_t, uint32_t>> goaways;  ///< Last stream and code.
  std::map<int32_t, uint32_t> server_settings;
  bool ended = false;

 private:
  struct Body {
    std::string text;
    size_t piece;
    size_t sent;
  };

  static nghttp2_nv line(std::string_view name, std::string_view value) {
    const auto bytes = [](std::string_view text) {
      return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
  }

  static Http2Client& self(void* user) { return *static_cast<Http2Client*>(user); }

  static ssize_t read(nghttp2_session*, int32_t, uint8_t* into, size_t most, uint32_t* flags,
                      nghttp2_data_source* source, void*) {
    auto& body = *static_cast<Body*>(source->ptr);
    const size_t size = std::min({most, body.piece, body.text.size() - body.sent});
    std::memcpy(into, body.text.data() + body.sent, size);
    body.sent += size;
    if (body.sent == body.text.size()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return static_cast<ssize_t>(size);
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* user) {
    Http2Answer& answer = self(user).answers[frame->hd.stream_id];
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key != ":status") {
      answer.headers[key] = std::move(text);
    } else if (text.starts_with('1')) {
      answer.informational = std::move(text);
    } else {
      answer.status = std::move(text);
    }
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_SETTINGS) {
      for (size_t i = 0; i < frame->settings.niv; ++i) {
        self(user).server_settings[frame->settings.iv[i].settings_id] = frame->settings.iv[i].value;
      }
    }
    return 0;
  }

  static int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                     void* user) {
    self(user).answers[id].body.append(reinterpret_cast<const char*>(bytes), size);
    return 0;
  }

  static int on_close(nghttp2_session*, int32_t id, uint32_t error, void* user) {
    self(user).answers[id].closed = true;
    self(user).answers[id].error = error;
    return 0;
  }

  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::string unscanned_;
};

/// A server that speaks HTTP/2, and what its callers are told.
class Http2Fixture : public ServerFixture {
 protected:
  void open(const ServerLimits& limits = {}, Http2Settings http2 = {},
            ListenerSettings listener = {}) {
    http2.enabled = true;
    listener.http2 = http2;
    start(limits, 1, std::move(listener));
  }

  uint16_t port() { return server_->port(); }

  /// Sends the preface, SETTINGS and `frames` as they are, and asks for no more; the codes of the
  /// GOAWAYs and RST_STREAMs that come back until the server closes, as "reset:7 goaway:11".
  std::string provoke(std::string_view frames) {
    RawSocket socket = RawSocket::to(port());
    socket.send(std::string(kPreface) + frame(NGHTTP2_SETTINGS, 0, 0, {}));
    socket.send(frames);
    std::string answer = socket.receive_all();
    return socket.timed_out() ? "<hang>" : codes_in(answer);
  }

  static std::string codes_in(std::string& bytes) {
    std::string codes;
    for (const Frame& frame : take_frames(bytes)) {
      if (frame.type == NGHTTP2_GOAWAY) {
        codes += (codes.empty() ? "goaway:" : " goaway:") + std::to_string(frame.number(4));
      } else if (frame.type == NGHTTP2_RST_STREAM) {
        codes += (codes.empty() ? "reset:" : " reset:") + std::to_string(frame.number(0));
      }
    }
    return codes;
  }
};

}  // namespace spillway::net::testing
