#include "net/http2_session.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "base/time.h"
#include "net/caller_connection.h"
#include "net/http2_settings.h"
#include "net/http2_stream.h"
#include "net/pending_request.h"
#include "net/server.h"
#include "net/server_worker.h"

namespace spillway::net {
namespace {

constexpr size_t kMemory = size_t{256} * 1024;
constexpr size_t kIdleMemory = size_t{32} * 1024;
constexpr size_t kMemoryAStream = size_t{8} * 1024;
constexpr int32_t kConnectionWindow = 1024 * 1024;
constexpr base::Duration kDrainTime = std::chrono::seconds(1);
constexpr std::array<uint8_t, 8> kDrainPing{'d', 'r', 'a', 'i', 'n'};

struct OptionFree {
  void operator()(nghttp2_option* option) const { nghttp2_option_del(option); }
};

std::unique_ptr<nghttp2_option, OptionFree> session_options() {
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_closed_streams(option, 1);
  // Http2Floods judges resets: ours are counted too, and the operator sets the limit.
  constexpr uint64_t kUnlimited = 1'000'000'000;
  nghttp2_option_set_stream_reset_rate_limit(option, kUnlimited, kUnlimited);
  return std::unique_ptr<nghttp2_option, OptionFree>(option);
}

}  // namespace

Http2Session::Http2Session(ServerWorker& worker, CallerConnection& connection, Http2Caller caller)
    : worker_(worker),
      connection_(connection),
      caller_(std::move(caller)),
      memory_(worker.buffers, kMemory + kMemoryAStream * settings().max_streams, kIdleMemory),
      floods_(settings(), now()),
      opened_at_(now()),
      idle_since_(now()) {
  const ServerLimits& limits = worker_.shared.limits;
  nghttp2_session_server_new3(&session_, callbacks(), this, session_options().get(),
                              memory_.native());
  if (session_ == nullptr) {
    return;
  }
  const std::array<nghttp2_settings_entry, 3> entries{
      {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<uint32_t>(settings().max_streams)},
       {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits.header_bytes)},
       {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries.data(), entries.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  watch(opened_at_ + limits.header_timeout);
}

Http2Session::~Http2Session() {
  detach_all();
  nghttp2_session_del(session_);
}

bool Http2Session::receive(std::string_view bytes, base::Instant arrival) {
  arrival_ = arrival;
  if (stopped_) {
    return true;
  }
  if (session_ == nullptr) {
    return false;
  }
  const ssize_t read = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (read >= 0) {
    return true;
  }
  if (memory_.exhausted()) {
    worker_.counters.http2_over_memory.add();
  } else if (read == NGHTTP2_ERR_FLOODED) {
    worker_.counters.http2_control_floods.add();
  } else {
    worker_.counters.http2_protocol.add();
  }
  return false;
}

bool Http2Session::produce(std::string& out, size_t most) {
  out_ = &out;
  out_most_ = most;
  const size_t before = out.size();
  ssize_t made = session_ != nullptr ? 1 : NGHTTP2_ERR_NOMEM;
  while (made > 0 && out.size() < most) {
    const uint8_t* frames = nullptr;
    made = nghttp2_session_mem_send(session_, &frames);
    if (made > 0) {
      out.append(reinterpret_cast<const char*>(frames), static_cast<size_t>(made));
    }
  }
  out_ = nullptr;
  floods_.sent(out.size() - before);
  if (memory_.exhausted()) {
    worker_.counters.http2_over_memory.add();
    return false;
  }
  return made >= 0;
}

void Http2Session::delivered() {
  if (deadlines_.empty()) {
    return;
  }
  const base::Instant at = worker_.reactor.refresh();
  for (const base::Instant deadline : deadlines_) {
    if (at > deadline) {
      worker_.counters.deadline_misses.add();
    }
  }
  deadlines_.clear();
}

bool Http2Session::over() const {
  return session_ == nullptr ||
         (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

void Http2Session::end(uint32_t error_code) {
  if (!std::exchange(stopped_, true)) {
    nghttp2_session_terminate_session(session_, error_code);
  }
}

void Http2Session::drain() {
  if (drain_since_ != base::kNever || stopped_) {
    return;
  }
  drain_since_ = now();
  nghttp2_submit_shutdown_notice(session_);  // once sent: on_notice_sent()
  watch(drain_since_ + kDrainTime);
}

/// Asks the caller to say that it has seen it. Not earlier: nghttp2 sends pings first.
void Http2Session::on_notice_sent() {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, kDrainPing.data());
}

/// The caller has seen the first GOAWAY, or had time to: what it sent before is here.
void Http2Session::finish_drain() {
  if (drain_since_ == base::kNever || std::exchange(drained_, true)) {
    return;
  }
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

void Http2Session::watch(base::Instant instant) {
  if (instant < next_look_) {
    next_look_ = instant;
  }
}

void Http2Session::on_time(base::Instant now) {
  const ServerLimits& limits = worker_.shared.limits;
  next_look_ = base::kNever;
  if (stopped_) {
    return;
  }
  const auto due = [&](base::Instant since, base::Duration after) {
    if (since == base::kNever || now < since + after) {
      if (since != base::kNever) {
        watch(since + after);
      }
      return false;
    }
    return true;
  };
  const bool slow_preface = !met_ && due(opened_at_, limits.header_timeout);
  if (slow_preface || due(header_since_, limits.header_timeout)) {
    worker_.counters.timeouts.add();
    end(slow_preface ? NGHTTP2_SETTINGS_TIMEOUT : NGHTTP2_PROTOCOL_ERROR);
    return;
  }
  if (!drained_ && due(drain_since_, kDrainTime)) {
    finish_drain();
  }
  if (streams_.empty() && drain_since_ == base::kNever && due(idle_since_, limits.idle_timeout)) {
    drain();
  }
  look_at_streams(now);
}

void Http2Session::look_at_streams(base::Instant now) {
  const ServerLimits& limits = worker_.shared.limits;
  for (const auto& stream : streams_) {
    const bool reads = stream->phase == Http2Stream::Phase::kBody;
    if (!reads && stream->phase != Http2Stream::Phase::kAnswer) {
      continue;
    }
    const base::Instant until =
        stream->since + (reads ? limits.body_timeout : limits.write_timeout);
    if (now < until) {
      watch(until);
    } else if (reads) {
      worker_.counters.timeouts.add();
      refuse(*stream, 408);
    } else {
      worker_.counters.timeouts.add();
      worker_.counters.http2_stalled.add();
      stream->phase = Http2Stream::Phase::kReset;
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
    }
  }
}

void Http2Session::forget(Http2Stream& stream) {
  PendingRequest& pending = *stream.pending;
  const size_t index = stream.index;
  if (index + 1 != streams_.size()) {
    std::swap(streams_[index], streams_.back());
    streams_[index]->index = index;
  }
  streams_.pop_back();
  pending.queued = false;
  pending.stream = nullptr;
  worker_.release(pending);
  if (streams_.empty()) {
    idle_since_ = now();
    watch(idle_since_ + worker_.shared.limits.idle_timeout);
  }
}

void Http2Session::detach_all() {
  stopped_ = true;
  const auto streams = std::exchange(streams_, {});
  for (const auto& stream : streams) {
    nghttp2_session_set_stream_user_data(session_, stream->id, nullptr);
    stream->pending->connection = nullptr;
    stream->pending->stream = nullptr;
  }
  for (const auto& stream : streams) {
    PendingRequest& pending = *stream->pending;
    std::move_only_function<void()> gone;
    if (pending.held && !pending.caller_gone) {  // else an owner told before has let go of it
      worker_.counters.callers_gone.add();
      gone = std::exchange(pending.gone, nullptr);
    }
    pending.queued = false;
    worker_.release(pending);
    if (gone) {
      gone();
    }
  }
}

}  // namespace spillway::net
