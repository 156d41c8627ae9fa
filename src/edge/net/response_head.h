#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/http.h"

namespace spillway::net {

/// What a status line says after the number; "Unknown" for numbers nobody registered.
[[nodiscard]] std::string_view reason_phrase(uint16_t status);

/// Whether an answer with this status carries neither body nor Content-Length.
[[nodiscard]] constexpr bool bodyless(uint16_t status) {
  return status == 204 || status == 304 || status / 100 == 1;
}

/// Whether a header's value would end its line early.
[[nodiscard]] bool breaks_line(std::string_view value);

/// How an answer's `Connection` header reads.
enum class Persistence : uint8_t { kSilent, kClose, kKeepAlive };

/// Replaces `out` by the status line and headers up to and with the empty line. Headers of the
/// response with a line break or NUL in their value are left out. `date` is an IMF-fixdate.
void write_head(const Response& response, Persistence persistence, std::string_view date,
                std::string& out);

/// The wall clock's second as IMF-fixdate, rewritten once a second at most.
class DateLine {
 public:
  /// `second`: any count of seconds that moves with time; the text is renewed when it changes.
  std::string_view at(int64_t second);

 private:
  int64_t second_ = -1;
  char text_[32] = {};
  size_t size_ = 0;
};

}  // namespace spillway::net
