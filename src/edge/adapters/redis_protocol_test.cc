#include "adapters/redis_protocol.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/redis_reply.h"
#include "base/rng.h"

namespace spillway::adapters {
namespace {

using Progress = RedisReader::Progress;

constexpr std::string_view kReplies =
    "+OK\r\n:-12\r\n$-1\r\n$0\r\n\r\n$5\r\na\r\nbc\r\n-ERR no\r\n*-1\r\n*0\r\n"
    "*3\r\n*2\r\n:1\r\n*1\r\n$1\r\nx\r\n*0\r\n$2\r\nzz\r\n";

/// A reply as text with its structure.
std::string shape(const RedisReply& reply) {
  switch (reply.type()) {
    case RedisType::kNil:
      return "nil";
    case RedisType::kInteger:
      return std::to_string(reply.integer());
    case RedisType::kString:
      return '"' + std::string(reply.text()) + '"';
    case RedisType::kStatus:
      return '+' + std::string(reply.text());
    case RedisType::kError:
      return '!' + std::string(reply.text());
    case RedisType::kArray:
      break;
  }
  std::string all = "[";
  for (size_t i = 0; i < reply.size(); ++i) {
    all += shape(reply[i]) + (i + 1 < reply.size() ? " " : "");
  }
  return all + "]";
}

std::vector<std::string> read_all(RedisReader& reader) {
  std::vector<std::string> shapes;
  RedisReply reply;
  while (reader.next(reply) == Progress::kWhole) {
    shapes.push_back(shape(reply));
  }
  return shapes;
}

TEST(RedisProtocol, RepliesAreTheSameHoweverTheirBytesCome) {
  const std::vector<std::string> expected{"+OK",  "-12",         "nil",
                                          "\"\"", "\"a\r\nbc\"", "!ERR no",
                                          "nil",  "[]",          "[[1 [\"x\"]] [] \"zz\"]"};
  for (size_t step = 1; step <= kReplies.size(); ++step) {
    RedisReader reader(1 << 20);
    std::vector<std::string> shapes;
    for (size_t at = 0; at < kReplies.size(); at += step) {
      ASSERT_TRUE(reader.feed(kReplies.substr(at, step)));
      for (std::string& each : read_all(reader)) {
        shapes.push_back(std::move(each));
      }
    }
    EXPECT_EQ(shapes, expected) << "by " << step;
  }
}

TEST(RedisProtocol, ElementsAreWalkedInOrderAndWhatIsNotThereIsNil) {
  RedisReader reader(1 << 20);
  ASSERT_TRUE(reader.feed("*3\r\n*2\r\n:1\r\n:2\r\n$1\r\nx\r\n:9\r\n"));
  RedisReply reply;
  ASSERT_EQ(reader.next(reply), Progress::kWhole);
  std::string walked;
  reply.for_each([&](const RedisReply& element) { walked += shape(element) + ";"; });
  EXPECT_EQ(walked, "[1 2];\"x\";9;");
  EXPECT_EQ(reply[3].type(), RedisType::kNil);
  EXPECT_EQ(reply[0][5].type(), RedisType::kNil);
  EXPECT_EQ(reply[1].integer(), 0);
  EXPECT_EQ(reply[2].text(), "");
  EXPECT_EQ(RedisReply().size(), 0U);
}

TEST(RedisProtocol, ACommandIsAnArrayOfItsPartsWhateverTheyHold) {
  std::vector<std::string> parts;
  for (size_t count = 1; count < 200; count += 13) {
    parts.clear();
    for (size_t i = 0; i < count; ++i) {
      parts.push_back(std::string(i % 7, '\r') + std::string("\0\n$", 3) + std::to_string(i));
    }
    const std::vector<std::string_view> views(parts.begin(), parts.end());
    const RedisCommand command{views};
    const RedisCommand copy = command.copy();
    EXPECT_EQ(copy.bytes(), command.bytes());
    RedisReader reader(1 << 20);
    ASSERT_TRUE(reader.feed(command.bytes()));
    RedisReply reply;
    ASSERT_EQ(reader.next(reply), Progress::kWhole);
    ASSERT_EQ(reply.size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(reply[i].text(), parts[i]);
    }
  }
}

TEST(RedisProtocol, HostileBytesAreRefusedOrWaitedForAndNothingElse) {
  base::Rng rng(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(kReplies);
    for (uint64_t i = rng.below(6); i > 0; --i) {
      bytes[rng.below(bytes.size())] = "*$:+-\r\n0123456789\xff"[rng.below(18)];
    }
    RedisReader reader(4'096);
    RedisReply reply;
    for (size_t at = 0; at < bytes.size();) {
      const size_t step = 1 + rng.below(20);
      if (!reader.feed(std::string_view(bytes).substr(at, step))) {
        break;
      }
      at += step;
      Progress last = Progress::kWhole;
      while ((last = reader.next(reply)) == Progress::kWhole) {
        (void)shape(reply);
      }
      if (last == Progress::kBroken) {
        break;
      }
    }
  }
}

TEST(RedisProtocol, AReplyThatIsTooLargeIsRefusedBeforeItIsWhole) {
  RedisReader reader(10'000);
  ASSERT_TRUE(reader.feed("$1000000\r\n"));
  RedisReply reply;
  size_t fed = 0;
  while (fed < 100'000 && reader.next(reply) == Progress::kPart) {
    if (!reader.feed(std::string(1'000, 'x'))) {
      break;
    }
    fed += 1'000;
  }
  EXPECT_LE(fed, 12'000U);
}

}  // namespace
}  // namespace spillway::adapters
