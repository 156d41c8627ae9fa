// The writing half of Http2Session: from a Response to frames.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nghttp2/nghttp2.h>

#include "net/http.h"
#include "net/http2_session.h"
#include "net/http2_stream.h"
#include "net/pending_request.h"
#include "net/response_head.h"
#include "net/server.h"
#include "net/server_codings.h"
#include "net/server_worker.h"

namespace spillway::net {
namespace {

/// A number as text, in place.
struct Digits {
  explicit Digits(size_t number)
      : size(static_cast<size_t>(std::to_chars(text.data(), text.data() + text.size(), number).ptr -
                                 text.data())) {}

  [[nodiscard]] std::string_view view() const { return {text.data(), size}; }

  std::array<char, 20> text{};
  size_t size;
};

// NOLINTNEXTLINE(readability-function-size): its parameters are nghttp2's
ssize_t read_answer(nghttp2_session* /*session*/, int32_t /*id*/, uint8_t* /*into*/, size_t most,
                    uint32_t* flags, nghttp2_data_source* source, void* /*user*/) {
  const PendingRequest& pending = *static_cast<Http2Stream*>(source->ptr)->pending;
  const size_t left = pending.body.size() - pending.sent;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (left <= most) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
  }
  return static_cast<ssize_t>(std::min(left, most));
}

}  // namespace

nghttp2_nv Http2Session::http2_line(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  return {.name = bytes(name),
          .value = bytes(value),
          .namelen = name.size(),
          .valuelen = value.size(),
          .flags = NGHTTP2_NV_FLAG_NONE};
}

void Http2Session::answer(PendingRequest& request, Response response) {
  Http2Stream& stream = *request.stream;
  if (request.caller_gone) {
    forget(stream);
    return;
  }
  request.gone = nullptr;
  if (response.close || worker_.shared.draining.load(std::memory_order_relaxed)) {
    drain();
  }
  deflate_answer(worker_, request, response);
  submit(stream, std::move(response));
}

/// Answers what is no request for the handler.
void Http2Session::refuse(Http2Stream& stream, uint16_t status) {
  stream.body.reset();
  Response response{.status = status, .content_type = "text/plain", .headers = {}, .body = {}};
  response.body = std::string(reason_phrase(status)) + "\n";
  name_origin(worker_.shared.listener, stream.pending->request.header("origin"), response);
  submit(stream, std::move(response));
}

void Http2Session::submit(Http2Stream& stream, Response response) {
  PendingRequest& pending = *stream.pending;
  const Digits status(response.status);
  const Digits length(response.body.size());
  const auto second =
      std::chrono::floor<std::chrono::seconds>(worker_.reactor.now().time_since_epoch());
  lines_.clear();
  lines_.push_back(http2_line(":status", status.view()));
  lines_.push_back(http2_line("date", worker_.date.at(second.count())));
  if (!response.content_type.empty()) {
    lines_.push_back(http2_line("content-type", response.content_type));
  }
  if (!bodyless(response.status)) {
    lines_.push_back(http2_line("content-length", length.view()));
  }
  for (const auto& [name, value] : response.headers) {
    if (!breaks_line(value)) {
      lines_.push_back(http2_line(name, value));  // nghttp2 copies, in lower case
    }
  }
  if (!pending.head_only && !bodyless(response.status)) {
    pending.body = std::move(response.body);
  }
  pending.answered = true;
  pending.buffer.reset();
  pending.inflated.reset();
  pending.charged = pending.body.size();
  worker_.buffers.charge(pending.charged);
  stream.phase = Http2Stream::Phase::kAnswer;
  stream.since = now();
  watch(stream.since + worker_.shared.limits.write_timeout);
  nghttp2_data_provider body{.source = {.ptr = &stream}, .read_callback = &read_answer};
  nghttp2_submit_response(session_, stream.id, lines_.data(), lines_.size(),
                          pending.body.empty() ? nullptr : &body);
}

/// One DATA frame, straight from the answer.
int Http2Session::send_data(nghttp2_session* /*session*/, nghttp2_frame* /*frame*/,
                            const uint8_t* head, size_t length, nghttp2_data_source* source,
                            void* user) {
  constexpr size_t kHead = 9;
  auto& own = *static_cast<Http2Session*>(user);
  if (own.out_->size() >= own.out_most_) {
    return NGHTTP2_ERR_WOULDBLOCK;
  }
  PendingRequest& pending = *static_cast<Http2Stream*>(source->ptr)->pending;
  own.out_->append(reinterpret_cast<const char*>(head), kHead);
  own.out_->append(pending.body, pending.sent, length);
  pending.sent += length;
  return 0;
}

}  // namespace spillway::net
