#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/pending_request.h"

namespace spillway::net {

/// One request of an HTTP/2 connection, from its first header until its answer's last byte is
/// framed or, when the caller resets it earlier, until its handler lets go of it.
struct Http2Stream {
  enum class Phase : uint8_t {
    kHeader,   ///< Its header block is under way.
    kBody,     ///< Its body is.
    kHandler,  ///< The handler owes an answer.
    kAnswer,   ///< It is answered or refused; what more comes of it is dropped.
    kReset,    ///< We reset it.
    kClosed,   ///< nghttp2 knows it no more; a Reply still points to its request.
  };

  int32_t id = 0;
  size_t index = 0;  ///< In its session's list.
  PendingRequest* pending = nullptr;
  Phase phase = Phase::kHeader;
  bool remote_done = false;  ///< The caller sends no more on it.
  bool sent = false;         ///< Our last frame of it is made.

  BufferRef body;
  size_t body_size = 0;
  size_t expected_size = 0;  ///< Content-Length, 0 when unknown.

  base::Instant arrival{};  ///< When its first byte could have been read.
  base::Duration age{};
  base::Instant since{};  ///< Start of kBody or kAnswer.
};

}  // namespace spillway::net
