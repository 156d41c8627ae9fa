#include "balance/imds.h"

#include <array>
#include <ctime>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "net/http.h"
#include "net/server.h"

namespace spillway::balance {

namespace {

constexpr std::string_view kToken = "AQAEAHere-is-a-token";

std::string in_two_minutes() {
  const std::time_t at = std::time(nullptr) + 120;
  std::tm parts{};
  ::gmtime_r(&at, &parts);
  std::array<char, 32> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

}  // namespace

FakeImds::FakeImds() {
  std::vector<net::Server::Worker> workers;
  workers.push_back(
      {.reactor = reactor_, .handler = [this](const net::Request& request, net::Reply reply) {
         reply.send(answer(request));
       }});
  server_ = std::make_unique<net::Server>("127.0.0.1:0", net::ServerLimits{}, std::move(workers));
  server_->start();
  thread_ = std::thread([this] { reactor_.run(); });
}

FakeImds::~FakeImds() {
  reactor_.stop();
  thread_.join();
}

void FakeImds::give_notice() {
  time_ = in_two_minutes();
  notice_ = true;
}

net::Response FakeImds::answer(const net::Request& request) {
  if (request.method == "PUT" && request.path() == "/latest/api/token") {
    return request.header("X-aws-ec2-metadata-token-ttl-seconds").empty()
               ? net::Response{.status = 400}
               : net::Response{.content_type = "text/plain", .body = std::string(kToken)};
  }
  if (request.header("X-aws-ec2-metadata-token") != kToken) {
    return {.status = 401};
  }
  ++asked_;
  if (notice_ && request.path() == "/latest/meta-data/spot/instance-action") {
    return {.content_type = "application/json",
            .body = fmt::format(R"({{"action":"terminate","time":"{}"}})", time_)};
  }
  return {.status = 404};
}

}  // namespace spillway::balance
