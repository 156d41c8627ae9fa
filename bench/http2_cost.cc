// What one request costs our server in CPU over HTTP/2, multiplexed in cleartext, beside HTTP/1.1
// with as many requests in flight, in the same run: user and system time of this process, which
// serves, while h2load asks. Taken in turns.
//
//   http2_cost [--smoke] [--requests N] [--rounds N]
//
// Prints one JSON object.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"

namespace {

using namespace spillway;

constexpr std::string_view kH2load = "/usr/bin/h2load";
constexpr int kInFlight = 32;
constexpr size_t kBody = 1'000;

struct Plan {
  uint64_t requests = 100'000;
  int rounds = 5;
};

/// Answers each request with as many bytes as an auction's answer has, after the handler returned,
/// as auctions are; on a thread of its own.
class Target {
 public:
  Target() : server_("127.0.0.1:0", {}, workers(), {.gzip = false, .http2 = {.enabled = true}}) {
    server_.start();
    thread_ = std::thread([this] { reactor_.run(); });
  }

  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  ~Target() {
    reactor_.stop();
    thread_.join();
  }

  [[nodiscard]] uint16_t port() const { return server_.port(); }

 private:
  std::vector<net::Server::Worker> workers() {
    std::vector<net::Server::Worker> one;
    one.push_back(
        {.reactor = reactor_, .handler = [this](const net::Request& request, net::Reply reply) {
           if (request.body.size() == kBody) {
             replies_.push_back(std::move(reply));
             if (replies_.size() == 1) {
               reactor_.defer([this] { answer(); });
             }
           }
         }});
    return one;
  }

  void answer() {
    for (net::Reply& reply : replies_) {
      reply.send({.status = 200,
                  .content_type = "application/json",
                  .headers = {{"x-openrtb-version", "2.6"}},
                  .body = std::string(kBody, 'x')});
    }
    replies_.clear();
  }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  std::vector<net::Reply> replies_;
  net::Server server_;
  std::thread thread_;
};

double cpu_us() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

/// CPU per request in microseconds; negative when one failed.
double measure(const Target& target, const std::string& body, uint64_t requests,
               const std::string& how) {
  const std::string count = std::to_string(requests);
  const std::string command = std::string(kH2load) + " -n " + count + " " + how + " -d " + body +
                              " http://127.0.0.1:" + std::to_string(target.port()) + "/bid";
  const double before = cpu_us();
  FILE* const load = ::popen(command.c_str(), "r");
  if (load == nullptr) {
    return -1;
  }
  std::string report;
  char line[512];
  while (std::fgets(line, sizeof line, load) != nullptr) {
    report += line;
  }
  ::pclose(load);
  if (report.find("status codes: " + count + " 2xx") == std::string::npos) {
    std::fputs(report.c_str(), stderr);
    return -1;
  }
  return (cpu_us() - before) / static_cast<double>(requests);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int compare(const Plan& plan, const std::string& body) {
  const Target target;

  struct Row {
    std::string_view name;
    std::string how;
    std::vector<double> us{};
    std::vector<double> ratios{};
  };

  const std::string all = std::to_string(kInFlight);
  std::vector<Row> rows{{"http1_32_connections", "--h1 -c " + all},
                        {"h2c_1_connection", "-c 1 -m " + all},
                        {"h2c_4_connections", "-c 4 -m " + std::to_string(kInFlight / 4)},
                        {"h2c_32_connections", "-m 1 -c " + all}};
  for (int round = 0; round < plan.rounds; ++round) {
    for (Row& row : rows) {
      row.us.push_back(measure(target, body, plan.requests, row.how));
      if (row.us.back() < 0) {
        std::fputs("http2_cost: requests failed\n", stderr);
        return 1;
      }
      row.ratios.push_back(row.us.back() / rows.front().us.back());
    }
  }
  std::printf("{\"bench\": \"http2_cost\", \"requests\": %llu, \"in_flight\": %d, \"rounds\": %d",
              static_cast<unsigned long long>(plan.requests), kInFlight, plan.rounds);
  for (const Row& row : rows) {
    std::printf(", \"%s\": {\"cpu_us_per_request\": %.2f, \"ratio\": %.3f}",
                std::string(row.name).c_str(), median(row.us), median(row.ratios));
  }
  std::puts("}");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (!std::filesystem::exists(kH2load)) {
    std::puts("{\"bench\": \"http2_cost\", \"skipped\": \"no h2load here\"}");
    return 0;
  }
  Plan plan;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--smoke") {
      plan = {.requests = 2'000, .rounds = 1};
    } else if (flag == "--requests" && i + 1 < argc) {
      plan.requests = std::max<uint64_t>(kInFlight, std::strtoull(argv[++i], nullptr, 10));
    } else if (flag == "--rounds" && i + 1 < argc) {
      plan.rounds = std::max(1, std::atoi(argv[++i]));
    }
  }
  std::string body = (std::filesystem::temp_directory_path() / "http2_cost_XXXXXX").string();
  const int fd = ::mkstemp(body.data());
  if (fd < 0) {
    return 1;
  }
  ::close(fd);
  std::ofstream(body) << std::string(kBody, 'x');
  const int status = compare(plan, body);
  std::filesystem::remove(body);
  return status;
}
