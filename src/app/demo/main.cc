#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/demo/demo.h"
#include "app/demo/demo_plan.h"
#include "app/demo/demo_report.h"

namespace {

using spillway::app::Demo;
using spillway::app::DemoPlan;
using spillway::app::DemoView;

constexpr const char* kExamples = R"(Examples:
  spillway demo
  spillway demo --seconds 30 --json
The exit status is 0 when no deadline was missed and the slow DSP's circuit opened and closed again.)";

int run(int argc, char** argv) {
  CLI::App app(
      "An exchange, five DSPs and load on this machine: one DSP turns slow at a third of the time "
      "and recovers at half.",
      "spillway demo");
  app.footer(kExamples);
  DemoPlan plan;
  bool json = false;
  app.add_option("--seconds", plan.seconds, "Length of the run")
      ->check(CLI::Range(DemoPlan::kSecondsMin, uint32_t{3600}))
      ->capture_default_str();
  app.add_option("--rate", plan.rate, "Auctions a second")
      ->check(spillway::app::number_between(10.0, 10'000.0))
      ->capture_default_str();
  app.add_flag("--json", json, "Unattended: progress to stderr, one JSON summary to stdout");
  if (const auto status = spillway::app::parse_command_line(app, argc, argv)) {
    return *status;
  }
  const DemoView view = !json && isatty(STDOUT_FILENO) != 0 ? DemoView::kScreen : DemoView::kLines;
  if (view == DemoView::kLines && plan.shortened()) {
    fmt::print(stderr, "a run under {} s: shortened guard times ({})\n", DemoPlan::kSecondsFull,
               plan.guard_times());
  }
  const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  std::string problem;
  std::string summary;
  std::string failure;
  {
    Demo demo(plan, programs, view);
    problem = demo.run();
    failure = failure_of(plan, demo.state());
    summary = summary_json(plan, demo.state(), demo.farm_json());
  }
  if (!problem.empty()) {
    return spillway::app::complain("spillway demo: " + problem, json, spillway::app::kWrongUsage);
  }
  if (json) {
    fmt::print("{}", summary);
  } else {
    fmt::print("{}\n",
               failure.empty()
                   ? "No deadline was missed; the slow DSP's circuit opened and closed again."
                   : "FAIL: " + failure);
  }
  return failure.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return spillway::app::run_program(run, argc, argv); }
