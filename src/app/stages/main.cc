#include <chrono>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/url.h"
#include "app/load/metrics_page.h"
#include "app/stages/stage_table.h"

namespace spillway::app {
namespace {

constexpr int kFailed = 1;

int run(int argc, char** argv) {
  CLI::App app("Scrapes a bidder twice and says what its stages did between: calls, mean, share.",
               "spillway stages");
  app.footer(
      "examples:\n"
      "  spillway stages http://127.0.0.1:9911\n"
      "  spillway stages http://127.0.0.1:9911 --seconds 30 --json\n"
      "exit: 0 done, 1 there is no such page, 2 wrong usage.");
  std::string address;
  double seconds = 5;
  bool json = false;
  app.add_option("address", address, "Of the admin listener: http://HOST:PORT")->required();
  app.add_option("--seconds", seconds, "Between the two scrapes")
      ->check(number_between(0.0, 3600.0))
      ->capture_default_str();
  app.add_flag("--json", json, "Print JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  auto url = parse_http_url(address);
  if (!url || url->tls) {
    return complain(
        "spillway stages: address: " + (url ? std::string("must be plain http") : url.error()),
        json, kWrongUsage);
  }
  if (url->target == "/") {
    url->target = "/metrics";
  }
  const auto failed = [&](const std::string& why) {
    return complain(fmt::format("spillway stages: {}: {}", address, why), json, kFailed);
  };
  const auto before = fetch_page(*url);
  if (!before) {
    return failed(before.error());
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const auto after = fetch_page(*url);
  if (!after) {
    return failed(after.error());
  }
  const auto rows = stages_between(*before, *after);
  if (rows.empty()) {
    return failed("has no stages");
  }
  fmt::print("{}", json ? table_json(rows) : table_text(rows));
  return 0;
}

}  // namespace
}  // namespace spillway::app

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::run, argc, argv);
}
