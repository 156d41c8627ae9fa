#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace spillway::exchange::clearing {

/// What a player can tell of a VAST or DAAST document before it follows anything.
struct VastFacts {
  bool is_vast = false;     ///< The document's element is VAST or DAAST.
  int protocol = 0;         ///< OpenRTB "List: Creative Subtypes - Audio/Video"; 0: none of them.
  int64_t duration_ms = 0;  ///< Of its first linear creative; 0 when it says none.
  bool has_media = false;   ///< It names media files with a type,
  bool has_taken = false;   ///< and one at least is of a type that was asked for.
};

/// Reads markup (decoded) : comments and CDATA are passed over, entities
/// are not resolved, elements' names compare without case. `is_taken` is asked for the type of
/// media files until it says yes. Markup that is no VAST is not read on. Cost: linear.
/// Source: VAST 4.3, sections 3.2, 3.9 and 3.10; OpenRTB 2.6, 5.8 (of AdCOM 1.0).
[[nodiscard]] VastFacts read_vast(std::string_view markup,
                                  const std::function<bool(std::string_view)>& is_taken);

/// Milliseconds of "HH:MM:SS" or "HH:MM:SS.mmm"; 0 when it is neither.
[[nodiscard]] int64_t clock_ms(std::string_view text);

}  // namespace spillway::exchange::clearing
