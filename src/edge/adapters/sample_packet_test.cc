#include "adapters/sample_packet.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/time.h"
#include "capacity/sample.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kKey = "0123456789abcdef0123456789abcdef";
constexpr int64_t kWallMs = 1'800'000'000'000;
constexpr base::Instant kNow{1h};

capacity::Sample sample() {
  capacity::Sample out;
  out.id = "i-1";
  out.zone = "a";
  out.server_class = "c5";
  out.capacity = 812.5;
  out.utilization = 0.5;
  out.successes_per_second = 406.25;
  out.requests_per_second = 407;
  out.weight = 120.5;
  out.sequence = 7;
  out.started_at_ms = 1'799'999'000'000;
  out.taken_at = kNow - 1s;
  out.window = 1s;
  return out;
}

TEST(SamplePacket, ArrivesAsItWasSealed) {
  const SamplePackets packets(kKey);
  const auto packet = packets.seal(sample(), kNow, kWallMs);
  // Another machine's monotonic clock.
  const auto opened = packets.open_message(packet, base::Instant(9h), kWallMs + 200);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->id, "i-1");
  EXPECT_EQ(opened->capacity, 812.5);
  EXPECT_EQ(opened->weight, 120.5);
  EXPECT_EQ(opened->sequence, 7U);
  EXPECT_EQ(opened->taken_at, base::Instant(9h) - 1s);
}

TEST(SamplePacket, OneThatLayInAStoreIsAsMuchOlder) {
  const SamplePackets packets(kKey);
  const auto packet = packets.seal(sample(), kNow, kWallMs);
  const auto opened = packets.open_stored(packet, base::Instant(9h), kWallMs + 60'000, 10min);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->taken_at, base::Instant(9h) - 61s);
  EXPECT_EQ(packets.open_stored(packet, kNow, kWallMs + 700'000, 10min).error(),
            PacketErrc::kClock);
  EXPECT_EQ(packets.open_stored(packet, kNow, kWallMs - 31'000, 10min).error(), PacketErrc::kClock);
}

TEST(SamplePacket, AChangedByteAnywhereIsRefused) {
  const SamplePackets packets(kKey);
  const auto packet = packets.seal(sample(), kNow, kWallMs);
  for (size_t i = 0; i < packet.size(); ++i) {
    auto changed = packet;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto opened = packets.open_message(changed, kNow, kWallMs);
    ASSERT_FALSE(opened) << i;
    EXPECT_EQ(opened.error(), i < 4 ? PacketErrc::kNotOurs : PacketErrc::kBadSignature) << i;
  }
}

TEST(SamplePacket, OfAnotherKeyIsRefused) {
  const auto packet = SamplePackets("another key").seal(sample(), kNow, kWallMs);
  EXPECT_EQ(SamplePackets(kKey).open_message(packet, kNow, kWallMs).error(),
            PacketErrc::kBadSignature);
}

TEST(SamplePacket, SentAgainLaterIsRefused) {
  const SamplePackets packets(kKey);
  const auto packet = packets.seal(sample(), kNow, kWallMs);
  EXPECT_TRUE(packets.open_message(packet, kNow, kWallMs + 29'999));
  EXPECT_EQ(packets.open_message(packet, kNow, kWallMs + 30'001).error(), PacketErrc::kClock);
  EXPECT_EQ(packets.open_message(packet, kNow, kWallMs - 30'001).error(), PacketErrc::kClock);
}

TEST(SamplePacket, OfAnySizeAndContentIsRefusedByName) {
  const SamplePackets packets(kKey);
  EXPECT_EQ(packets.open_message("", kNow, kWallMs).error(), PacketErrc::kTooShort);
  EXPECT_EQ(packets.open_message(std::string(44, 'x'), kNow, kWallMs).error(),
            PacketErrc::kTooShort);
  EXPECT_EQ(packets.open_message(std::string(2049, 'x'), kNow, kWallMs).error(),
            PacketErrc::kTooLong);
  EXPECT_EQ(packets.open_message(std::string(500, 'x'), kNow, kWallMs).error(),
            PacketErrc::kNotOurs);
}

TEST(SamplePacket, SignedNonsenseIsRefused) {
  const SamplePackets packets(kKey);
  const base::HmacSha256 key(kKey);
  const auto sign = [&](const std::string& body) {
    const auto digest = key.sign(body);
    return "SPW1" + std::string(reinterpret_cast<const char*>(digest.data()), digest.size()) + body;
  };
  const std::string at("\0\0\x01\xa3\x18\xa1\x70\0", 8);
  int64_t wall = 0;
  for (const char byte : at) {
    wall = wall << 8 | static_cast<uint8_t>(byte);
  }
  EXPECT_EQ(packets.open_message(sign(at + "{}"), kNow, wall).error(), PacketErrc::kMalformed);
  EXPECT_EQ(packets.open_message(sign(std::string(8, '\xff') + "{}"), kNow, wall).error(),
            PacketErrc::kClock);
}

}  // namespace
}  // namespace spillway::adapters
