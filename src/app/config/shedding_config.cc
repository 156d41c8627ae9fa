#include "app/config/shedding_config.h"

#include <cstdint>

#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "resilience/shedder.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

void read_shed_limits(ConfigReader& reader, resilience::ShedSettings::Limits& out) {
  reader.read("queue_age", out.queue_age, 1ms, 1s);
  reader.read("in_flight", out.in_flight, 1, 100'000);
}

}  // namespace

void read_shedding(ConfigReader reader, Shedding& out) {
  auto& queue = out.queue;
  reader.read("target", queue.target, 100us, 1s);
  reader.read("interval", queue.interval, 1ms, 10s);
  if (queue.interval < 2 * queue.target) {
    reader.problem("interval", "must be at least twice the target");
  }
  auto level_1 = reader.section("level_1");
  read_shed_limits(level_1, queue.level1);
  if (queue.level1.queue_age < queue.target) {
    level_1.problem("queue_age", "must not be less than the target");
  }
  level_1.finish();
  auto level_2 = reader.section("level_2");
  read_shed_limits(level_2, queue.level2);
  level_2.read_bytes("bytes", out.level_2_bytes, 1 << 20, uint64_t{64} << 30);
  if (queue.level2.queue_age < queue.level1.queue_age) {
    level_2.problem("queue_age", "must not be less than that of level_1");
  }
  if (queue.level2.in_flight < queue.level1.in_flight) {
    level_2.problem("in_flight", "must not be less than that of level_1");
  }
  level_2.finish();
  reader.read("refusing_ratio_max", out.brake.share_max, 0.01, 1.0);
  reader.finish();
}

}  // namespace spillway::app
