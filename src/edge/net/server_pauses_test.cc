// What a pause of reads holds, and what it must not.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "base/time.h"
#include "net/http.h"
#include "net/http2_fixture.h"
#include "net/server.h"
#include "net/server_fixture.h"
#include "net/test_kit.h"
#include "net/tls.h"
#include "net/tls_fixture.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using testing::Certificates;
using testing::Http2Client;
using testing::RawSocket;
using testing::status_of;
using testing::statuses_in;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

class ServerPausesTest : public testing::Http2Fixture {
 protected:
  void pause(base::Duration length) {
    on_worker([&] { server_->pause_reads(0, threads_.front()->reactor.refresh() + length); });
  }

  /// Whether all that was ready before is seen and `held` connections were kept waiting.
  bool holds(uint64_t held) {
    return eventually([&] { return counters().reads_held.value() == held; });
  }

  void end_pause() { pause(0ms); }

  ListenerSettings secure(std::vector<std::string> protocols = {"http/1.1"}) {
    certificates_.issue("good", "IP:127.0.0.1");
    auto tls = TlsServer::make({.certificate_file = certificates_.pem("good"),
                                .key_file = certificates_.key("good"),
                                .protocols = std::move(protocols)});
    EXPECT_TRUE(tls) << tls.error();
    return {.tls = *tls};
  }

  Certificates certificates_;
};

/// A caller over TLS whose bytes a test moves by hand.
class TlsCaller {
 public:
  explicit TlsCaller(uint16_t port)
      : socket(RawSocket::to(port)),
        context_(SSL_CTX_new(TLS_client_method())),
        session_(SSL_new(context_.get())),
        from_server_(BIO_new(BIO_s_mem())),
        to_server_(BIO_new(BIO_s_mem())) {
    SSL_set_bio(session_.get(), from_server_, to_server_);
    SSL_set_connect_state(session_.get());
  }

  /// Goes on with the handshake and sends what is due; whether it is done.
  bool shake() {
    const bool done = SSL_do_handshake(session_.get()) == 1;
    flush();
    return done;
  }

  /// Until the handshake is done; false when the server ends it first.
  bool shake_to_the_end() {
    while (!shake()) {
      if (!receive()) {
        return false;
      }
    }
    return true;
  }

  void ask(std::string_view request) {
    SSL_write(session_.get(), request.data(), static_cast<int>(request.size()));
    flush();
  }

  /// The status of the next answer.
  std::string status() {
    char bytes[4096];
    int got = SSL_read(session_.get(), bytes, sizeof bytes);
    while (got <= 0 && receive()) {
      got = SSL_read(session_.get(), bytes, sizeof bytes);
    }
    return status_of(std::string(bytes, got > 0 ? static_cast<size_t>(got) : 0));
  }

  RawSocket socket;

 private:
  bool receive() {
    if (!socket.receive()) {
      return false;
    }
    const std::string bytes = socket.take();
    BIO_write(from_server_, bytes.data(), static_cast<int>(bytes.size()));
    return true;
  }

  void flush() {
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(to_server_, &bytes);
    socket.send({bytes, static_cast<size_t>(size)});
    (void)BIO_reset(to_server_);
  }

  std::unique_ptr<SSL_CTX, TlsFree> context_;
  std::unique_ptr<SSL, TlsFree> session_;
  BIO* from_server_;  // both are the session's
  BIO* to_server_;
};

TEST_F(ServerPausesTest, WhatComesInAPauseOfReadsWaitsForItsEndAndIsThatOld) {
  base::Duration age{-1};
  base::Duration queue_age{-1};
  custom_ = [&](const Request& request, Reply&) {
    age = request.read_at - request.time_zero;
    queue_age = request.queue_age;
  };
  start();
  RawSocket kept = RawSocket::to(server_->port());
  ASSERT_TRUE(eventually([&] { return server_->open_connections() == 1; }));
  pause(1h);
  kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return counters().reads_held.value() == 1; }));
  EXPECT_EQ(counters().requests.value(), 0U);
  base::Instant held_until{};
  on_worker([&] {
    held_until = threads_.front()->reactor.refresh();
    server_->pause_reads(0, held_until + 2ms);
  });
  EXPECT_EQ(status_of(kept.receive_message()), "200");
  EXPECT_GE(age, 2ms);
  EXPECT_LE(queue_age, age - 2ms) << "the thread was not behind, it did not look";
  EXPECT_EQ(counters().read_pauses.value(), 2U);
  EXPECT_EQ(counters().reads_held.value(), 1U);
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), "200");
}

TEST_F(ServerPausesTest, AnHttp2CallerWaitsForTheEndOfAPauseAndIsThatOld) {
  base::Duration age{-1};
  base::Duration queue_age{-1};
  custom_ = [&](const Request& request, Reply&) {
    age = request.read_at - request.time_zero;
    queue_age = request.queue_age;
  };
  open();
  Http2Client client(port());
  ASSERT_EQ(client.wait(client.ask("/first")).status, "200");
  pause(1h);
  const int32_t second = client.ask("/second");
  client.flush();
  ASSERT_TRUE(holds(1));
  EXPECT_EQ(counters().requests.value(), 1U);
  pause(2ms);
  EXPECT_EQ(client.wait(second).status, "200");
  EXPECT_GE(age, 2ms);
  EXPECT_LE(queue_age, age - 2ms);
  EXPECT_EQ(client.wait(client.ask("/third")).status, "200");
  EXPECT_EQ(counters().reads_held.value(), 1U);
  EXPECT_EQ(counters().http2_connections.value(), 1U);
}

TEST_F(ServerPausesTest, AnswersLeaveInAPause) {
  open();
  Http2Client client(port());
  const int32_t slow = client.ask("/hold");
  client.flush();
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  pause(1h);
  on_worker([&] { held_.front().send({.status = 201, .body = "in the pause"}); });
  EXPECT_EQ(client.wait(slow).body, "in the pause");
}

TEST_F(ServerPausesTest, AHandshakeIsGoneOnWithAfterwards) {
  start({}, 1, secure());
  TlsCaller caller(server_->port());
  ASSERT_TRUE(eventually([&] { return counters().open.value() == 1; }));
  pause(1h);
  caller.shake();
  ASSERT_TRUE(holds(1));
  end_pause();
  ASSERT_TRUE(caller.shake_to_the_end());
  caller.ask(kGet);
  EXPECT_EQ(caller.status(), "200");
  EXPECT_EQ(counters().tls_handshakes.value(), 1U);
}

TEST_F(ServerPausesTest, ARequestOverTlsWaitsToo) {
  start({}, 1, secure());
  TlsCaller caller(server_->port());
  ASSERT_TRUE(caller.shake_to_the_end());
  ASSERT_TRUE(eventually([&] { return counters().tls_handshakes.value() == 1; }));
  const uint64_t before = counters().requests.value();
  pause(1h);
  caller.ask(kGet);
  ASSERT_TRUE(holds(1));
  EXPECT_EQ(counters().requests.value(), before);
  end_pause();
  EXPECT_EQ(caller.status(), "200");
}

TEST_F(ServerPausesTest, WhoIsNewInAPauseIsHeldToo) {
  start();
  pause(1h);
  RawSocket fresh = RawSocket::to(server_->port());
  fresh.send(kGet);
  ASSERT_TRUE(holds(1));
  EXPECT_EQ(counters().requests.value(), 0U);
  end_pause();
  EXPECT_EQ(status_of(fresh.receive_message()), "200");
}

TEST_F(ServerPausesTest, WhoHasSentInTimeDoesNotTimeOutForAPause) {
  start({.header_timeout = 50ms, .idle_timeout = 50ms});
  RawSocket half = RawSocket::to(server_->port());
  half.send(kGet.substr(0, 10));
  ASSERT_TRUE(eventually([&] { return counters().received_bytes.value() == 10; }));
  pause(1h);
  half.send(kGet.substr(10));
  RawSocket slow = RawSocket::to(server_->port());
  EXPECT_EQ(status_of(half.receive_message()), "200");
  EXPECT_EQ(slow.receive_all(), "") << "an idle caller's time runs as ever";
  EXPECT_FALSE(slow.timed_out());
}

TEST_F(ServerPausesTest, AHandshakeBegunInTimeEndsWithItsTime) {
  ListenerSettings listener = secure();
  listener.handshake_timeout = 50ms;
  start({}, 1, std::move(listener));
  pause(1h);
  TlsCaller caller(server_->port());
  caller.shake();
  caller.socket.receive_all();
  EXPECT_FALSE(caller.socket.timed_out());
  EXPECT_TRUE(eventually([&] { return counters().handshake_timeouts.value() == 1; }));
}

TEST_F(ServerPausesTest, AnHttp2CallerDoesNotTimeOutForAPause) {
  open({.body_timeout = 50ms});
  Http2Client client(port());
  ASSERT_EQ(client.wait(client.ask("/first")).status, "200");
  client.socket.send(
      testing::frame(NGHTTP2_HEADERS, testing::kEndHeaders, 3, testing::block("/slow", true)));
  ASSERT_TRUE(eventually([&] { return counters().received_bytes.value() > 100; }));
  pause(1h);
  client.socket.send(testing::frame(NGHTTP2_DATA, testing::kEndStream, 3, "late"));
  EXPECT_TRUE(eventually([&] { return counters().requests.value() == 2; }));
  EXPECT_EQ(counters().timeouts.value(), 0U);
}

TEST_F(ServerPausesTest, ADrainEndsAPauseAndHoldsNobody) {
  open({.header_timeout = 1h});
  RawSocket first = RawSocket::to(port());
  first.send(kGet.substr(0, 10));
  ASSERT_TRUE(eventually([&] { return counters().received_bytes.value() == 10; }));
  Http2Client second(port());
  ASSERT_EQ(second.wait(second.ask("/first")).status, "200");
  pause(1h);
  first.send(kGet.substr(10));
  const int32_t asked = second.ask("/second");
  second.flush();
  ASSERT_TRUE(holds(2));
  server_->stop_accepting();
  EXPECT_EQ(statuses_in(first.receive_all()), "200");
  EXPECT_EQ(second.wait(asked).status, "200");
  second.wait_for_end();
  EXPECT_TRUE(eventually([&] { return server_->drained(); }));
  const uint64_t pauses = counters().read_pauses.value();
  pause(1h);
  EXPECT_EQ(counters().read_pauses.value(), pauses);
}

// ThreadSanitizer sees it when the timer is left to the thread that lets go of the server last.
TEST_F(ServerPausesTest, APauseEndsOnItsWorkersThreadWhoeverLetsGoOfTheServerLast) {
  start({}, 2);
  threads_.back()->sync([&] { server_->pause_reads(1, threads_.back()->reactor.refresh() + 1h); });
  std::promise<void> others_are_done;
  threads_.front()->reactor.post([done = others_are_done.get_future()] { done.wait(); });
  server_.reset();
  threads_.back()->sync([] {});
  others_are_done.set_value();
  threads_.front()->sync([] {});
}

}  // namespace
}  // namespace spillway::net
