// What one HTTP request costs our server in CPU, beside nginx answering the same bytes in the same
// run: user and system time from /proc/<pid>/task over one closed-loop load, taken in turns.
//
//   server_floor [--smoke] [--requests N] [--connections N] [--rounds N]
//
// Prints one JSON object. Exit status 0 also when the bar is missed: a noisy machine is no error.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/client.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"

namespace {

using namespace std::chrono_literals;
using namespace spillway;

constexpr std::string_view kAnswer = R"({"id":"1","seatbid":[]})";
constexpr double kBar = 0.8;

struct Plan {
  uint64_t requests = 100'000;
  int connections = 16;
  int rounds = 3;
  bool smoke = false;
};

/// Time that a process's threads have run so far, user and system.
uint64_t cpu_ns(pid_t pid) {
  uint64_t total_ns = 0;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(task.path() / "schedstat");
    uint64_t ran_ns = 0;
    file >> ran_ns;
    total_ns += ran_ns;
  }
  return total_ns;
}

/// Closed loop: each connection sends its next request when it has its answer.
class Load final : public net::CallListener {
 public:
  Load(uint16_t port, const Plan& plan) : left_(plan.requests) {
    target_ = client_.add_target({.host = "127.0.0.1",
                                  .port = port,
                                  .max_connections = static_cast<size_t>(plan.connections),
                                  .max_handshakes = static_cast<size_t>(plan.connections)});
    for (int i = 0; i < plan.connections; ++i) {
      reactor_.post([this] { next(); });
    }
  }

  /// Requests answered with 200 and the right body.
  uint64_t run() {
    reactor_.run();
    return good_;
  }

  void on_answer(uint64_t /*tag*/, const base::CallResult& result, std::string_view body,
                 bool /*draining*/) override {
    --in_flight_;
    good_ += result.error == base::CallError::kNone && result.status == 200 && body == kAnswer;
    next();
  }

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

 private:
  void next() {
    if (left_ == 0) {
      if (in_flight_ == 0) {
        reactor_.stop();
      }
      return;
    }
    --left_;
    ++in_flight_;
    client_.call(target_, "GET", "/bid", "Accept: application/json\r\nUser-Agent: load\r\n", {},
                 {.answer_by = reactor_.now() + 10s}, 0, *this);
  }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  net::Client client_{reactor_};
  net::TargetId target_ = 0;
  uint64_t left_;
  uint64_t in_flight_ = 0;
  uint64_t good_ = 0;
};

/// A child process, ended by its id.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// Our server in a process of its own; its port comes through a pipe.
std::unique_ptr<Child> start_ours(uint16_t& port) {
  int ends[2];
  if (::pipe(ends) != 0) {
    return nullptr;
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    net::OsClock clock;
    net::Reactor reactor(clock);
    std::vector<net::Server::Worker> workers;
    workers.push_back({.reactor = reactor, .handler = [](const net::Request&, net::Reply reply) {
                         reply.send({.status = 200,
                                     .content_type = "application/json",
                                     .body = std::string(kAnswer)});
                       }});
    net::Server server("127.0.0.1:0", {}, std::move(workers));
    server.start();
    const uint16_t bound = server.port();
    if (::write(ends[1], &bound, sizeof bound) == sizeof bound) {
      reactor.run();
    }
    ::_exit(0);
  }
  const auto got = ::read(ends[0], &port, sizeof port);
  ::close(ends[0]);
  ::close(ends[1]);
  return got == sizeof port ? std::make_unique<Child>(pid) : nullptr;
}

/// nginx with one process and no log, on a port that was free a moment ago.
std::unique_ptr<Child> start_nginx(const std::filesystem::path& folder, uint16_t& port) {
  {
    net::OsClock clock;
    net::Reactor reactor(clock);
    std::vector<net::Server::Worker> workers;
    workers.push_back({.reactor = reactor, .handler = [](const net::Request&, net::Reply) {}});
    port = net::Server("127.0.0.1:0", {}, std::move(workers)).port();
  }
  std::ofstream(folder / "nginx.conf")
      << "daemon off; master_process off; worker_processes 1; pid " << folder.string()
      << "/pid; error_log stderr crit;\nevents { worker_connections 1024; }\nhttp { access_log "
         "off; "
      << "keepalive_requests 100000000; default_type application/json;\n";
  {
    std::ofstream conf(folder / "nginx.conf", std::ios::app);
    for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
      conf << kind << "_temp_path " << folder.string() << "/" << kind << ";\n";
    }
    conf << "server { listen 127.0.0.1:" << port << "; location / { return 200 '" << kAnswer
         << "'; } } }\n";
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/usr/sbin/nginx", "nginx", "-e", "stderr", "-c", (folder / "nginx.conf").c_str(),
            nullptr);
    ::_exit(127);
  }
  auto child = std::make_unique<Child>(pid);
  for (int i = 0; i < 500; ++i) {
    if (Load(port, {.requests = 1, .connections = 1}).run() == 1) {
      return child;
    }
    ::usleep(10'000);
  }
  return nullptr;
}

/// CPU per request in microseconds; negative when requests failed.
double measure(const Child& server, uint16_t port, const Plan& plan) {
  const uint64_t before = cpu_ns(server.pid());
  const uint64_t good = Load(port, plan).run();
  const uint64_t ran_ns = cpu_ns(server.pid()) - before;
  if (good != plan.requests) {
    return -1;
  }
  return static_cast<double>(ran_ns) / 1e3 / static_cast<double>(plan.requests);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Plan read_plan(int argc, char** argv) {
  Plan plan;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--smoke") {
      plan = {.requests = 2'000, .connections = 4, .rounds = 1, .smoke = true};
    } else if (flag == "--requests" && i + 1 < argc) {
      plan.requests = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag == "--connections" && i + 1 < argc) {
      plan.connections = std::max(1, std::atoi(argv[++i]));
    } else if (flag == "--rounds" && i + 1 < argc) {
      plan.rounds = std::max(1, std::atoi(argv[++i]));
    }
  }
  return plan;
}

int compare(const Plan& plan, const std::filesystem::path& folder) {
  uint16_t our_port = 0;
  uint16_t nginx_port = 0;
  const auto ours = start_ours(our_port);
  const auto nginx = start_nginx(folder, nginx_port);
  if (ours == nullptr || nginx == nullptr) {
    std::cerr << "server_floor: a server did not start\n";
    return 1;
  }
  std::vector<double> our_us;
  std::vector<double> nginx_us;
  std::vector<double> ratios;
  for (int round = 0; round < plan.rounds; ++round) {
    our_us.push_back(measure(*ours, our_port, plan));
    nginx_us.push_back(measure(*nginx, nginx_port, plan));
    if (our_us.back() < 0 || nginx_us.back() < 0) {
      std::cerr << "server_floor: requests failed\n";
      return 1;
    }
    ratios.push_back(nginx_us.back() > 0 ? our_us.back() / nginx_us.back() : 0);
  }
  std::printf(
      "{\"bench\": \"server_floor\", \"requests\": %llu, \"connections\": %d, \"rounds\": %d, "
      "\"cpu_us_per_request\": %.2f, \"nginx_cpu_us_per_request\": %.2f, \"ratio\": %.3f, "
      "\"bar\": %.1f, \"ok\": %s}\n",
      static_cast<unsigned long long>(plan.requests), plan.connections, plan.rounds, median(our_us),
      median(nginx_us), median(ratios), kBar,
      plan.smoke ? "null" : (median(ratios) <= kBar ? "true" : "false"));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (!std::filesystem::exists("/usr/sbin/nginx")) {
    std::cout << "{\"bench\": \"server_floor\", \"skipped\": \"no nginx here\"}\n";
    return 0;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "server_floor_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return 1;
  }
  const int status = compare(read_plan(argc, argv), folder);
  std::filesystem::remove_all(folder);
  return status;
}
