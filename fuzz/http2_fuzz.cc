// An HTTP/2 session against arbitrary frames, without sockets: well-formed frames of arbitrary
// content, bytes that are no frames, answers that come at once, late or never, time that passes,
// output that is taken or not. Beside memory safety it checks the limits: fields, bodies, requests
// in work, nghttp2's memory, and that nothing stays counted at the end.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "net/caller_connection.h"
#include "net/http.h"
#include "net/http2_session.h"
#include "net/pending_request.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/server_worker.h"

namespace {

using namespace std::chrono_literals;
using namespace spillway::net;
namespace base = spillway::base;

constexpr ServerLimits kLimits{
    .header_bytes = 1'024, .header_count = 16, .body_bytes = 4'096, .worker_bytes = 1 << 20};
constexpr Http2Settings kHttp2{
    .enabled = true, .max_streams = 8, .max_resets = 20, .max_control_frames = 200};
constexpr size_t kWrite = 4'096;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

class ManualClock final : public base::Clock {
 public:
  [[nodiscard]] base::Instant now() const noexcept override { return now_; }

  void pass(base::Duration time) { now_ += time; }

 private:
  base::Instant now_{std::chrono::hours(1)};
};

/// Reads the input as instructions.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  uint8_t byte() {
    if (bytes_.empty()) {
      return 0;
    }
    const auto first = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }

  std::string_view text(size_t size) {
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view bytes_;
};

std::string frame(uint8_t type, uint8_t flags, uint8_t stream, std::string_view payload) {
  std::string bytes{'\0', static_cast<char>(payload.size() >> 8), static_cast<char>(payload.size()),
                    static_cast<char>(type), static_cast<char>(flags)};
  bytes.append(3, '\0').push_back(static_cast<char>(stream));
  return bytes.append(payload);
}

std::string any_frame(Input& input) {
  const uint8_t type = input.byte() % 12U;
  const uint8_t flags = input.byte();
  const uint8_t stream = input.byte() % 32U;
  return frame(type, flags, stream, input.text(input.byte() * (flags % 7U == 0 ? 9U : 1U)));
}

std::string literal(std::string_view name, std::string_view value) {
  std::string bytes(1, '\0');
  bytes.append(1, static_cast<char>(name.size())).append(name);
  return bytes.append(1, static_cast<char>(value.size())).append(value);
}

/// HEADERS of a request that is sound but for what the input adds to it.
std::string request(Input& input, uint8_t stream) {
  const uint8_t kind = input.byte();
  std::string block = (kind & 1U) != 0 ? "\x83\x86" : "\x82\x86";
  block += literal(":authority", "a") +
           literal(":path", "/" + std::string(input.text(input.byte() % 8U)));
  if ((kind & 2U) != 0) {
    block += literal("cookie", input.text(input.byte() % 64U));
    block += literal("cookie", input.text(input.byte() % 64U));
  }
  if ((kind & 4U) != 0) {
    block += literal("content-encoding", "gzip");
  }
  if ((kind & 8U) != 0) {
    block += literal("content-length", input.text(input.byte() % 4U));
  }
  if ((kind & 16U) != 0) {
    block += literal(input.text(input.byte() % 16U), input.text(input.byte() % 128U));
  }
  return frame(1, static_cast<uint8_t>(4U | (kind >> 7U)), stream, block);
}

/// The server's side around one session.
class Bench final : public CallerConnection {
 public:
  Bench()
      : shared_{.limits = kLimits, .listener = {.http2 = kHttp2}},
        reactor_(clock_),
        worker_(shared_, reactor_, [this](const Request& request, Reply reply) {
          handle(request, std::move(reply));
        }) {
    reactor_.refresh();
    session_ = std::make_unique<Http2Session>(worker_, *this, Http2Caller{.peer = "127.0.0.1:1"});
    receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    receive(frame(4, 0, 0, {}));
  }

  ~Bench() override {
    session_.reset();
    held_.clear();
    require(worker_.buffers.bytes() == 0);
  }

  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void destroy() override {}

  void hurry() override {}

  void answer(PendingRequest& request, Response response) override {
    session_->answer(request, std::move(response));
  }

  void receive(std::string_view bytes) {
    alive_ = alive_ && session_->receive(bytes, reactor_.now());
    if (!alive_) {
      session_->detach_all();
    }
  }

  void step(Input& input) {
    switch (input.byte() % 16U) {
      case 0:
        receive(input.text(input.byte()));  // no frame at all, perhaps
        break;
      case 1:
        clock_.pass(std::chrono::milliseconds(input.byte() * 50));
        reactor_.refresh();
        if (alive_) {
          session_->on_time(reactor_.now());
        }
        break;
      case 2:
        if (!held_.empty()) {
          Reply reply = std::move(held_.back());
          held_.pop_back();
          reply.send({.status = 200, .body = std::string(input.byte() * 64U, 'x')});
        }
        break;
      case 3:
        held_.clear();  // answered with 500, which drains
        break;
      case 4:
        if (alive_) {
          session_->drain();
        }
        break;
      case 5:
        shared_.draining = true;
        break;
      case 6:
      case 7:
        produce();
        break;
      case 8:
      case 9:
      case 10:
        receive(request(input, next_stream_));
        next_stream_ += 2;
        break;
      case 11:
        receive(frame(0, input.byte() & 9U, last_stream(input), input.text(input.byte())));
        break;
      case 12:
        receive(frame(3, 0, last_stream(input), std::string(3, '\0') + '\x08'));
        break;
      default:
        receive(any_frame(input));
        break;
    }
    require(session_->memory_bytes() <= (size_t{256} + 8 * kHttp2.max_streams) * 1024 + 4'096);
  }

  void finish() {
    for (int i = 0; i < 1'000 && alive_ && !session_->over(); ++i) {
      if (!produce()) {
        break;
      }
    }
  }

 private:
  uint8_t last_stream(Input& input) const {
    return static_cast<uint8_t>(next_stream_ - 2U - 2U * (input.byte() % 4U));
  }

  /// Whether there was anything.
  bool produce() {
    if (!alive_) {
      return false;
    }
    std::string out;
    alive_ = session_->produce(out, kWrite);
    require(out.size() <= kWrite + 2 * 16'384 + 18);
    session_->delivered();
    if (!alive_) {
      session_->detach_all();
    }
    return !out.empty();
  }

  void handle(const Request& request, Reply reply) {
    require(request.headers.size() <= kLimits.header_count + 1);
    require(request.body.size() <= kLimits.body_bytes);
    require(!request.method.empty());
    for (size_t i = 0; i < kBodyPadding; ++i) {
      sum_ += static_cast<unsigned char>(request.body.data()[request.body.size() + i]);
    }
    for (const Header& header : request.headers) {
      require(!header.name.starts_with(':'));
      sum_ += header.value.size();
    }
    reply.on_gone([this] { ++gone_; });
    if (request.path().size() % 2 == 1) {
      reply.send({.status = 200, .body = std::string(request.body)});
    } else {
      held_.push_back(std::move(reply));
      require(held_.size() <= kHttp2.max_streams);
    }
  }

  ManualClock clock_;
  ServerShared shared_;
  Reactor reactor_;
  std::vector<Reply> held_;
  ServerWorker worker_;
  std::unique_ptr<Http2Session> session_;
  uint8_t next_stream_ = 1;
  bool alive_ = true;
  size_t gone_ = 0;
  size_t sum_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input({reinterpret_cast<const char*>(data), size});
  Bench bench;
  while (!input.empty()) {
    bench.step(input);
  }
  bench.finish();
  return 0;
}
