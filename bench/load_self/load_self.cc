// Our generator beside wrk, both with one thread, on one nginx.
//
//   load_self [--seconds S] [--rounds N]      the top rate of each, and their ratio
//   load_self --stall [--seconds S]           what each says of a server that stands still for a
//                                             tenth of the time
//
// Ours is an open loop: its top rate is the highest it is asked for and keeps (achieved within 1 %,
// at most 1 % late by 100 ms or dropped), found by bisection. wrk's is what its closed loop
// reaches. Prints JSON. Exit status 0 also when the bar is missed: a noisy machine is no error.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "load_self/children.h"

namespace {

using spillway::load_self::Child;
using spillway::load_self::Nginx;

constexpr const char* kWrk = "/usr/bin/wrk";
constexpr double kBar = 0.8;
constexpr const char* kConnections = "32";

struct Plan {
  double seconds = 4;
  int rounds = 3;
  bool stall = false;
  bool smoke = false;
};

/// The number behind a name in a text, 0 without one; with wrk's unit made milliseconds.
double number_behind(const std::string& text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string::npos) {
    return 0;
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str() + at + name.size(), &end);
  const std::string_view unit(
      end, std::min<size_t>(2, text.size() - static_cast<size_t>(end - text.c_str())));
  if (unit == "us") {
    return value / 1000;
  }
  return unit.starts_with('s') ? value * 1000 : value;
}

/// wrk's largest latency: the third of its first table's row.
double wrk_max_ms(const std::string& text) {
  size_t at = text.find("Latency");
  for (int word = 0; word < 3 && at != std::string::npos; ++word) {
    at = text.find_first_not_of(' ', text.find(' ', at));
  }
  return at == std::string::npos ? 0 : number_behind(text.substr(at), "");
}

/// "123 requests in 10.00s"
double wrk_requests(const std::string& text) {
  const size_t end = text.find(" requests in ");
  const size_t begin = end == std::string::npos ? end : text.rfind('\n', end);
  return begin == std::string::npos ? 0 : number_behind(text.substr(begin), "\n");
}

std::string wrk(const Nginx& server, double seconds, bool latency) {
  std::vector<std::string> words = {
      kWrk, "-t1", "-c", kConnections, "-d", fmt::format("{:.0f}", std::max(1.0, seconds))};
  if (latency) {
    words.emplace_back("--latency");
  }
  words.push_back(server.url());
  int status = 0;
  return Child(words).read_to_end(status);
}

std::string ours(const Nginx& server, double rate, double seconds) {
  int status = 0;
  return Child({SPILLWAY_LOAD, "--target", server.url(), "--get", "--rate", fmt::format("{}", rate),
                "--duration", fmt::format("{:.0f}ms", 1000 * seconds), "--late-after", "100ms",
                "--timeout", "2s", "--force", "--json"})
      .read_to_end(status);
}

bool kept(const std::string& report) {
  return report.find("\"failed\":false") != std::string::npos &&
         number_behind(report, "\"achieved_ratio\":") >= 0.99 &&
         number_behind(report, "\"error_ratio\":") == 0;
}

/// Bisection between a tenth and one and a half times `about`, to 3 %.
double top_rate(const Nginx& server, double about, double seconds) {
  double low = about / 10;
  double high = about * 1.5;
  if (!kept(ours(server, low, seconds))) {
    return 0;
  }
  while (high / low > 1.03) {
    const double middle = (low + high) / 2;
    (kept(ours(server, middle, seconds)) ? low : high) = middle;
  }
  return low;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int compare_rates(const Nginx& server, const Plan& plan) {
  std::vector<double> theirs;
  std::vector<double> own;
  std::vector<double> ratios;
  for (int round = 0; round < plan.rounds; ++round) {
    theirs.push_back(number_behind(wrk(server, plan.seconds, false), "Requests/sec:"));
    own.push_back(plan.smoke ? number_behind(ours(server, 200, plan.seconds), "\"rate_achieved\":")
                             : top_rate(server, theirs.back(), plan.seconds));
    // The machine may have changed meanwhile: wrk again, and the mean of both.
    theirs.back() =
        (theirs.back() + number_behind(wrk(server, plan.seconds, false), "Requests/sec:")) / 2;
    ratios.push_back(theirs.back() > 0 ? own.back() / theirs.back() : 0);
  }
  const double ratio = median(ratios);
  fmt::print(R"({{"bench": "load_self", "seconds": {:g}, "rounds": {}, "top_rate_per_s": {:.0f}, )"
             R"("wrk_rate_per_s": {:.0f}, "ratio": {:.3f}, "bar": {:.1f}, "ok": {}}})"
             "\n",
             plan.seconds, plan.rounds, median(own), median(theirs), ratio, kBar,
             plan.smoke ? "null" : (ratio >= kBar ? "true" : "false"));
  return median(own) > 0 && median(theirs) > 0 ? 0 : 1;
}

/// The server stops in the middle of the run for a tenth of it.
template <typename Run>
std::string stalled(const Nginx& server, double seconds, Run run) {
  std::string text;
  std::thread load([&] { text = run(); });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 2));
  server.stop_for(seconds / 10);
  load.join();
  return text;
}

int compare_stalls(const Nginx& server, const Plan& plan) {
  constexpr double kRate = 1000;
  const double seconds = plan.seconds;
  const std::string closed = stalled(server, seconds, [&] { return wrk(server, seconds, true); });
  const std::string open = stalled(server, seconds, [&] { return ours(server, kRate, seconds); });
  const size_t all = open.rfind("\"latency_ms\":{");
  const std::string ours_all = all == std::string::npos ? "" : open.substr(all);
  const double stall_ms = seconds * 100;
  fmt::print(
      R"({{"bench": "load_self_stall", "seconds": {:g}, "stall_ms": {:.0f}, )"
      R"("analytic_p95_ms": {:.0f}, "analytic_p99_ms": {:.0f}, )"
      R"("ours": {{"p50_ms": {:.2f}, "p95_ms": {:.1f}, "p99_ms": {:.1f}, "max_ms": {:.1f}}}, )"
      R"("wrk": {{"p50_ms": {:.2f}, "p99_ms": {:.2f}, "max_ms": {:.1f}, "requests": {:.0f}, )"
      R"("waited": {}}}}})"
      "\n",
      seconds, stall_ms, stall_ms / 2, stall_ms * 0.9, number_behind(ours_all, "\"p50\":"),
      number_behind(ours_all, "\"p95\":"), number_behind(ours_all, "\"p99\":"),
      number_behind(ours_all, "\"max\":"), number_behind(closed, "50%"),
      number_behind(closed, "99%"), wrk_max_ms(closed), wrk_requests(closed), kConnections);
  return ours_all.empty() || closed.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Our generator beside wrk on one nginx.", "load_self");
  Plan plan;
  app.add_option("--seconds", plan.seconds, "Of each run")->check(CLI::Range(1.0, 600.0));
  app.add_option("--rounds", plan.rounds, "Medians are of so many")->check(CLI::Range(1, 100));
  app.add_flag("--stall", plan.stall, "The server stands still for a tenth of the run");
  app.add_flag("--smoke", plan.smoke, "Tiny: whether it works");
  CLI11_PARSE(app, argc, argv);
  if (plan.smoke) {
    plan.seconds = 1;
    plan.rounds = 1;
  }
  if (!std::filesystem::exists(kWrk) || !std::filesystem::exists("/usr/sbin/nginx")) {
    fmt::print("{{\"bench\": \"load_self\", \"skipped\": \"no wrk or no nginx here\"}}\n");
    return 0;
  }
  const Nginx server;
  if (!server.up()) {
    fmt::print(stderr, "load_self: nginx did not start\n");
    return 1;
  }
  return plan.stall ? compare_stalls(server, plan) : compare_rates(server, plan);
}
