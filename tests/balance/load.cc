#include "balance/load.h"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <simdjson.h>

#include "app/demo/child_process.h"

namespace spillway::balance {

namespace {

uint64_t count(simdjson::dom::element object, std::string_view key) {
  uint64_t value = 0;
  return object[key].get(value) == simdjson::SUCCESS ? value : 0;
}

double milliseconds(simdjson::dom::element object, std::string_view key) {
  double value = 0;
  return object["latency_ms"][key].get(value) == simdjson::SUCCESS ? value : 0;
}

}  // namespace

Load::Load(const std::filesystem::path& report_file, const Settings& settings)
    : report_file_(report_file), said_(std::make_unique<std::string>()) {
  std::vector<std::string> args{"--target",      fmt::format("http://127.0.0.1:{}/", settings.port),
                                "--get",         "--poisson",
                                "--rate",        fmt::format("{:.1f}", settings.rate_per_s),
                                "--duration",    fmt::format("{}s", settings.duration.count()),
                                "--timeout",     settings.timeout,
                                "--report",      report_file.string(),
                                "--json",        "--force",
                                "--connections", "4000"};
  if (settings.ramp_to_per_s > 0) {
    args.insert(args.end(), {"--ramp-to", fmt::format("{:.1f}", settings.ramp_to_per_s)});
  }
  process_ = std::make_unique<app::ChildProcess>(
      app::ChildProcess::Command{.name = "load",
                                 .program = SPILLWAY_BINARY_DIR "/libexec/spillway-load",
                                 .args = std::move(args)},
      [said = said_.get()](app::ChildProcess::Output, std::string_view line) { *said = line; });
}

bool Load::running() {
  process_->read_lines();
  return process_->error().empty() && !process_->poll_exit();
}

void Load::stop() { ::kill(process_->pid(), SIGINT); }

LoadReport Load::report() {
  while (running()) {
    ::poll(nullptr, 0, 20);
  }
  std::ifstream file(report_file_);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(text).get(root) != simdjson::SUCCESS) {
    fmt::print(stderr, "spillway load reported nothing: {}\n", *said_);
    return {};
  }
  LoadReport report{.valid = true,
                    .offered = count(root, "offered"),
                    .ended = count(root, "ended"),
                    .failed = count(root, "errors"),
                    .missed = count(root, "dropped") + count(root, "late"),
                    .p50_ms = milliseconds(root, "p50"),
                    .p99_ms = milliseconds(root, "p99"),
                    .seconds = {}};
  simdjson::dom::array seconds;
  if (root["series"].get(seconds) == simdjson::SUCCESS) {
    for (const auto second : seconds) {
      report.seconds.push_back({.ended = count(second, "ended"),
                                .failed = count(second, "failed"),
                                .p50_ms = milliseconds(second, "p50"),
                                .p99_ms = milliseconds(second, "p99")});
    }
  }
  return report;
}

}  // namespace spillway::balance
