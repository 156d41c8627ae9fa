#include "app/config/utf8.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spillway::app {
namespace {

struct Lead {
  size_t length;      // of the whole sequence; 0: no sequence begins so
  uint8_t low, high;  // bounds of the second byte
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) {
    return {1, 0, 0};
  }
  if (byte < 0xc2 || byte > 0xf4) {
    return {0, 0, 0};
  }
  if (byte < 0xe0) {
    return {2, 0x80, 0xbf};
  }
  if (byte < 0xf0) {
    const uint8_t low = byte == 0xe0 ? 0xa0 : 0x80;   // overlong
    const uint8_t high = byte == 0xed ? 0x9f : 0xbf;  // surrogates
    return {3, low, high};
  }
  const uint8_t low = byte == 0xf0 ? 0x90 : 0x80;   // overlong
  const uint8_t high = byte == 0xf4 ? 0x8f : 0xbf;  // beyond U+10FFFF
  return {4, low, high};
}

}  // namespace

size_t first_invalid_utf8(std::string_view text) {
  const auto byte = [text](size_t at) { return static_cast<uint8_t>(text[at]); };
  for (size_t at = 0; at < text.size();) {
    const Lead lead = lead_of(byte(at));
    if (lead.length == 0 || text.size() - at < lead.length) {
      return at;
    }
    for (size_t i = 1; i < lead.length; ++i) {
      const uint8_t low = i == 1 ? lead.low : 0x80;
      const uint8_t high = i == 1 ? lead.high : 0xbf;
      if (byte(at + i) < low || byte(at + i) > high) {
        return at;
      }
    }
    at += lead.length;
  }
  return std::string_view::npos;
}

}  // namespace spillway::app
