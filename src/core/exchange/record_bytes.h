#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace spillway::exchange {

/// The record's wire format: little-endian integers of fixed width, byte strings behind a 32-bit
/// length, instants as nanoseconds since time zero.
///
/// Entry: magic "SPWLOG2\n", kind (8 bits), payload length (32), payload, hash64 of kind and
/// payload (64).
inline constexpr std::string_view kRecordMagic = "SPWLOG2\n";

enum class EntryKind : uint8_t { kSnapshot = 1, kAuction = 2 };

/// Appends values to a log.
class RecordWriter {
 public:
  RecordWriter(std::string& out, base::Instant time_zero) : out_(&out), zero_(time_zero) {}

  void u8(uint8_t value) { fixed(value, 1); }

  void u16(uint16_t value) { fixed(value, 2); }

  void u32(uint32_t value) { fixed(value, 4); }

  void u64(uint64_t value) { fixed(value, 8); }

  void flag(bool value) { u8(value ? 1 : 0); }

  void duration(base::Duration value) { u64(static_cast<uint64_t>(value.count())); }

  /// Wraps around for instants that were never set, and comes back the same.
  void instant(base::Instant value) {
    u64(static_cast<uint64_t>(value.time_since_epoch().count()) -
        static_cast<uint64_t>(zero_.time_since_epoch().count()));
  }

  void bytes(std::string_view value) {
    u32(static_cast<uint32_t>(value.size()));
    out_->append(value);
  }

 private:
  void fixed(uint64_t value, size_t width) {
    char raw[8];
    for (size_t i = 0; i < width; ++i) {
      raw[i] = static_cast<char>(value >> (8 * i));
    }
    out_->append(raw, width);
  }

  std::string* out_;
  base::Instant zero_;
};

/// Takes values off the front of some bytes. Past the end it gives zeros and remembers: check ok()
/// once, before anything read is believed.
class RecordCursor {
 public:
  explicit RecordCursor(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }

  [[nodiscard]] size_t left() const { return rest_.size(); }

  uint8_t u8() { return static_cast<uint8_t>(fixed(1)); }

  uint16_t u16() { return static_cast<uint16_t>(fixed(2)); }

  uint32_t u32() { return static_cast<uint32_t>(fixed(4)); }

  uint64_t u64() { return fixed(8); }

  base::Duration duration() { return base::Duration(static_cast<int64_t>(u64())); }

  base::Instant instant() { return base::Instant(duration()); }

  /// 0 or 1; anything else is an error.
  bool flag() { return upto<uint8_t>(1) != 0; }

  /// An enumerator by its number, at most `last`.
  template <typename Enum>
  Enum upto(uint8_t last) {
    const uint8_t value = u8();
    ok_ = ok_ && value <= last;
    return static_cast<Enum>(ok_ ? value : 0);
  }

  /// A count of things of which each takes at least `least_bytes`: more than the bytes left could
  /// hold is an error, so that no count makes memory.
  uint32_t count(size_t least_bytes) {
    const uint32_t value = u32();
    ok_ = ok_ && value <= rest_.size() / least_bytes;
    return ok_ ? value : 0;
  }

  std::string_view bytes() {
    const uint32_t size = count(1);
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  uint64_t fixed(size_t width) {
    if (rest_.size() < width) {
      ok_ = false;
      rest_ = {};
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < width; ++i) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(width);
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace spillway::exchange
