// The writing half of ServerConnection, and Reply.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/uio.h>

#include "base/time.h"
#include "net/caller_connection.h"
#include "net/http.h"
#include "net/pending_request.h"
#include "net/response_head.h"
#include "net/server.h"
#include "net/server_codings.h"
#include "net/server_connection.h"
#include "net/server_worker.h"
#include "net/stream.h"

namespace spillway::net {
namespace {

constexpr size_t kPartsPerWrite = 32;
/// Bodies up to this go out behind their head in one piece: a copy costs the kernel's second look
/// at a list of pieces.
constexpr size_t kJoinedBytes = 2 * 1024;
constexpr size_t kLingerBytes = 256 * 1024;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

iovec part(std::string_view bytes) {
  return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
}

size_t size_of(const PendingRequest& request) { return request.head.size() + request.body.size(); }

/// Appends what is left of one answer; returns the number of parts.
size_t unsent_parts(const PendingRequest& request, std::span<iovec> parts) {
  size_t count = 0;
  if (request.sent < request.head.size()) {
    parts[count++] = part(std::string_view(request.head).substr(request.sent));
    if (!request.body.empty()) {
      parts[count++] = part(request.body);
    }
  } else {
    parts[count++] =
        part(std::string_view(request.body).substr(request.sent - request.head.size()));
  }
  return count;
}

}  // namespace

void ServerConnection::answer(PendingRequest& request, Response response) {
  const ServerWorker::Scope scope(worker_);
  // In a drain the last of what was read says so: requests behind this one are answered too.
  const bool drains = worker_.shared.draining.load(std::memory_order_relaxed) &&
                      last_ == &request && begin_ == end_;
  const bool close = response.close || !request.keep_alive || drains;
  Persistence persistence = Persistence::kSilent;
  if (close) {
    persistence = Persistence::kClose;
  } else if (request.http10) {
    persistence = Persistence::kKeepAlive;
  }
  const auto second =
      std::chrono::floor<std::chrono::seconds>(worker_.reactor.now().time_since_epoch());
  deflate_answer(worker_, request, response);
  write_head(response, persistence, worker_.date.at(second.count()), request.head);
  if (!request.head_only && !bodyless(response.status)) {
    if (response.body.size() <= kJoinedBytes) {
      request.head += response.body;
    } else {
      request.body = std::move(response.body);
    }
  }
  request.close = close;
  request.answered = true;
  request.gone = nullptr;
  request.charged = size_of(request);
  worker_.buffers.charge(request.charged);
  request.buffer.reset();
  request.inflated.reset();
  if (!pumping_) {
    // Only writes: a pipelined request that waited goes to the handler from the next poll, never
    // from inside send().
    flush();
    update();
  }
}

void ServerConnection::pump() {
  if (pumping_ || dead_) {
    return;
  }
  pumping_ = true;
  do {
    parse();
    flush();
  } while (can_parse());
  pumping_ = false;
  update();
}

void ServerConnection::flush() {
  while (!dead_ && !blocked_ && !lingering_ && first_ != nullptr && first_->answered) {
    std::array<iovec, kPartsPerWrite> parts{};
    size_t count = 0;
    size_t total = 0;
    for (PendingRequest* request = first_;
         request != nullptr && request->answered && count + 2 <= kPartsPerWrite;
         request = request->behind) {
      count += unsent_parts(*request, std::span(parts).subspan(count));
      total += size_of(*request) - request->sent;
      if (request->close) {
        break;
      }
    }
    const IoResult result = stream_.write(std::span(parts).first(count));
    if (result.state == IoResult::State::kFailed) {
      destroy();
      return;
    }
    const size_t bytes = result.state == IoResult::State::kDone ? result.bytes : 0;
    worker_.counters.sent_bytes.add(bytes);
    if (bytes < total) {
      blocked_ = true;
      phase_since_ = worker_.reactor.now();
    }
    advance(bytes);
  }
  if (!dead_ && !lingering_ && first_ == nullptr) {
    if (read_closed_) {
      destroy();
    } else if (wants_continue_ && !blocked_) {
      send_continue();
    }
  }
}

/// Takes the answers off the queue whose last byte is among the next `bytes` sent.
void ServerConnection::advance(size_t bytes) {
  while (first_ != nullptr && first_->answered) {
    PendingRequest& request = *first_;
    const size_t left = size_of(request) - request.sent;
    if (bytes < left) {
      request.sent += bytes;
      return;
    }
    bytes -= left;
    worker_.counters.answers.add();
    if (request.deadline != base::kNever && worker_.reactor.refresh() > request.deadline) {
      worker_.counters.deadline_misses.add();
    }
    const bool close = request.close;
    first_ = request.behind;
    if (first_ == nullptr) {
      last_ = nullptr;
    }
    --queued_;
    request.queued = false;
    worker_.release(request);
    if (close) {
      linger();
      return;
    }
  }
  if (first_ == nullptr && !in_message_) {
    phase_since_ = worker_.reactor.now();
  }
}

void ServerConnection::send_continue() {
  wants_continue_ = false;
  std::array<iovec, 1> parts{part(kContinue)};
  // 25 bytes into an empty socket buffer: taken whole, or the connection is of no use.
  if (const IoResult result = stream_.write(parts); result.bytes != kContinue.size()) {
    destroy();
  }
}

void ServerConnection::linger() {
  detach_all();
  drop_input();
  if (dead_ || read_closed_) {
    destroy();
    return;
  }
  stream_.shut_write();
  lingering_ = true;
  blocked_ = false;
  linger_left_ = kLingerBytes;
  phase_since_ = worker_.reactor.now();
}

/// Lets go of all requests in work and tells their owners.
void ServerConnection::detach_all() {
  PendingRequest* request = std::exchange(first_, nullptr);
  last_ = nullptr;
  queued_ = 0;
  while (request != nullptr) {
    PendingRequest& current = *request;
    request = std::exchange(current.behind, nullptr);
    current.connection = nullptr;
    current.queued = false;
    auto gone = std::exchange(current.gone, nullptr);
    if (current.held) {
      worker_.counters.callers_gone.add();
    }
    worker_.release(current);
    if (gone) {
      gone();
    }
  }
}

Reply::Reply(Reply&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Reply& Reply::operator=(Reply&& other) noexcept {
  if (this != &other) {
    Reply old(std::exchange(state_, std::exchange(other.state_, nullptr)));
  }
  return *this;
}

Reply::~Reply() {
  if (state_ != nullptr) {
    Response response{.status = 500, .content_type = {}, .headers = {}, .body = {}};
    response.close = true;
    send(std::move(response));
  }
}

void Reply::send(Response response) {
  PendingRequest* const request = std::exchange(state_, nullptr);
  if (request == nullptr) {
    return;
  }
  request->held = false;
  if (response.refusal && request->worker != nullptr) {
    request->worker->note_refusal();
  }
  if (request->connection != nullptr) {
    request->connection->answer(*request, std::move(response));
  } else if (request->worker != nullptr) {
    request->worker->release(*request);
  } else {
    const std::unique_ptr<PendingRequest> owner(request);
  }
}

void Reply::set_deadline(base::Instant deadline) {
  if (state_ != nullptr) {
    state_->deadline = deadline;
  }
}

void Reply::on_gone(std::move_only_function<void()> gone) {
  if (state_ == nullptr) {
    return;
  }
  if (state_->connection == nullptr || state_->caller_gone) {
    gone();
  } else {
    state_->gone = std::move(gone);
  }
}

}  // namespace spillway::net
