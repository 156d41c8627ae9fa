#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "observe/admin.h"
#include "resilience/guard.h"

namespace spillway::observe {
namespace {

/// The admin pages on a free port, and a caller's side that speaks over a real socket.
class AdminServer {
 public:
  explicit AdminServer(AdminHooks hooks)
      : hooks_(std::move(hooks)), reactor_(clock_), server_("127.0.0.1:0", {}, workers()) {
    EXPECT_EQ(server_.error(), "");
    server_.start();
    thread_ = std::jthread([this] { reactor_.run(); });
  }

  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  ~AdminServer() {
    reactor_.stop();
    thread_.join();
  }

  /// The answer's text, up to the close that the request asks for.
  [[nodiscard]] std::string ask(std::string_view method, std::string_view target,
                                std::string_view body = {}) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    std::string request(method);
    request.append(" ").append(target).append(" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
    request.append("Content-Length: ").append(std::to_string(body.size()));
    request.append("\r\n\r\n").append(body);
    EXPECT_EQ(TEMP_FAILURE_RETRY(::send(fd, request.data(), request.size(), 0)),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    std::array<char, 4096> part{};
    for (ssize_t got = 0;
         (got = TEMP_FAILURE_RETRY(::recv(fd, part.data(), part.size(), 0))) > 0;) {
      answer.append(part.data(), static_cast<size_t>(got));
    }
    ::close(fd);
    return answer;
  }

 private:
  std::vector<net::Server::Worker> workers() {
    std::vector<net::Server::Worker> made;
    made.push_back({.reactor = reactor_, .handler = [this](const auto& request, net::Reply reply) {
                      answer_admin(hooks_, request, std::move(reply));
                    }});
    return made;
  }

  AdminHooks hooks_;
  net::OsClock clock_;
  net::Reactor reactor_;
  net::Server server_;
  std::jthread thread_;
};

TEST(AnswerAdmin, AnswersOverARealSocket) {
  const AdminServer server({.metrics = [] { return std::string(100'000, '#') + "\nup 1\n"; },
                            .ready = [] { return false; },
                            .circuits = {},
                            .set_mode = {},
                            .reload = {}});
  EXPECT_TRUE(server.ask("GET", "/healthz").ends_with("\r\n\r\nok\n"));
  EXPECT_TRUE(server.ask("GET", "/readyz").starts_with("HTTP/1.1 503 "));
  const std::string metrics = server.ask("GET", "/metrics");
  EXPECT_NE(metrics.find("text/plain; version=0.0.4"), std::string::npos);
  EXPECT_TRUE(metrics.ends_with("#\nup 1\n"));
  EXPECT_GT(metrics.size(), 100'000U);
  const std::string refused = server.ask("POST", "/healthz");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 405 "));
  EXPECT_NE(refused.find("\r\nAllow: GET, HEAD\r\n"), std::string::npos);
}

TEST(AnswerAdmin, PassesAnOrderOfARealCallerOn) {
  std::string got;
  const AdminServer server({.metrics = {},
                            .ready = {},
                            .circuits = {},
                            .set_mode =
                                [&got](std::string_view key, resilience::Mode mode, base::Duration,
                                       std::string_view why) {
                                  got = std::string(key) + " " +
                                        std::to_string(static_cast<int>(mode)) + " " +
                                        std::string(why);
                                  return std::string();
                                },
                            .reload = {}});
  const std::string answer = server.ask("POST", "/admin/circuits?key=alpha/eu/display",
                                        R"({"mode":"shadow","why":"rehearsal"})");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_EQ(got, "alpha/eu/display 1 rehearsal");
}

}  // namespace
}  // namespace spillway::observe
