// The reading half of ClientConnection.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/call_result.h"
#include "base/time.h"
#include "net/answer_headers.h"
#include "net/buffer_pool.h"
#include "net/client.h"
#include "net/client_connection.h"
#include "net/client_core.h"
#include "net/client_target.h"
#include "net/gzip.h"
#include "net/http_parser.h"
#include "net/stream.h"

namespace spillway::net {

using base::CallError;
using base::CallPhase;

void ClientConnection::expect_answer() {
  constexpr size_t kHeaders = 200;
  parser_.start({.header_bytes = target_.settings.header_bytes,
                 .header_count = kHeaders,
                 .body_bytes = target_.settings.answer_bytes});
}

IoResult::State ClientConnection::read() {
  if (state_ == State::kIdle) {
    return read_idle();
  }
  const bool shared = !in_;
  if (shared) {
    in_ = core_.scratch.share();
    begin_ = end_ = 0;
  }
  const size_t room = in_.capacity() - end_;
  const IoResult result = stream_.read(in_.data() + end_, room);
  is_full_ = result.bytes == room;
  switch (result.state) {
    case IoResult::State::kDone:
      received_ += result.bytes;
      target_.counters.received_bytes.add(result.bytes);
      end_ += result.bytes;
      if (call_ != nullptr) {
        call_->answer_begun = true;
      }
      parse();
      break;
    case IoResult::State::kEnd:
      if (received_ != 0 && parser_.finish() == HttpParser::Progress::kWhole) {
        ends_ = true;
        complete();
      } else {
        fail(CallError::kReset);
      }
      break;
    case IoResult::State::kFailed:
      fail(io_error());
      break;
    case IoResult::State::kBlocked:
      if (shared) {
        in_.reset();
      }
      break;
  }
  return result.state;
}

IoResult::State ClientConnection::read_idle() {
  const IoResult result = stream_.read(core_.scratch.data(), core_.scratch.capacity());
  if (result.state == IoResult::State::kBlocked) {
    return result.state;
  }
  (result.state == IoResult::State::kDone ? target_.counters.poisoned
                                          : target_.counters.idle_closed)
      .add();
  close();
  return result.state;
}

void ClientConnection::parse() {
  while (true) {
    switch (parser_.feed(message(), end_ - begin_)) {
      case HttpParser::Progress::kWhole:
        if (parser_.status() / 100 != 1) {
          complete();
          return;
        }
        if (!next_message()) {
          return;
        }
        break;
      case HttpParser::Progress::kBad:
        fail(parser_.error() == ParseError::kBadFraming ? CallError::kProtocol
                                                        : CallError::kTooLarge);
        return;
      case HttpParser::Progress::kMore:
        if (state_ == State::kDraining && received_ > tail_.bytes_left) {
          lost();
        } else if (!make_room()) {
          fail(CallError::kNoBudget);
        }
        return;
    }
  }
}

/// Steps over an interim answer; false when there is nothing more to parse now.
bool ClientConnection::next_message() {
  constexpr uint32_t kMostInterim = 8;
  if (parser_.status() == 101 || ++interim_ > kMostInterim) {
    fail(CallError::kProtocol);
    return false;
  }
  begin_ += parser_.consumed();
  expect_answer();
  if (begin_ != end_) {
    return true;
  }
  in_.reset();
  begin_ = end_ = 0;
  return false;
}

/// Part of an answer moves out of the shared buffer, and into a larger one when it must.
bool ClientConnection::make_room() {
  const bool shared = in_.data() == core_.scratch.data();
  const size_t hint = parser_.size_hint();
  if (!shared) {
    if (end_ == in_.capacity()) {
      end_ = begin_ + parser_.compact(message(), end_ - begin_);
    }
    if (end_ < in_.capacity() && begin_ + hint <= in_.capacity()) {
      return true;
    }
  }
  const size_t used = end_ - begin_;
  BufferRef larger = core_.buffers.take(std::max({hint, 2 * used, BufferPool::kBlock}));
  if (!larger) {
    return false;
  }
  std::memcpy(larger.data(), message(), used);
  in_ = std::move(larger);
  begin_ = 0;
  end_ = used;
  return true;
}

/// What the answer's headers say about the next call.
void ClientConnection::read_policy(base::CallResult& result) {
  result.status = parser_.status();
  ends_ = ends_ || !parser_.keep_alive();
  if (const auto value = parser_.header(message(), "Retry-After"); !value.empty()) {
    result.retry_after = retry_after(value);
  }
  if (const auto value = parser_.header(message(), "Keep-Alive"); !value.empty()) {
    const KeepAlive policy = keep_alive(value);
    if (policy.timeout_s) {
      // Closed by us half a second before the peer does, so that no request meets its FIN.
      const base::Duration theirs = std::chrono::seconds(*policy.timeout_s);
      idle_timeout_ =
          std::min(idle_timeout_,
                   theirs - std::min(theirs / 2, base::Duration(std::chrono::milliseconds(500))));
    }
    if (policy.max) {
      requests_left_ = std::min(requests_left_, *policy.max);
    }
  }
}

void ClientConnection::tell_number() {
  const std::string& name = target_.settings.number_header;
  if (call_ == nullptr || name.empty()) {
    return;
  }
  const auto value = parser_.header(message(), name);
  uint64_t number = 0;
  const char* const begin = value.data();
  const char* const end = begin + value.size();
  if (const auto read = std::from_chars(begin, end, number);
      read.ec == std::errc() && read.ptr == end) {
    call_->listener->on_number(call_->tag, number);
  }
}

/// Makes `body` plain when its header says gzip; bounded like one that comes plain.
CallError ClientConnection::inflate(std::string_view& body, BufferRef& buffer) {
  switch (content_coding(parser_.header(message(), "Content-Encoding"))) {
    case ContentCoding::kIdentity:
      return CallError::kNone;
    case ContentCoding::kOther:
      return CallError::kProtocol;
    case ContentCoding::kGzip:
      break;
  }
  if (body.empty()) {
    return CallError::kNone;
  }
  auto result = core_.inflater.inflate(body, target_.settings.answer_bytes, core_.buffers);
  body = result.text;
  buffer = std::move(result.buffer);
  switch (result.state) {
    case Inflater::State::kDone:
      return CallError::kNone;
    case Inflater::State::kBad:
      return CallError::kProtocol;
    case Inflater::State::kTooLarge:
      return CallError::kTooLarge;
    case Inflater::State::kNoBudget:
      return CallError::kNoBudget;
  }
  return CallError::kProtocol;
}

void ClientConnection::complete() {
  base::CallResult& result = call_ != nullptr ? call_->result : tail_.result;
  read_policy(result);
  tell_number();
  result.phase = CallPhase::kDone;
  result.sent_bytes = sent_;
  result.received_bytes = received_;
  BufferRef inflated;
  std::string_view body = parser_.body(message());
  result.error = call_ != nullptr ? inflate(body, inflated) : CallError::kNone;
  const BufferRef held = std::move(in_);
  if (begin_ + parser_.consumed() != end_) {
    target_.counters.poisoned.add();
    ends_ = true;
  }
  ends_ = ends_ || !sent_whole() || requests_left_ == 0 || retired_;
  out_.reset();
  served_ = true;
  Call* const call = std::exchange(call_, nullptr);
  const bool was_draining = state_ == State::kDraining;
  if (was_draining) {
    target_.counters.tails_drained.add();
    target_.end_drain();
  }
  state_ = State::kIdle;
  if (ends_) {
    close();
  } else {
    become_idle();
    target_.offer(*this);
  }
  if (call != nullptr) {
    core_.settle(*call, body);
  } else if (was_draining) {
    tail_.result.ended_at = core_.reactor.now();
    const Tail tail = tail_;
    tail.listener->on_tail(tail.tag, tail.result);
  }
}

}  // namespace spillway::net
