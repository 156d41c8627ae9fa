#include "e2e/bad_day.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <sys/resource.h>

#include "app/demo/child_process.h"
#include "app/demo/demo_state.h"
#include "app/demo/http_call.h"
#include "e2e/exchange_process.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;
using Output = app::ChildProcess::Output;

constexpr int kNice = -10;
constexpr auto kStartPatience = 20s;

uint16_t port_of(std::string_view address) {
  const size_t colon = address.rfind(':');
  return colon == std::string_view::npos
             ? uint16_t{0}
             : static_cast<uint16_t>(std::atoi(std::string(address.substr(colon + 1)).c_str()));
}

}  // namespace

BadDay::BadDay(const std::vector<Dsp>& dsps, std::string_view exchange_yaml,
               std::string_view exchange_keys)
    : niceness_(::getpriority(PRIO_PROCESS, 0)) {
  (void)::setpriority(PRIO_PROCESS, 0, kNice);  // the children inherit it
  std::vector<Dsp> together = dsps;
  const auto apart =
      std::ranges::stable_partition(together, [](const Dsp& dsp) { return !dsp.apart; });
  const std::vector<Dsp> alone(apart.begin(), apart.end());
  together.erase(apart.begin(), apart.end());
  if (!start_farm(sick_, together) || (!alone.empty() && !start_farm(sound_, alone))) {
    error_ = "the farm did not start: " + error_;
    return;
  }
  std::string config = "dsps:\n";
  for (const auto& [name, port] : ports_) {
    config +=
        fmt::format("  - {{ name: {}, endpoint: \"http://127.0.0.1:{}/bid\" }}\n", name, port);
  }
  config += fmt::format("accounts:\n  - {{ response_margin: {}ms }}\n", kMargin.count());
  exchange_ = std::make_unique<ExchangeProcess>(config + std::string(exchange_yaml), exchange_keys);
  waits_.emplace(exchange_->pid());
  if (!exchange_->started()) {
    error_ = "the exchange did not start: ";
    for (const auto& line : exchange_->new_events(1s)) {
      error_ += line + "\n";
    }
  }
}

BadDay::~BadDay() {
  load_.reset();
  exchange_.reset();
  sick_.process.reset();
  sound_.process.reset();
  (void)::setpriority(PRIO_PROCESS, 0, niceness_);
}

bool BadDay::start_farm(Farm& farm, const std::vector<Dsp>& dsps) {
  std::string yaml = "admin: { listen: 127.0.0.1:0 }\ndsps:\n";
  for (const auto& dsp : dsps) {
    yaml += fmt::format("  - {{ name: {}{} }}\n", dsp.name, dsp.more);
  }
  farm.config.write(yaml);
  farm.process = std::make_unique<app::ChildProcess>(
      app::ChildProcess::Command{.name = "farm",
                                 .program = SPILLWAY_BINARY_DIR "/libexec/spillway-dsp",
                                 .args = {"--config", farm.config.path()},
                                 .niceness = kNice},
      [this, &farm](Output output, std::string_view line) {
        if (output == Output::kStderr) {
          error_ += line;
          return;
        }
        const auto dsp = app::field_of(line, "dsp");
        const auto admin = app::field_of(line, "admin");
        if (!dsp.empty()) {
          ports_[dsp] = port_of(app::field_of(line, "listen"));
        }
        if (!admin.empty()) {
          farm.admin = port_of(admin);
        }
      });
  const auto deadline = Clock::now() + kStartPatience;
  while (Clock::now() < deadline && (farm.admin == 0) && !farm.process->poll_exit()) {
    pollfd ready{.fd = farm.process->fd(Output::kStdout), .events = POLLIN, .revents = 0};
    (void)::poll(&ready, 1, 100);
    farm.process->read_lines();
  }
  // It says its admin listener last.
  return farm.admin != 0;
}

void BadDay::start_load(int rate, std::string_view more) {
  std::vector<std::string> args{
      "--target", fmt::format("http://127.0.0.1:{}/openrtb2/auction", exchange_->auction().port),
      "--rate",   std::to_string(rate),
      "--json",   "--duration",
      "600s"};
  for (size_t begin = 0; begin < more.size();) {
    const size_t end = std::min(more.find(' ', begin), more.size());
    args.emplace_back(more.substr(begin, end - begin));
    begin = end + 1;
  }
  load_ = std::make_unique<app::ChildProcess>(
      app::ChildProcess::Command{.name = "load",
                                 .program = SPILLWAY_BINARY_DIR "/libexec/spillway-load",
                                 .args = std::move(args),
                                 .niceness = kNice},
      [this](Output output, std::string_view line) {
        if (output == Output::kStdout) {
          report_ = line;
        }
      });
}

std::string BadDay::end_load() {
  (void)load_->end(5s);
  load_->read_lines();
  load_.reset();
  return report_;
}

bool BadDay::inject(std::string_view dsp, std::string_view call) const {
  return app::http_call(sick_.admin, "POST", fmt::format("/admin/fault?dsp={}", dsp), call, 2s)
      .has_value();
}

void BadDay::clear_all() const {
  (void)app::http_call(sick_.admin, "POST", "/admin/clear?dsp=*", "", 2s);
}

void BadDay::read_events() {
  sick_.process->read_lines();
  if (load_ != nullptr) {
    load_->read_lines();
  }
  for (const auto& line : exchange_->new_events(100ms)) {
    const auto event = app::field_of(line, "event");
    const auto key = app::field_of(line, "key");
    const auto dsp = key.substr(0, key.find('/'));
    if (event == "circuit_transition") {
      changes_.push_back({.at = Clock::now(), .dsp = dsp, .what = app::field_of(line, "to")});
      std::printf("%s\n", line.c_str());
    } else if (event == "dsp_alert") {
      changes_.push_back(
          {.at = Clock::now(),
           .dsp = dsp,
           .what = app::field_of(line, "kind") + " " + app::field_of(line, "state")});
    }
  }
}

void BadDay::scrape() {
  constexpr const char* kMisses = "spillway_exchange_deadline_misses_total";
  const double before = sum_of(now_, kMisses);
  now_ = exchange_->metrics();
  const double missed = sum_of(now_, kMisses) - before;
  const auto wait = waits_->longest();
  if (missed > 0) {
    const bool starved = wait > kMargin;
    (starved ? excused_ : misses_) += missed;
    std::printf("%.0f misses; a thread of the exchange waited %.0f ms for a processor\n", missed,
                static_cast<double>(wait.count()) / 1e6);
  }
}

double BadDay::seconds_to(std::string_view dsp, std::string_view what,
                          Clock::time_point since) const {
  const auto found = std::ranges::find_if(changes_, [&](const Change& change) {
    return change.at >= since && change.dsp == dsp && change.what.contains(what);
  });
  return found == changes_.end() ? -1 : std::chrono::duration<double>(found->at - since).count();
}

}  // namespace spillway::e2e
