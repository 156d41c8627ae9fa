#pragma once

#include <cstddef>

#include <nghttp2/nghttp2.h>

#include "net/buffer_pool.h"

namespace spillway::net {

/// The memory of one nghttp2 session: capped, and what is more than an idle one holds counted
/// against the worker's byte budget, so that idle callers do not use it up. Must outlive the
/// session.
class Http2Memory {
 public:
  /// The first `idle` bytes are not counted.
  Http2Memory(BufferPool& budget, size_t cap, size_t idle);
  Http2Memory(const Http2Memory&) = delete;
  Http2Memory& operator=(const Http2Memory&) = delete;

  [[nodiscard]] nghttp2_mem* native() { return &native_; }

  [[nodiscard]] size_t bytes() const { return bytes_; }

  /// Whether the session was refused memory; it is of no use any more then.
  [[nodiscard]] bool exhausted() const { return exhausted_; }

 private:
  struct Functions;

  BufferPool& budget_;
  size_t cap_;
  size_t idle_;
  size_t bytes_ = 0;
  bool exhausted_ = false;
  nghttp2_mem native_;
};

}  // namespace spillway::net
