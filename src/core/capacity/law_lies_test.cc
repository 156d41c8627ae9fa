#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "capacity/fleet_test.h"
#include "capacity/law_settings.h"

namespace spillway::capacity {
namespace {

using std::chrono::minutes;

/// Requests that five unlike servers lose in ten minutes after the sensor of one, alone in its
/// class as each of them, began to show `share` of the truth; as a share of all.
double lost_share(double share, LawKind law) {
  FleetModel fleet(fleet_of(law));
  for (const double capacity : {280.0, 300.0, 380.0, 590.0, 760.0}) {
    fleet.add("a", std::to_string(capacity), capacity);
  }
  fleet.run(minutes(5), steady(fleet.capacity(), 0.6));
  fleet.forget_counts();
  fleet.server(3).shows = share;
  fleet.run(minutes(10), steady(fleet.capacity(), 0.6));
  double lost = 0;
  double all = 0;
  for (size_t i = 0; i < fleet.size(); ++i) {
    lost += fleet.server(i).dropped;
    all += fleet.server(i).received;
  }
  return lost / all;
}

TEST(LawLies, ALoneServersLiesLoseAtMostOnePercent) {
  for (const double share : {0.02, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.6, 0.75}) {
    const double lost = lost_share(share, LawKind::kCapacity);
    std::printf("shows %.2f: %.2f %% lost\n", share, 100 * lost);
    EXPECT_LE(lost, 0.01) << share;
  }
  EXPECT_GE(lost_share(0.1, LawKind::kZoneMeanMultiplicative), 0.05) << "nothing was at stake";
}

}  // namespace
}  // namespace spillway::capacity
