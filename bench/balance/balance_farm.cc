// The laws of the balancer beside each other: five unlike back ends under CPU quotas behind a real
// HAProxy, each law from equal weights under the same Poisson load. Prints the table; writes plot
// and JSON. Needs root and control groups; some 15 minutes.
//
//   balance_farm [--smoke] [--quick] [--seconds N] [--demand SHARE] [--only LAW] [--svg FILE]
//
// The last line is one JSON object. Exit status 0 also when a bar is missed: a noisy machine is no
// error.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "balance/farm.h"
#include "balance/law_run.h"
#include "balance/report.h"

namespace {

using namespace spillway::balance;

struct Options {
  std::chrono::seconds duration{155};
  double demand = 0.62;
  std::string only;
  std::string svg;
  bool smoke = false;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--smoke") {
      options.smoke = true;
      options.duration = std::chrono::seconds(12);
      options.only = "equal";
    } else if (flag == "--quick") {
      options.duration = std::chrono::seconds(60);
    } else if (flag == "--seconds") {
      options.duration = std::chrono::seconds(std::max(12, std::atoi(value)));
    } else if (flag == "--demand") {
      options.demand = std::atof(value);
    } else if (flag == "--only") {
      options.only = value;
    } else if (flag == "--svg") {
      options.svg = value;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  if (const auto missing = missing_here(); !missing.empty()) {
    fmt::print(R"({{"bench":"balance_farm","skipped":"{}"}})"
               "\n",
               missing);
    return 0;
  }
  std::vector<NamedRun> runs;
  for (const char* law :
       {"equal", "setpoint", "zone_mean_additive", "zone_mean_multiplicative", "capacity"}) {
    if (!options.only.empty() && options.only != law) {
      continue;
    }
    LawRunPlan plan;
    plan.agents.law = law;
    plan.demand = options.demand;
    plan.duration = options.duration;
    fmt::print(stderr, "{} for {} s ...\n", law, plan.duration.count());
    runs.push_back({.name = law, .plan = plan, .run = run_law(plan)});
    if (!runs.back().run.why.empty()) {
      fmt::print(stderr, "balance_farm: {}\n", runs.back().run.why);
      return 1;
    }
    fmt::print("{}: {}\n", law, table_of(runs.back().run));
    std::fflush(stdout);
  }
  fmt::print("{}", table_of(runs));
  if (!options.svg.empty()) {
    std::ofstream(options.svg) << svg_file_of(runs);
    fmt::print("plot written to {}\n", options.svg);
  }
  fmt::print("{}\n", json_of(runs));
  return 0;
}
