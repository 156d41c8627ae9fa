#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/buffer_pool.h"
#include "net/pending_request.h"

namespace spillway::net {

/// Collects the header fields of one HTTP/2 request and lays them out as an HTTP/1.1 request's.
/// Fields come one at a time from a decoder that has checked their grammar; the blocks of one
/// connection never interleave, so one collector does for all its streams. Bytes are counted as
/// SETTINGS_MAX_HEADER_LIST_SIZE counts them: 32 a field beside name and value.
/// Memory: the limits of begin(); next to nothing between blocks.
/// Source: RFC 9113, sections 6.5.2, 8.2.3 and 8.3.1.
class Http2Fields {
 public:
  void begin(size_t most_bytes, size_t most_count);

  /// False when the block has grown so far over its limits that it is an attack.
  [[nodiscard]] bool add(std::string_view name, std::string_view value);

  /// Fills `request`: method, target and headers, `:authority` first among them as `host`, cookies
  /// joined to one. Its buffer holds what they point to. Returns 0, or the status to refuse with:
  /// 400 (two hosts), 431, 501 (CONNECT), 503 (no budget).
  [[nodiscard]] uint16_t place(PendingRequest& request, BufferPool& buffers);

  /// Forgets the block; for trailers, which are not kept.
  void drop();

 private:
  struct Field {
    size_t name_at, name_size, value_size;
  };

  uint16_t lay_out(PendingRequest& request, char* text, size_t used) const;
  static size_t join_cookies(PendingRequest& request, char* text, size_t used);

  size_t most_bytes_ = 0;
  size_t most_count_ = 0;
  size_t bytes_ = 0;
  size_t count_ = 0;
  std::string text_;  ///< Names and values in order.
  std::vector<Field> fields_;
};

}  // namespace spillway::net
