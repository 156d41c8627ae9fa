#pragma once

// For this room's tests only: a server on threads of its own that answers with what it understood.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/http.h"
#include "net/server.h"
#include "net/test_kit.h"

namespace spillway::net::testing {

using namespace std::chrono_literals;

/// Of the first answer; the whole text when that is none.
inline std::string status_of(std::string_view answer) {
  return answer.size() >= 12 ? std::string(answer.substr(9, 3)) : std::string(answer);
}

/// Of all answers, separated by spaces.
inline std::string statuses_in(const std::string& answers) {
  std::string statuses;
  for (size_t at = 0; (at = answers.find("HTTP/1.1 ", at)) != std::string::npos; at += 9) {
    statuses += (statuses.empty() ? "" : " ") + answers.substr(at + 9, 3);
  }
  return answers.starts_with("<hang>") ? answers : statuses;
}

/// Answers with what it understood; keeps replies back while `hold` is set.
class ServerFixture : public ::testing::Test {
 protected:
  void start(const ServerLimits& limits = {}, size_t workers = 1, ListenerSettings listener = {}) {
    std::vector<Server::Worker> parts;
    for (size_t i = 0; i < workers; ++i) {
      threads_.push_back(std::make_unique<ReactorThread>());
      parts.push_back({.reactor = threads_.back()->reactor,
                       .handler = [this](const Request& request, Reply reply) {
                         handle(request, std::move(reply));
                       }});
    }
    server_ =
        std::make_unique<Server>("127.0.0.1:0", limits, std::move(parts), std::move(listener));
    ASSERT_EQ(server_->error(), "");
    server_->start();
  }

  void TearDown() override {
    on_worker([this] { held_.clear(); });
    server_.reset();
    threads_.clear();
  }

  void on_worker(const std::function<void()>& work) {
    if (!threads_.empty()) {
      threads_.front()->sync(work);
    }
  }

  void handle(const Request& request, Reply reply) {
    if (custom_) {
      custom_(request, reply);
    }
    if (!reply) {
      return;
    }
    Response response{.status = 200, .content_type = "text/plain", .headers = {}, .body = {}};
    response.body = std::string(request.method) + " " + std::string(request.target) + " [" +
                    std::string(request.body) + "]";
    if (request.path() == "/hold") {
      held_.push_back(std::move(reply));
      held_count_.store(held_.size());
      return;
    }
    reply.send(std::move(response));
  }

  /// Waits until `condition` holds on the worker's thread; false after 10 s.
  bool eventually(const std::function<bool()>& condition) {
    for (const auto end = std::chrono::steady_clock::now() + 10s;
         std::chrono::steady_clock::now() < end;) {
      bool holds = false;
      on_worker([&] { holds = condition(); });
      if (holds) {
        return true;
      }
    }
    return false;
  }

  std::string exchange(std::string_view request) {
    RawSocket socket = RawSocket::to(server_->port());
    socket.send(request);
    socket.shut_write();
    std::string answer = socket.receive_all();
    return socket.timed_out() ? "<hang> " + answer : answer;
  }

  const ServerCounters& counters() { return server_->counters(0); }

  std::vector<std::unique_ptr<ReactorThread>> threads_;
  std::unique_ptr<Server> server_;
  std::function<void(const Request&, Reply&)> custom_;
  std::vector<Reply> held_;
  std::atomic<size_t> held_count_{0};
};

}  // namespace spillway::net::testing
