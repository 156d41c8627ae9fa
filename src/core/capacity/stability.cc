#include "capacity/stability.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/time.h"

namespace spillway::capacity {

namespace {

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

constexpr double kMeterShare = 1.0 / 30;

}  // namespace

double max_gain(double delay_periods) {
  return 2 * std::sin(std::numbers::pi / (2 * (2 * delay_periods + 1)));
}

double best_gain(double delay_periods) {
  return std::pow(delay_periods, delay_periods) / std::pow(delay_periods + 1, delay_periods + 1);
}

double delay_periods(base::Duration period, base::Duration own_delay, base::Duration mean_delay) {
  return seconds_of(std::max(own_delay, mean_delay)) / seconds_of(period) + 0.5;
}

double GainCheck::margin() const {
  return gain > 0 ? largest / gain : std::numeric_limits<double>::infinity();
}

double additive_loop_gain(double gain, double mean_utilization, double weight) {
  return 100 * gain * mean_utilization / weight;
}

DelayMeter::DelayMeter(base::Duration assumed) : mean_s_(seconds_of(assumed)) {}

void DelayMeter::on_age(base::Duration mean_age) {
  mean_s_ += kMeterShare * (std::max(seconds_of(mean_age), 0.0) - mean_s_);
}

base::Duration DelayMeter::mean_delay() const {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(mean_s_));
}

}  // namespace spillway::capacity
