#include "app/load/plan.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "app/load/generator.h"
#include "workload/rate_profile.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

LoadSettings settings(double rate, size_t connections) {
  LoadSettings made;
  made.targets = {{.port = 80}};
  made.arrivals = {.profile = workload::RateProfile::ramp(1, rate, 10s)};
  made.connections = connections;
  made.timeout = 500ms;
  return made;
}

constexpr LoadMeans kMeans{.descriptors = 20'000, .ports = 28'000, .processors = 2};

TEST(LoadPlan, NeedsThePeakRateTimesTheTimeoutInConnections) {
  const LoadPlan plan = plan_of(settings(1000, 600), 1, kMeans);
  EXPECT_EQ(plan.connections_needed, 500);
  EXPECT_EQ(plan.connections_had, 600);
  EXPECT_EQ(plan.refusal, "");
}

TEST(LoadPlan, RefusesARunThatItCannotCarryAndSaysWhatIsMissing) {
  const auto refusal = [](double rate, size_t connections, size_t workers, const LoadMeans& means) {
    return plan_of(settings(rate, connections), workers, means).refusal;
  };
  EXPECT_NE(refusal(1000, 499, 1, kMeans).find("--connections allows 499"), std::string::npos);
  EXPECT_NE(refusal(1000, 600, 1, {.descriptors = 256, .ports = 28'000, .processors = 2})
                .find("open files"),
            std::string::npos);
  EXPECT_NE(refusal(1000, 600, 1, {.descriptors = 20'000, .ports = 400, .processors = 2})
                .find("ephemeral ports"),
            std::string::npos);
  LoadSettings quick = settings(1'000'000, 60'000);
  quick.timeout = 10ms;
  EXPECT_NE(plan_of(quick, 8, kMeans).refusal.find("workers"), std::string::npos);
}

TEST(LoadPlan, TheCapNobodySetIsEnoughForTheSchedule) {
  for (const double rate : {0.1, 10.0, 1000.0, 30'000.0}) {
    LoadSettings made = settings(rate, 0);
    made.connections = connections_for(made);
    EXPECT_EQ(plan_of(made, 1, kMeans).refusal, "") << rate;
  }
}

}  // namespace
}  // namespace spillway::app
