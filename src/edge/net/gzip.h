#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <zlib.h>

#include "net/buffer_pool.h"
#include "net/http.h"

namespace spillway::net {

/// Answers shorter than this gain nothing.
inline constexpr size_t kGzipFrom = 1024;

/// Whether bytes begin like a gzip member. No JSON does.
[[nodiscard]] bool looks_gzip(std::string_view bytes);

/// Whether an Accept-Encoding value allows gzip. Source: RFC 9110, section 12.5.3.
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding);

/// What a Content-Encoding value names: nothing, gzip, or what we do not read.
enum class ContentCoding : uint8_t { kIdentity, kGzip, kOther };
[[nodiscard]] ContentCoding content_coding(std::string_view value);

/// Inflates whole gzip bodies; one z_stream, used again and again. One thread. About 40 KiB.
class Inflater {
 public:
  enum class State : uint8_t { kDone, kBad, kTooLarge, kNoBudget };

  struct Result {
    State state = State::kBad;
    BufferRef buffer{};  ///< With kDone: holds `text`, kBodyPadding zero bytes behind it.
    std::string_view text{};
  };

  Inflater();
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// One member and nothing behind it. More than `cap` bytes out are kTooLarge; at most one of them
  /// is written. Takes what the trailer claims, within `cap` and 1032 times the input; where that
  /// is too little the room doubles, old and new held while copying.
  [[nodiscard]] Result inflate(std::string_view gzip, size_t cap, BufferPool& buffers);

 private:
  z_stream stream_{};
  bool ready_ = false;
};

/// Makes gzip bodies; one z_stream, used again and again. One thread. 256 KiB from its first use.
class Deflater {
 public:
  Deflater() = default;
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// Room that any compress() of `size` bytes fits in.
  [[nodiscard]] size_t bound(size_t size);
  /// Bytes written, 0 when `room` is too small or memory is gone.
  [[nodiscard]] size_t compress(std::string_view plain, char* into, size_t room);

 private:
  bool prepare();

  z_stream stream_{};
  bool ready_ = false;
};

}  // namespace spillway::net
