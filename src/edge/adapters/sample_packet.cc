#include "adapters/sample_packet.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <string>
#include <string_view>

#include "base/hmac_sha256.h"
#include "base/result.h"
#include "base/time.h"
#include "capacity/sample.h"
#include "capacity/sample_text.h"

namespace spillway::adapters {
namespace {

constexpr std::string_view kMark = "SPW1";
constexpr size_t kDigestBytes = 32;

std::string_view view_of(const base::Digest256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

base::Result<capacity::Sample, PacketErrc> sample_of(std::string_view packet,
                                                     base::Instant reference) {
  const auto sample = capacity::parse_text(packet.substr(SamplePackets::kHeadBytes), reference);
  if (!sample) {
    return std::unexpected(sample.error().errc == capacity::TextErrc::kImplausible
                               ? PacketErrc::kImplausible
                               : PacketErrc::kMalformed);
  }
  return *sample;
}

}  // namespace

std::string_view to_string(PacketErrc error) {
  constexpr std::array<std::string_view, kPacketErrors> kNames{
      "too_short", "too_long", "not_ours", "bad_signature", "clock", "malformed", "implausible"};
  return kNames.at(static_cast<size_t>(error));
}

std::string SamplePackets::seal(const capacity::Sample& sample, base::Instant now,
                                int64_t wall_ms) const {
  std::string out(kMark);
  out.append(kDigestBytes, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    out += static_cast<char>(static_cast<uint64_t>(wall_ms) >> shift & 0xff);
  }
  capacity::append_text(out, sample, now);
  const auto signature = key_.sign(std::string_view(out).substr(kMark.size() + kDigestBytes));
  out.replace(kMark.size(), kDigestBytes, view_of(signature));
  return out;
}

base::Result<int64_t, PacketErrc> SamplePackets::check(std::string_view packet) const {
  if (packet.size() <= kHeadBytes) {
    return std::unexpected(PacketErrc::kTooShort);
  }
  if (packet.size() > kMostBytes) {
    return std::unexpected(PacketErrc::kTooLong);
  }
  if (!packet.starts_with(kMark)) {
    return std::unexpected(PacketErrc::kNotOurs);
  }
  const auto signed_part = packet.substr(kMark.size() + kDigestBytes);
  const auto expected = key_.sign(signed_part);
  if (!base::same_in_constant_time(view_of(expected), packet.substr(kMark.size(), kDigestBytes))) {
    return std::unexpected(PacketErrc::kBadSignature);
  }
  uint64_t sealed_ms = 0;
  for (const char byte : signed_part.substr(0, 8)) {
    sealed_ms = sealed_ms << 8 | static_cast<uint8_t>(byte);
  }
  // Within 100 000 years of the epoch, so that differences cannot overflow.
  if (sealed_ms > uint64_t{1} << 52) {
    return std::unexpected(PacketErrc::kClock);
  }
  return static_cast<int64_t>(sealed_ms);
}

base::Result<capacity::Sample, PacketErrc> SamplePackets::open_message(std::string_view packet,
                                                                       base::Instant now,
                                                                       int64_t wall_ms) const {
  const auto sealed_ms = check(packet);
  if (!sealed_ms) {
    return std::unexpected(sealed_ms.error());
  }
  if (std::abs(wall_ms - *sealed_ms) > tolerance_ms_) {
    return std::unexpected(PacketErrc::kClock);
  }
  return sample_of(packet, now);
}

base::Result<capacity::Sample, PacketErrc> SamplePackets::open_stored(std::string_view packet,
                                                                      base::Instant now,
                                                                      int64_t wall_ms,
                                                                      base::Duration oldest) const {
  const auto sealed_ms = check(packet);
  if (!sealed_ms) {
    return std::unexpected(sealed_ms.error());
  }
  const int64_t age_ms = wall_ms - *sealed_ms;
  if (age_ms < -tolerance_ms_ || std::chrono::milliseconds(age_ms) > oldest) {
    return std::unexpected(PacketErrc::kClock);
  }
  return sample_of(packet, now - std::chrono::milliseconds(std::max<int64_t>(0, age_ms)));
}

}  // namespace spillway::adapters
