#pragma once

// For tests only: real servers on free ports, a proxy that delays, and a client on the test's own
// thread.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/redis_client.h"
#include "adapters/redis_delaying_proxy.h"
#include "adapters/redis_settings.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/test_kit.h"
#include "net/timer_wheel.h"
#include "resilience/guard.h"

namespace spillway::adapters::testing {

using namespace std::chrono_literals;

/// A folder that goes with the test.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "redis_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }

  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A port that nobody listened on a moment ago.
inline uint16_t free_port() {
  net::testing::RawListener listener;
  return listener.port();
}

/// A redis-server (or sentinel) of this test's own, on the loopback, killed with it.
class RedisProcess {
 public:
  using Words = std::vector<std::string>;

  /// Starts on a free port; another one when somebody was faster. Without a program: not running.
  explicit RedisProcess(Words more = {}, std::string password = {})
      : more_(std::move(more)), password_(std::move(password)) {
    for (int attempt = 0; attempt < 5 && !running(); ++attempt) {
      port_ = free_port();
      start();
    }
  }

  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  ~RedisProcess() { kill(); }

  /// On the port it had. Waits until it answers; false when it does not.
  bool start() {
    Words words{"redis-server"};
    for (const char* word : {"--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                             "--enable-debug-command", "local", "--dir"}) {
      words.emplace_back(word);
    }
    words.push_back(folder_.path());
    const bool only_tls = std::ranges::find(more_, "--tls-port") != more_.end();
    words.insert(words.end(), {only_tls ? "--tls-port" : "--port", std::to_string(port_)});
    bool skip = false;
    for (const std::string& word : more_) {
      if (word == "--tls-port") {
        words.insert(words.end(), {"--port", "0"});
        skip = true;
      } else if (!std::exchange(skip, false)) {
        words.push_back(word);
      }
    }
    return spawn(words) && answers();
  }

  /// A sentinel watching `primary` by the name "main".
  static std::unique_ptr<RedisProcess> sentinel(uint16_t primary_port) {
    auto process = std::unique_ptr<RedisProcess>(new RedisProcess(primary_port));
    return process;
  }

  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }

  void freeze() const { ::kill(pid_, SIGSTOP); }

  void thaw() const { ::kill(pid_, SIGCONT); }

  [[nodiscard]] bool running() const { return pid_ > 0; }

  [[nodiscard]] uint16_t port() const { return port_; }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// A command over a connection of its own; the reply as text, arrays joined by spaces.
  std::string run(std::initializer_list<std::string_view> parts) const {
    return run(Words(parts.begin(), parts.end()));
  }

  [[nodiscard]] std::string run(const Words& parts) const {
    redisContext* const context = redisConnectWithTimeout("127.0.0.1", port_, timeval{5, 0});
    if (context == nullptr || context->err != 0) {
      redisFree(context);
      return "<no connection>";
    }
    redisSetTimeout(context, timeval{5, 0});
    if (!password_.empty()) {
      freeReplyObject(redisCommand(context, "AUTH %s", password_.c_str()));
    }
    std::vector<const char*> texts;
    std::vector<size_t> sizes;
    for (const std::string& part : parts) {
      texts.push_back(part.data());
      sizes.push_back(part.size());
    }
    auto* const reply = static_cast<redisReply*>(
        redisCommandArgv(context, static_cast<int>(parts.size()), texts.data(), sizes.data()));
    std::string text = reply == nullptr ? "<no reply>" : text_of(*reply);
    freeReplyObject(reply);
    redisFree(context);
    return text;
  }

 private:
  explicit RedisProcess(uint16_t primary_port) {
    for (int attempt = 0; attempt < 5 && !running(); ++attempt) {
      port_ = free_port();
      const std::string file = folder_.path() + "/sentinel.conf";
      std::ofstream(file) << "bind 127.0.0.1\nport " << port_ << "\ndir " << folder_.path()
                          << "\nsentinel monitor main 127.0.0.1 " << primary_port
                          << " 1\nsentinel down-after-milliseconds main 500\n"
                             "sentinel failover-timeout main 3000\n";
      if (!spawn({"redis-server", file, "--sentinel"}) || !answers()) {
        kill();
      }
    }
  }

  bool spawn(const Words& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int null = ::open("/dev/null", O_RDWR);
      ::dup2(null, 0);
      ::dup2(null, 1);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    return pid_ > 0;
  }

  bool answers() {
    for (int i = 0; i < 1'000; ++i) {
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        return false;
      }
      const std::string pong = run({"PING"});
      if (pong == "PONG" || pong.starts_with("NOAUTH") || is_tls_answer(pong)) {
        return true;
      }
      ::poll(nullptr, 0, 10);
    }
    kill();
    return false;
  }

  [[nodiscard]] bool is_tls_answer(const std::string& pong) const {
    return pong == "<no reply>" && std::ranges::find(more_, "--tls-port") != more_.end();
  }

  static std::string text_of(const redisReply& reply) {
    switch (reply.type) {
      case REDIS_REPLY_INTEGER:
        return std::to_string(reply.integer);
      case REDIS_REPLY_NIL:
        return "<nil>";
      case REDIS_REPLY_ARRAY: {
        std::string all;
        for (size_t i = 0; i < reply.elements; ++i) {
          all += (i > 0 ? " " : "") + text_of(*reply.element[i]);
        }
        return all;
      }
      default:
        return {reply.str, static_cast<size_t>(reply.len)};
    }
  }

  ScratchFolder folder_;
  Words more_;
  std::string password_;
  uint16_t port_ = 0;
  pid_t pid_ = -1;
};

struct RedisAnswer {
  uint64_t tag = 0;
  bool ok = false;
  RedisErrc error = RedisErrc::kTimeout;
  std::string text;  ///< Of the reply; arrays joined by spaces.
  base::Duration took{};
};

inline std::string text_of(const RedisReply& reply) {
  switch (reply.type()) {
    case RedisType::kNil:
      return "<nil>";
    case RedisType::kInteger:
      return std::to_string(reply.integer());
    case RedisType::kArray: {
      std::string all;
      reply.for_each(
          [&](const RedisReply& element) { all += (all.empty() ? "" : " ") + text_of(element); });
      return all;
    }
    case RedisType::kString:
    case RedisType::kStatus:
    case RedisType::kError:
      break;
  }
  return std::string(reply.text());
}

/// A reactor on the test's own thread, a guard that is ticked, and clients.
class RedisTest : public ::testing::Test, public RedisListener, private net::Timer {
 protected:
  RedisTest() { tick_.arm_at(reactor_.now()); }

  std::unique_ptr<RedisClient> connect(RedisSettings settings) {
    EXPECT_TRUE(validate(settings).empty()) << validate(settings).front().what;
    auto client = std::make_unique<RedisClient>(reactor_, std::move(settings), guard_, 0, ++seed_);
    client->start();
    return client;
  }

  std::unique_ptr<RedisClient> connect(const RedisProcess& server) {
    return connect(RedisSettings{.primary = server.address()});
  }

  /// Its tag; 0 when it was refused.
  uint64_t ask(RedisClient& client, std::initializer_list<std::string_view> parts,
               base::Duration patience = 5s, RedisUse use = RedisUse::kPrimary) {
    const std::vector<std::string_view> views(parts);
    const base::Instant now = reactor_.refresh();
    const auto ticket = client.ask(use, views, now + patience, ++asked_, *this);
    if (!ticket) {
      refused_.push_back(ticket.error());
      return 0;
    }
    ticket_ = *ticket;
    asked_at_[asked_] = now;
    return asked_;
  }

  /// Asks and waits.
  RedisAnswer get(RedisClient& client, std::initializer_list<std::string_view> parts,
                  base::Duration patience = 5s, RedisUse use = RedisUse::kPrimary) {
    const size_t before = answers_.size();
    if (ask(client, parts, patience, use) == 0) {
      return {.error = refused_.back(), .text = {}};
    }
    EXPECT_TRUE(run_until([&] { return answers_.size() > before; }));
    return answers_.empty() ? RedisAnswer{} : answers_.back();
  }

  /// Runs the reactor until `condition` holds, `limit` at most.
  bool run_until(const std::function<bool()>& condition, base::Duration limit = 15s) {
    const base::Instant end = reactor_.refresh() + limit;
    bool holds = condition();
    while (!holds && reactor_.refresh() < end) {
      reactor_.timers().arm(*this, reactor_.now() + 1ms);
      reactor_.run();
      holds = condition();
    }
    cancel();
    return holds;
  }

  void run_for(base::Duration time) {
    run_until([] { return false; }, time);
  }

  void on_redis(uint64_t tag, const RedisResult& result, RedisReply reply) override {
    answers_.push_back({.tag = tag,
                        .ok = result.has_value(),
                        .error = result ? RedisErrc::kTimeout : result.error(),
                        .text = text_of(reply),
                        .took = reactor_.refresh() - asked_at_[tag]});
  }

  void on_timer(base::Instant /*now*/) override { reactor_.stop(); }

  struct Tick final : net::Timer {
    explicit Tick(RedisTest& own) : test(own) {}

    void arm_at(base::Instant at) { test.reactor_.timers().arm(*this, at); }

    void on_timer(base::Instant now) override {
      test.guard_.tick(now, test.transitions_);
      arm_at(now + 100ms);
    }

    RedisTest& test;
  };

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  resilience::Guard guard_{"redis/test/all", redis_guard_settings(), 1, 1, reactor_.now()};
  std::vector<resilience::Transition> transitions_;
  std::vector<RedisAnswer> answers_;
  std::vector<RedisErrc> refused_;
  std::map<uint64_t, base::Instant> asked_at_;
  uint64_t asked_ = 0;
  uint64_t seed_ = 0;
  RedisTicket ticket_ = 0;
  Tick tick_{*this};
};

}  // namespace spillway::adapters::testing
