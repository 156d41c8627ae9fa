#include "adapters/redis_client.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/redis_fixture.h"
#include "adapters/redis_settings.h"
#include "base/time.h"
#include "net/test_kit.h"
#include "net/tls_fixture.h"
#include "resilience/guard.h"
#include "resilience/hedge.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using testing::RedisAnswer;
using testing::RedisProcess;

class RedisClientTest : public testing::RedisTest {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.running()) << "no redis-server"; }

  [[nodiscard]] resilience::State state() const { return guard_.peek().state; }

  RedisProcess server_;
};

TEST_F(RedisClientTest, CommandsOfOneTurnLeaveTogetherAndTheirRepliesComeInOrder) {
  const auto client = connect(server_);
  constexpr size_t kCommands = 2'000;
  std::vector<std::string> values;
  for (size_t i = 0; i < kCommands; ++i) {
    values.push_back("value-" + std::to_string(i));
  }
  for (const std::string& value : values) {
    ASSERT_NE(ask(*client, {"ECHO", value}), 0U);
  }
  ASSERT_TRUE(run_until([&] { return answers_.size() == kCommands; }));
  for (size_t i = 0; i < kCommands; ++i) {
    EXPECT_TRUE(answers_[i].ok);
    EXPECT_EQ(answers_[i].tag, i + 1);
    EXPECT_EQ(answers_[i].text, values[i]);
  }
  EXPECT_EQ(client->counters().answered.value(), kCommands);
  EXPECT_EQ(guard_.totals().outcomes[static_cast<size_t>(resilience::Outcome::kAbandoned)], 0U);
}

TEST_F(RedisClientTest, RepliesOfEveryTypeAndSizeArriveWhole) {
  const auto client = connect(server_);
  EXPECT_EQ(get(*client, {"GET", "absent"}).text, "<nil>");
  EXPECT_EQ(get(*client, {"SET", "k", ""}).text, "OK");
  EXPECT_EQ(get(*client, {"GET", "k"}).text, "");
  const std::string large(3'000'000, 'x');
  EXPECT_TRUE(get(*client, {"SET", "large", large}).ok);
  EXPECT_EQ(get(*client, {"GET", "large"}).text, large);
  const std::string binary("a\0\r\n$5\r\n", 9);
  EXPECT_TRUE(get(*client, {"SET", "binary", binary}).ok);
  EXPECT_EQ(get(*client, {"GET", "binary"}).text, binary);
  EXPECT_EQ(get(*client, {"EVAL", "return {1,{'a',{}},false,'b'}", "0"}).text, "1 a  <nil> b");
}

TEST_F(RedisClientTest, AnErrorReplyIsAnAnswerWithItsTextAndNobodysFault) {
  const auto client = connect(server_);
  const RedisAnswer answer = get(*client, {"HGET", "only-key"});
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.error, RedisErrc::kErrorReply);
  EXPECT_TRUE(answer.text.starts_with("ERR ")) << answer.text;
  EXPECT_EQ(guard_.totals().outcomes[static_cast<size_t>(resilience::Outcome::kRejectedByPeer)],
            1U);
  EXPECT_TRUE(get(*client, {"PING"}).ok);
}

TEST_F(RedisClientTest, ALateReplyAnswersNoOtherCommand) {
  const auto client = connect(server_);
  ASSERT_TRUE(get(*client, {"MSET", "a", "of-a", "b", "of-b"}).ok);
  server_.freeze();
  const RedisAnswer late = get(*client, {"GET", "a"}, 20ms);
  EXPECT_EQ(late.error, RedisErrc::kTimeout);
  EXPECT_GE(late.took, 20ms);
  ASSERT_NE(ask(*client, {"GET", "b"}), 0U);
  server_.thaw();
  ASSERT_TRUE(run_until([&] { return answers_.size() == 3; }));
  EXPECT_EQ(answers_.back().text, "of-b");
  EXPECT_TRUE(get(*client, {"PING"}).ok);
  EXPECT_EQ(client->counters().late_replies.value(), 1U);
  EXPECT_EQ(guard_.peek().in_flight, 0) << "the tail went with the late reply";
}

TEST_F(RedisClientTest, WhatAConnectionOwedWhenItEndedIsLostAndTheNextOneOwesNothingOfIt) {
  net::testing::RawListener fake;
  auto client = connect(
      RedisSettings{.primary = "127.0.0.1:" + std::to_string(fake.port()), .reconnect_min = 10ms});
  std::thread peer([&] {
    net::testing::RawSocket first = fake.accept();
    first.receive();
    first.send("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
    first.receive();
    first.send("$5\r\nof-");  // half of the first answer
    first.close();
    net::testing::RawSocket second = fake.accept();
    second.receive();
    second.send("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
    second.receive();
    second.send("$4\r\nof-c\r\n");
    second.receive();
  });
  ASSERT_NE(ask(*client, {"GET", "a"}), 0U);
  ASSERT_NE(ask(*client, {"GET", "b"}), 0U);
  ASSERT_TRUE(run_until([&] { return answers_.size() == 2; }));
  EXPECT_EQ(answers_[0].error, RedisErrc::kLost);
  EXPECT_EQ(answers_[1].error, RedisErrc::kLost);
  ASSERT_TRUE(run_until([&] { return client->ready(RedisUse::kPrimary); }));
  EXPECT_EQ(get(*client, {"GET", "c"}).text, "of-c");
  client.reset();
  peer.join();
}

TEST_F(RedisClientTest, AReplyThatNobodyIsOwedEndsTheConnection) {
  net::testing::RawListener fake;
  const auto client = connect(
      RedisSettings{.primary = "127.0.0.1:" + std::to_string(fake.port()), .reconnect_min = 10ms});
  std::thread peer([&] {
    net::testing::RawSocket first = fake.accept();
    first.receive();
    first.send("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n+PONG\r\n");
    first.receive();
  });
  EXPECT_TRUE(run_until([&] { return client->counters().disconnects.value() == 1; }));
  peer.join();
}

TEST_F(RedisClientTest, BytesThatAreNoRespAndRepliesTooLargeEndTheConnection) {
  for (const std::string_view bytes :
       {std::string_view("HTTP/1.1 400 Bad Request\r\n\r\n"),
        std::string_view("*9999999\r\n$99999999\r\n"), std::string_view("$-7\r\n"),
        std::string_view(
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n")}) {
    net::testing::RawListener fake;
    const auto client = connect(RedisSettings{.primary = "127.0.0.1:" + std::to_string(fake.port()),
                                              .max_reply_bytes = 1 << 10});
    std::thread peer([&] {
      net::testing::RawSocket first = fake.accept();
      first.receive();
      first.send("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
      first.receive();
      first.send(bytes);
      first.send(std::string(70'000, 'x'));
      first.receive();
    });
    ASSERT_NE(ask(*client, {"GET", "a"}), 0U);
    const size_t before = answers_.size();
    ASSERT_TRUE(run_until([&] { return answers_.size() > before; })) << bytes;
    EXPECT_EQ(answers_.back().error, RedisErrc::kProtocol) << bytes;
    fake.close();
    peer.join();
  }
}

TEST_F(RedisClientTest, ACancelledCallIsSilentAndItsReplyAnswersNobody) {
  const auto client = connect(server_);
  ASSERT_TRUE(get(*client, {"SET", "a", "of-a"}).ok);
  ASSERT_NE(ask(*client, {"GET", "a"}), 0U);
  client->cancel(ticket_);
  EXPECT_EQ(get(*client, {"ECHO", "b"}).text, "b");
  EXPECT_EQ(answers_.size(), 2U);
  EXPECT_EQ(client->counters().failed[static_cast<size_t>(RedisErrc::kCancelled)].value(), 1U);
}

TEST_F(RedisClientTest, CommandsAreBoundedByNumberAndByBytes) {
  const auto few = connect(RedisSettings{.primary = server_.address(), .max_commands = 16});
  ASSERT_TRUE(get(*few, {"PING"}).ok);
  server_.freeze();
  for (int i = 0; i < 16; ++i) {
    EXPECT_NE(ask(*few, {"PING"}, 300ms), 0U);
  }
  EXPECT_EQ(ask(*few, {"PING"}), 0U);
  EXPECT_EQ(refused_.back(), RedisErrc::kBusy);
  server_.thaw();
  ASSERT_TRUE(run_until([&] { return answers_.size() == 17; }));
  const auto small = connect(RedisSettings{.primary = server_.address(), .max_bytes = 1 << 10});
  ASSERT_TRUE(get(*small, {"PING"}).ok);
  EXPECT_EQ(ask(*small, {"SET", "k", std::string(2'000, 'x')}), 0U);
  EXPECT_EQ(refused_.back(), RedisErrc::kBusy);
  EXPECT_TRUE(get(*small, {"PING"}).ok);
}

TEST_F(RedisClientTest, LogsInAndSelectsItsDatabase) {
  RedisProcess secret({"--requirepass", "sesame"}, "sesame");
  ASSERT_TRUE(secret.running());
  const auto client =
      connect(RedisSettings{.primary = secret.address(), .password = "sesame", .database = 3});
  EXPECT_TRUE(get(*client, {"SET", "k", "v"}).ok);
  EXPECT_EQ(secret.run({"GET", "k"}), "<nil>");
  EXPECT_EQ(get(*client, {"GET", "k"}).text, "v");
  const auto named =
      connect(RedisSettings{.primary = secret.address(), .user = "default", .password = "sesame"});
  EXPECT_TRUE(get(*named, {"PING"}).ok);
}

TEST_F(RedisClientTest, AWrongPasswordRefusesCallsAndSaysWhatTheServerSaid) {
  RedisProcess secret({"--requirepass", "sesame"}, "sesame");
  const auto client = connect(RedisSettings{.primary = secret.address(), .password = "wrong"});
  EXPECT_EQ(get(*client, {"PING"}).error, RedisErrc::kRefused);
  EXPECT_TRUE(client->last_error().starts_with("WRONGPASS")) << client->last_error();
}

TEST_F(RedisClientTest, SpeaksTlsAndRefusesACertificateOfAnotherName) {
  net::testing::Certificates certificates;
  certificates.issue("server", "DNS:redis.example,IP:127.0.0.1");
  RedisProcess secure({"--tls-port", "x", "--tls-cert-file", certificates.pem("server"),
                       "--tls-key-file", certificates.key("server"), "--tls-ca-cert-file",
                       certificates.pem("ca"), "--tls-auth-clients", "no"});
  ASSERT_TRUE(secure.running());
  const auto settings = [&](const std::string& name) {
    RedisSettings made{.primary = secure.address()};
    made.tls = {.host = name, .ca_file = certificates.pem("ca")};
    return made;
  };
  const auto client = connect(settings("redis.example"));
  const std::string large(300'000, 'x');
  EXPECT_TRUE(get(*client, {"SET", "k", large}).ok);
  EXPECT_EQ(get(*client, {"GET", "k"}).text, large);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_NE(ask(*client, {"ECHO", std::to_string(i)}), 0U);
  }
  ASSERT_TRUE(run_until([&] { return answers_.size() == 1'002; }));
  EXPECT_EQ(answers_.back().text, "999");
  const auto by_address = connect(settings(""));
  EXPECT_TRUE(get(*by_address, {"PING"}).ok) << "the address is in the certificate";
  const auto other = connect(settings("other.example"));
  EXPECT_EQ(get(*other, {"PING"}).error, RedisErrc::kRefused);
  EXPECT_GE(other->counters().connect_failures.value(), 1U);
}

TEST_F(RedisClientTest, WhereNobodyListensCallsFailAtOnceAndNotAtTheirDeadline) {
  const auto client =
      connect(RedisSettings{.primary = "127.0.0.1:" + std::to_string(testing::free_port())});
  const RedisAnswer answer = get(*client, {"PING"}, 10s);
  EXPECT_EQ(answer.error, RedisErrc::kRefused);
  EXPECT_LT(answer.took, 5s);
  EXPECT_EQ(guard_.totals().outcomes[static_cast<size_t>(resilience::Outcome::kRefused)], 1U);
}

TEST_F(RedisClientTest, AHostIsFoundByItsName) {
  const auto client =
      connect(RedisSettings{.primary = "localhost:" + std::to_string(server_.port())});
  EXPECT_TRUE(run_until([&] { return get(*client, {"PING"}, 1s).ok; }))
      << "localhost may be ::1 first";
  const auto nowhere = connect(RedisSettings{.primary = "no-such-host.invalid:6379"});
  EXPECT_EQ(get(*nowhere, {"PING"}, 30s).error, RedisErrc::kRefused);
}

TEST_F(RedisClientTest, AServerThatIsKilledAndComesBackIsFoundAgain) {
  const auto client = connect(server_);
  ASSERT_TRUE(get(*client, {"PING"}).ok);
  server_.kill();
  ASSERT_TRUE(run_until([&] { return client->counters().disconnects.value() == 1; }));
  EXPECT_FALSE(get(*client, {"PING"}, 100ms).ok);
  ASSERT_TRUE(server_.start());
  ASSERT_TRUE(run_until([&] { return client->ready(RedisUse::kPrimary); }));
  EXPECT_TRUE(get(*client, {"PING"}).ok);
}

TEST_F(RedisClientTest, AFrozenServersConnectionIsReplacedAndOneThatAnswersIsUsed) {
  const auto client = connect(RedisSettings{.primary = server_.address(),
                                            .connect_timeout = 100ms,
                                            .stall_after = 200ms,
                                            .reconnect_min = 20ms});
  ASSERT_TRUE(get(*client, {"PING"}).ok);
  server_.freeze();
  EXPECT_EQ(get(*client, {"PING"}, 10ms).error, RedisErrc::kTimeout);
  ASSERT_TRUE(run_until([&] { return client->counters().stalls.value() == 1; }));
  EXPECT_FALSE(client->ready(RedisUse::kPrimary)) << "a kernel that accepts is no server";
  server_.thaw();
  ASSERT_TRUE(run_until([&] { return client->ready(RedisUse::kPrimary); }));
  EXPECT_TRUE(get(*client, {"PING"}).ok);
}

}  // namespace
}  // namespace spillway::adapters
