#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/http.h"

namespace spillway::net {

class CallerConnection;
class ServerWorker;
struct Http2Stream;

/// One request from its last byte read until its answer's last byte is written: what a Reply
/// points to and what a connection keeps in order. Freed when neither holds it.
struct PendingRequest {
  ServerWorker* worker = nullptr;          ///< Null once the worker's part is gone.
  CallerConnection* connection = nullptr;  ///< Null once the caller is gone.
  PendingRequest* previous = nullptr;      ///< All requests of the worker in use.
  PendingRequest* next = nullptr;
  PendingRequest* behind = nullptr;  ///< The next in order on the connection.
  Http2Stream* stream = nullptr;     ///< Null in HTTP/1.1.

  BufferRef buffer;  ///< What the request's views point into.
  std::vector<Header> headers;
  Request request;
  BufferRef inflated;  ///< The body, when it came compressed.
  std::array<char, 64> peer{};

  base::Instant deadline = base::kNever;
  std::move_only_function<void()> gone;
  bool held = false;    ///< A Reply points here.
  bool queued = false;  ///< A connection points here.
  bool answered = false;
  bool caller_gone = false;  ///< Its stream was reset; the connection is still there.
  bool close = false;        ///< The connection ends after this answer.
  bool keep_alive = true;    ///< The caller can take another answer on this connection.
  bool http10 = false;
  bool head_only = false;  ///< HEAD: length, but no body.
  bool takes_gzip = false;

  std::string head;  ///< With a short body behind it.
  std::string body;
  size_t charged = 0;  ///< Bytes of both counted against the worker's budget.
  size_t sent = 0;     ///< Of head and body together.
};

}  // namespace spillway::net
