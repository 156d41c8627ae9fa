#include "net/tls.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "net/client.h"
#include "net/client_fixture.h"
#include "net/http.h"
#include "net/server.h"
#include "net/test_kit.h"
#include "net/tls_fixture.h"

namespace spillway::net {
namespace {

using base::CallError;
using base::CallPhase;
using testing::Certificates;
using testing::ClientFixture;
using testing::RawSocket;
using testing::ReactorThread;
using namespace std::chrono_literals;

/// Our client on the test's thread against our server on another.
class TlsTest : public ClientFixture {
 protected:
  ~TlsTest() override {
    server_.reset();
    thread_.reset();
  }

  void serve(const std::string& certificate, ListenerSettings listener = {},
             const std::string& client_ca = {}) {
    auto tls = TlsServer::make({.certificate_file = certificates_.pem(certificate),
                                .key_file = certificates_.key(certificate),
                                .client_ca_file = client_ca});
    ASSERT_TRUE(tls) << tls.error();
    tls_ = *tls;
    listener.tls = tls_;
    thread_ = std::make_unique<ReactorThread>();
    std::vector<Server::Worker> workers;
    workers.push_back(
        {.reactor = thread_->reactor, .handler = [](const Request& request, Reply reply) {
           Response response;
           response.body =
               std::string(request.body) + std::string(request.secure ? " secure" : " plain");
           reply.send(std::move(response));
         }});
    server_ = std::make_unique<Server>("127.0.0.1:0", ServerLimits{.body_bytes = 8 << 20},
                                       std::move(workers), std::move(listener));
    ASSERT_EQ(server_->error(), "");
    server_->start();
  }

  TargetId target(TlsClientSettings settings, size_t connections = 128) {
    auto tls = TlsClient::make(std::move(settings));
    EXPECT_TRUE(tls) << tls.error();
    return add({.host = "127.0.0.1",
                .port = server_->port(),
                .tls = *tls,
                .max_connections = connections});
  }

  TlsClientSettings trusting(std::string host = "127.0.0.1") {
    return {.host = std::move(host), .ca_file = certificates_.pem("ca")};
  }

  base::CallResult ask(TargetId id) {
    call(id);
    run_until(1);
    return last().result;
  }

  const ServerCounters& counters() { return server_->counters(0); }

  bool eventually(const base::Counter& counter, uint64_t value) {
    return run_while_not([&] { return counter.value() >= value; });
  }

  Certificates certificates_;
  std::shared_ptr<TlsServer> tls_;
  std::unique_ptr<ReactorThread> thread_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsTest, CallsGoThroughAndReuseTheirConnection) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good");
  const TargetId id = target(trusting());
  constexpr int kCalls = 200;
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_EQ(ask(id).error, CallError::kNone);
    ASSERT_EQ(last().body, "request-body secure");
  }
  EXPECT_EQ(client_.counters(id).tls_handshakes.value(), 1U);
  EXPECT_GE(client_.counters(id).reused.value() * 100, kCalls * 99U);
  EXPECT_EQ(counters().tls_handshakes.value(), 1U);
}

TEST_F(TlsTest, LargeBodiesGoBothWays) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good");
  auto tls = TlsClient::make(trusting());
  const TargetId id =
      add({.host = "127.0.0.1", .port = server_->port(), .tls = *tls, .answer_bytes = 16 << 20});
  const std::string big(5 << 20, 'b');
  const std::vector<std::string_view> body{big};
  client_.call(id, "POST", "/", "", body, {.answer_by = reactor_.refresh() + 10s}, 1, *this);
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kNone);
  EXPECT_EQ(last().body, big + " secure");
}

TEST_F(TlsTest, ASecondConnectionResumesTheSession) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good");
  const auto tls = TlsClient::make(trusting());
  for (int i = 0; i < 3; ++i) {
    const TargetId id = add({.host = "127.0.0.1", .port = server_->port(), .tls = *tls});
    ASSERT_EQ(ask(id).error, CallError::kNone);
    EXPECT_EQ(client_.counters(id).tls_resumed.value(), i == 0 ? 0U : 1U);
    client_.remove_target(id);
  }
  EXPECT_EQ(counters().tls_resumed.value(), 2U);
}

TEST_F(TlsTest, ATicketIsGoodAcrossOneRotationOfItsKeysAndIsRenewed) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good");
  const auto tls = TlsClient::make(trusting());
  const auto resumes = [&] {
    const TargetId id = add({.host = "127.0.0.1", .port = server_->port(), .tls = *tls});
    EXPECT_EQ(ask(id).error, CallError::kNone);
    const bool resumed = client_.counters(id).tls_resumed.value() == 1;
    client_.remove_target(id);
    return resumed;
  };
  EXPECT_FALSE(resumes());
  for (int i = 0; i < 5; ++i) {
    tls_->rotate_tickets();
    EXPECT_TRUE(resumes()) << "each was sealed by the key before";
  }
  EXPECT_EQ(tls_->load(), "");
  EXPECT_TRUE(resumes()) << "another certificate changes no ticket's key";
  EXPECT_EQ(counters().tls_resumed.value(), 6U);
  EXPECT_EQ(counters().tls_handshakes.value(), 7U);
  EXPECT_EQ(tls_->ticket_rotations(), 5U);
}

TEST_F(TlsTest, TicketKeysRotateWhenTheirTimeHasPassed) {
  certificates_.issue("good", "IP:127.0.0.1");
  auto tls = TlsServer::make({.certificate_file = certificates_.pem("good"),
                              .key_file = certificates_.key("good"),
                              .ticket_rotation = 1h});
  ASSERT_TRUE(tls) << tls.error();
  const base::Instant begin{100h};
  for (const auto& [after, rotations] :
       {std::pair(0min, 0U), {59min, 0U}, {60min, 1U}, {61min, 1U}, {119min, 1U}, {121min, 2U}}) {
    (*tls)->tick(begin + after);
    EXPECT_EQ((*tls)->ticket_rotations(), rotations) << after.count();
  }
}

TEST_F(TlsTest, ATicketOfAKeyForgottenLeadsToAFullHandshake) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good");
  const auto tls = TlsClient::make(trusting());
  const TargetId first = add({.host = "127.0.0.1", .port = server_->port(), .tls = *tls});
  ASSERT_EQ(ask(first).error, CallError::kNone);
  client_.remove_target(first);
  tls_->rotate_tickets();
  tls_->rotate_tickets();
  const TargetId second = add({.host = "127.0.0.1", .port = server_->port(), .tls = *tls});
  EXPECT_EQ(ask(second).error, CallError::kNone);
  EXPECT_EQ(client_.counters(second).tls_resumed.value(), 0U);
  EXPECT_EQ(counters().tls_resumed.value(), 0U);
}

TEST_F(TlsTest, CertificatesThatDoNotFitAreTlsErrorsOfTheConnectPhase) {
  certificates_.issue("other", "DNS:other.example");
  certificates_.issue("expired", "IP:127.0.0.1", -7200, -3600);
  certificates_.issue("early", "IP:127.0.0.1", 3600, 7200);
  certificates_.self_sign("alone", "IP:127.0.0.1");
  for (const char* const name : {"other", "expired", "early", "alone"}) {
    serve(name);
    const TargetId id = target(trusting());
    const base::CallResult result = ask(id);
    EXPECT_EQ(result.error, CallError::kTls) << name;
    EXPECT_EQ(result.phase, CallPhase::kConnect) << name;
    EXPECT_EQ(client_.counters(id).tls_failed.value(), 1U) << name;
    client_.remove_target(id);
    server_.reset();
    thread_.reset();
  }
}

TEST_F(TlsTest, AnUnknownAuthorityIsRefusedAndToldTheServer) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good");
  const TargetId id = target({.host = "127.0.0.1"});  // the system's store
  EXPECT_EQ(ask(id).error, CallError::kTls);
  EXPECT_TRUE(eventually(counters().tls_certificate, 1));
}

TEST_F(TlsTest, ANameIsCheckedAgainstTheCertificate) {
  certificates_.issue("named", "DNS:dsp.example");
  serve("named");
  EXPECT_EQ(ask(target(trusting("dsp.example"))).error, CallError::kNone);
  EXPECT_EQ(ask(target(trusting("dsp.example.evil"))).error, CallError::kTls);
  EXPECT_EQ(ask(target({.host = "any.example", .verify = false})).error, CallError::kNone);
}

TEST_F(TlsTest, AClientCertificateIsShownWhenDemanded) {
  certificates_.issue("good", "IP:127.0.0.1");
  certificates_.issue("caller", "DNS:caller.example");
  serve("good", {}, certificates_.pem("ca"));
  TlsClientSettings settings = trusting();
  settings.certificate_file = certificates_.pem("caller");
  settings.key_file = certificates_.key("caller");
  EXPECT_EQ(ask(target(settings)).error, CallError::kNone);
  EXPECT_NE(ask(target(trusting())).error, CallError::kNone);
  EXPECT_TRUE(eventually(counters().tls_certificate, 1));
}

TEST_F(TlsTest, AReloadedCertificateServesNewHandshakesAndLosesNoRequest) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good");
  const TargetId old = target(trusting());
  ASSERT_EQ(ask(old).error, CallError::kNone);
  certificates_.issue("next", "DNS:next.example");
  for (const bool key : {false, true}) {
    const auto from = key ? certificates_.key("next") : certificates_.pem("next");
    const auto to = key ? certificates_.key("good") : certificates_.pem("good");
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
    if (!key) {
      EXPECT_NE(tls_->load(), "") << "half a pair must change nothing";
      EXPECT_EQ(ask(target(trusting())).error, CallError::kNone);
    }
  }
  EXPECT_EQ(tls_->load(), "");
  EXPECT_EQ(ask(old).error, CallError::kNone);
  EXPECT_TRUE(last().result.reused);
  EXPECT_EQ(ask(target(trusting("next.example"))).error, CallError::kNone);
  EXPECT_EQ(ask(target(trusting())).error, CallError::kTls);
}

TEST_F(TlsTest, WhatIsNoClientHelloIsClosedAndCounted) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good");
  RawSocket plain = RawSocket::to(server_->port());
  plain.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  plain.receive_all();
  EXPECT_FALSE(plain.timed_out());
  EXPECT_TRUE(eventually(counters().tls_plaintext, 1));
  RawSocket garbage = RawSocket::to(server_->port());
  garbage.send(std::string("\x16\x03\x01\x00\x05\x01\x00\x00\x01\xff", 10));
  garbage.receive_all();
  EXPECT_FALSE(garbage.timed_out());
  EXPECT_TRUE(eventually(counters().tls_protocol, 1));
  EXPECT_EQ(ask(target(trusting())).error, CallError::kNone);
}

TEST_F(TlsTest, HandshakesThatTakeTooLongOrAreTooManyEnd) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good", {.handshake_timeout = 500ms, .handshakes = 1});
  RawSocket silent = RawSocket::to(server_->port());
  ASSERT_TRUE(eventually(counters().open, 1));
  RawSocket second = RawSocket::to(server_->port());
  second.receive_all();
  EXPECT_TRUE(eventually(counters().over_handshakes, 1));
  silent.receive_all();
  EXPECT_FALSE(silent.timed_out() || second.timed_out());
  EXPECT_TRUE(eventually(counters().handshake_timeouts, 1));
}

TEST_F(TlsTest, APeerThatNeverShakesHandsIsGivenUp) {
  certificates_.issue("good", "IP:127.0.0.1");
  serve("good");
  script([this] { listener_.accept().receive_all(); });
  auto tls = TlsClient::make(trusting());
  const TargetId id = add({.host = "127.0.0.1", .port = listener_.port(), .tls = *tls});
  call(id, 1, {.connect_by = reactor_.refresh() + 20ms, .answer_by = reactor_.refresh() + 30ms});
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kTimeout);
  EXPECT_EQ(last().result.phase, CallPhase::kConnect);
}

}  // namespace
}  // namespace spillway::net
