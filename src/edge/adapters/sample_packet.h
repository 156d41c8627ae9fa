#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hmac_sha256.h"
#include "base/result.h"
#include "base/time.h"
#include "capacity/sample.h"

namespace spillway::adapters {

/// Why a packet was not taken.
enum class PacketErrc : uint8_t {
  kTooShort,
  kTooLong,
  kNotOurs,       ///< Begins like no packet of this version.
  kBadSignature,  ///< Another key, or changed on its way.
  kClock,         ///< Sealed too long ago or in the future: a replay, or clocks that differ.
  kMalformed,     ///< Signed well, and no sample.
  kImplausible,   ///< A sample that no server can be.
};
inline constexpr size_t kPacketErrors = 7;

/// snake_case name, as in metrics.
[[nodiscard]] std::string_view to_string(PacketErrc error);

/// Samples as they travel and are stored: "SPW1", HMAC-SHA256 of all that follows, the wall time of
/// sealing in milliseconds (8 bytes, most significant first), the sample as text. Who has the key
/// may say anything of any server: it is of the fleet, not of a server.
///
/// Immutable, any thread. Memory of a packet: kMostBytes.
/// Source: RFC 2104.
class SamplePackets {
 public:
  static constexpr size_t kHeadBytes = 44;
  static constexpr size_t kMostBytes = 2048;

  /// `tolerance`: most that a message's time may differ from ours.
  explicit SamplePackets(std::string_view key, base::Duration tolerance = std::chrono::seconds(30))
      : key_(key), tolerance_ms_(std::chrono::ceil<std::chrono::milliseconds>(tolerance).count()) {}

  /// `sample` is plausible. `wall_ms`: since the epoch.
  [[nodiscard]] std::string seal(const capacity::Sample& sample, base::Instant now,
                                 int64_t wall_ms) const;

  /// Of a message that came just now: times in it count from now on.
  [[nodiscard]] base::Result<capacity::Sample, PacketErrc> open_message(std::string_view packet,
                                                                        base::Instant now,
                                                                        int64_t wall_ms) const;

  /// Of a packet that lay somewhere: its age, by the wall clocks of both, is added to the sample's.
  /// At most `oldest` old.
  [[nodiscard]] base::Result<capacity::Sample, PacketErrc> open_stored(std::string_view packet,
                                                                       base::Instant now,
                                                                       int64_t wall_ms,
                                                                       base::Duration oldest) const;

 private:
  /// When it was sealed.
  [[nodiscard]] base::Result<int64_t, PacketErrc> check(std::string_view packet) const;

  base::HmacSha256 key_;
  int64_t tolerance_ms_;
};

}  // namespace spillway::adapters
