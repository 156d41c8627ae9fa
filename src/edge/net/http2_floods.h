#pragma once

#include <cstddef>

#include "base/time.h"
#include "net/http2_settings.h"

namespace spillway::net {

/// Counts what a caller makes us do without asking for an answer, in windows of kHttp2Window that
/// follow each other. Pure; O(1).
class Http2Floods {
 public:
  Http2Floods(const Http2Settings& settings, base::Instant now)
      : max_resets_(settings.max_resets),
        max_control_frames_(settings.max_control_frames),
        since_(now) {}

  /// One more stream reset; true when that is too many.
  [[nodiscard]] bool reset(base::Instant now) {
    turn(now);
    return ++resets_ > max_resets_;
  }

  /// One more frame that carries no request; true when that is too many.
  [[nodiscard]] bool control_frame(base::Instant now) {
    turn(now);
    return ++control_frames_ > max_control_frames_ + sent_bytes_ / kBytesAFrame;
  }

  /// What we send allows for the WINDOW_UPDATEs it needs.
  void sent(size_t bytes) { sent_bytes_ += bytes; }

 private:
  static constexpr size_t kBytesAFrame = 1024;

  void turn(base::Instant now) {
    if (now - since_ >= kHttp2Window) {
      since_ = now;
      resets_ = control_frames_ = sent_bytes_ = 0;
    }
  }

  size_t max_resets_;
  size_t max_control_frames_;
  base::Instant since_;
  size_t resets_ = 0;
  size_t control_frames_ = 0;
  size_t sent_bytes_ = 0;
};

}  // namespace spillway::net
