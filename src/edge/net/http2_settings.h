#pragma once

#include <chrono>
#include <cstddef>

#include "base/time.h"

namespace spillway::net {

/// Whether a listener speaks HTTP/2 beside HTTP/1.1, and what one connection may ask of it there.
/// ServerLimits hold as well: a stream is a request.
struct Http2Settings {
  bool enabled = false;
  /// Requests of one connection in work, those included that the caller reset while their handler
  /// still holds them. Over: RST_STREAM, REFUSED_STREAM. [1, 1000].
  size_t max_streams = 100;
  /// Streams that a caller may reset, or make us reset, in a window. Over: GOAWAY,
  /// ENHANCE_YOUR_CALM. [1, 1 000 000].
  size_t max_resets = 1'000;
  /// Frames that carry no request: PING, SETTINGS, WINDOW_UPDATE, PRIORITY, CONTINUATION and DATA
  /// of next to nothing, in a window, beside one for each KiB sent to the caller. Over: the same.
  /// [100, 10 000 000].
  size_t max_control_frames = 10'000;

  friend bool operator==(const Http2Settings&, const Http2Settings&) = default;
};

/// What max_resets and max_control_frames are counted over.
inline constexpr base::Duration kHttp2Window = std::chrono::seconds(10);

}  // namespace spillway::net
