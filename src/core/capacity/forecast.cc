#include "capacity/forecast.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "capacity/law.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {

namespace {

using std::chrono::seconds;

/// Utilization below which a recorded reading says nothing of the capacity.
constexpr double kWorking = 0.05;
/// Periods without a line after which a server is gone.
constexpr int kGoneAfter = 3;

/// Utilizations of one zone in one window, by server.
struct Window {
  base::Instant at{};
  std::string zone;
  std::map<std::string, double, std::less<>> used;
};

double percentile(std::vector<double> values, double share) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

Band band_of(const Window& window) {
  Band band{.at = window.at, .least = window.used.begin()->second, .mean = 0, .most = 0};
  for (const auto& [id, used] : window.used) {
    band.least = std::min(band.least, used);
    band.most = std::max(band.most, used);
    band.mean += used / static_cast<double>(window.used.size());
  }
  return band;
}

/// Means of `windows` of one zone, in the order of time, over about `of`; only servers that are
/// there all the time count, as one that came or went has no mean over it.
std::vector<Window> means_over(const std::vector<Window>& windows, base::Duration of,
                               base::Duration period) {
  const auto count = static_cast<size_t>(std::max<int64_t>(1, of / period));
  std::vector<Window> means;
  for (size_t end = count; end <= windows.size(); end += count) {
    Window mean{.at = windows[end - 1].at, .zone = windows[end - 1].zone, .used = {}};
    for (const auto& [id, used] : windows[end - 1].used) {
      double sum = 0;
      bool there = true;
      for (size_t i = end - count; i < end && there; ++i) {
        const auto found = windows[i].used.find(id);
        there = found != windows[i].used.end();
        sum += there ? found->second : 0;
      }
      if (there) {
        mean.used.emplace(id, sum / static_cast<double>(count));
      }
    }
    if (!mean.used.empty()) {
      means.push_back(std::move(mean));
    }
  }
  return means;
}

using Zones = std::map<std::string, std::vector<Window>, std::less<>>;

Evenness evenness_of(const Zones& zones, base::Duration period, std::vector<Band>& bands) {
  std::vector<double> spreads_10s;
  std::vector<double> spreads_60s;
  std::vector<double> fullest;
  double sum = 0;
  for (const auto& [zone, windows] : zones) {
    for (const auto& mean : means_over(windows, seconds(10), period)) {
      bands.push_back(band_of(mean));
      spreads_10s.push_back(100 * (bands.back().most - bands.back().least));
      sum += bands.back().mean;
    }
    for (const auto& mean : means_over(windows, seconds(60), period)) {
      const Band band = band_of(mean);
      spreads_60s.push_back(100 * (band.most - band.least));
      fullest.push_back(band.most);
    }
  }
  std::stable_sort(bands.begin(), bands.end(),
                   [](const Band& a, const Band& b) { return a.at < b.at; });
  return {
      .spread_10s = percentile(spreads_10s, 0.5),
      .spread_10s_p95 = percentile(spreads_10s, 0.95),
      .spread_60s = percentile(spreads_60s, 0.5),
      .spread_60s_p95 = percentile(spreads_60s, 0.95),
      .mean_utilization = spreads_10s.empty() ? 0 : sum / static_cast<double>(spreads_10s.size()),
      .fullest = percentile(std::move(fullest), 0.95)};
}

/// A server as the recording has it now, and the law that would have steered it.
struct Subject {
  Law law;
  Sample last;          ///< The last line.
  double capacity = 0;  ///< Successes a second and unit of CPU, as recorded; 0: not known yet.
  std::deque<double> weights;  ///< Decided and not in force yet, then the one in force.
};

class Forecaster {
 public:
  explicit Forecaster(const ForecastSettings& settings)
      : settings_(settings),
        view_({.stale_after = 3 * settings.law.period + settings.publish_delay,
               .max_servers = settings.max_servers}),
        late_periods_(static_cast<size_t>(settings.law.own_delay / settings.law.period)) {}

  void take(const Sample& line, Forecast& forecast) {
    const bool known = subjects_.contains(line.id);
    if (!plausible(line) || (!known && subjects_.size() >= settings_.max_servers) ||
        (known && line.taken_at < subjects_.at(line.id).last.taken_at)) {
      ++forecast.lines_left_out;
      return;
    }
    if (!known) {
      Identity self{
          .id = line.id, .zone = line.zone, .server_class = line.server_class, .cores = line.cores};
      subjects_.emplace(line.id, Subject{.law = Law(settings_.law, std::move(self)),
                                         .last = line,
                                         .capacity = line.capacity,
                                         .weights = {settings_.law.mean_weight}});
    }
    Subject& subject = subjects_.at(line.id);
    subject.last = line;
    if (line.sensor_alive && line.utilization >= kWorking && line.successes_per_second > 0) {
      subject.capacity = line.successes_per_second / line.utilization;
    }
  }

  /// One period: notes what was, splits the demand and lets every law decide.
  void tick(base::Instant now, Forecast& forecast) {
    for (auto& [zone, subjects] : serving(now)) {
      Window observed{.at = now, .zone = zone, .used = {}};
      Window predicted = observed;
      double demand = 0;
      double weights = 0;
      for (const Subject* subject : subjects) {
        demand += subject->last.requests_per_second;
        weights += subject->weights.front();
        observed.used.emplace(subject->last.id, subject->last.utilization);
      }
      for (Subject* subject : subjects) {
        const double rate = demand * subject->weights.front() / weights;
        predicted.used.emplace(subject->last.id, rate / subject->capacity);
        lost_ += std::max(0.0, rate - subject->capacity);
        all_ += rate;
        decide(now, *subject, rate);
        ++forecast.steps;
      }
      server_ticks_ += subjects.size();
      observed_[zone].push_back(std::move(observed));
      predicted_[zone].push_back(std::move(predicted));
    }
    ++ticks_;
    publish(now);
  }

  void finish(Forecast& forecast) {
    forecast.servers = subjects_.size();
    forecast.zones = observed_.size();
    forecast.refused = refused_;
    forecast.instances =
        ticks_ > 0 ? static_cast<double>(server_ticks_) / static_cast<double>(ticks_) : 0;
    const auto period = settings_.law.period;
    forecast.observed = evenness_of(observed_, period, forecast.observed_bands);
    forecast.predicted = evenness_of(predicted_, period, forecast.predicted_bands);
    forecast.predicted.lost_share = all_ > 0 ? lost_ / all_ : 0;
    for (Evenness* of : {&forecast.observed, &forecast.predicted}) {
      of->instances_needed = forecast.instances * of->fullest / settings_.target;
    }
  }

 private:
  /// Who takes traffic, by zone.
  std::map<std::string, std::vector<Subject*>> serving(base::Instant now) {
    std::map<std::string, std::vector<Subject*>> zones;
    for (auto& [id, subject] : subjects_) {
      const auto state = subject.last.state;
      if (now - subject.last.taken_at <= kGoneAfter * settings_.law.period &&
          state != ServerState::kDraining && state != ServerState::kWarming &&
          subject.capacity > 0) {
        zones[subject.last.zone].push_back(&subject);
      }
    }
    return zones;
  }

  void decide(base::Instant now, Subject& subject, double rate) {
    Reading reading = reading_of(subject.last);
    const double answers = reading.successes_per_second + reading.failures_per_second;
    const double failing = answers > 0 ? reading.failures_per_second / answers : 0;
    const double answered = std::min(rate, subject.capacity);
    reading.utilization = std::min(1.0, rate / subject.capacity);
    reading.requests_per_second = rate;
    reading.successes_per_second = answered * (1 - failing);
    reading.failures_per_second = answered * failing;
    // What the recorded load did to the scheduler and to latency says nothing of another load.
    reading.throttled_share = reading.pressure = reading.p95_ms = 0;
    reading.window = settings_.law.period;
    const Decision decision = subject.law.step(now, reading, {}, view_);
    subject.weights.push_back(decision.weight);
    while (subject.weights.size() > late_periods_ + 1) {
      subject.weights.pop_front();
    }
    under_way_.push_back(decision.sample);
  }

  void publish(base::Instant now) {
    const auto next = now + settings_.law.period;
    while (!under_way_.empty() && under_way_.front().taken_at + settings_.publish_delay <= next) {
      refused_ += view_.put(now, under_way_.front()) ? 0 : 1;
      under_way_.pop_front();
    }
  }

  const ForecastSettings& settings_;
  ZoneView view_;
  size_t late_periods_;
  std::map<std::string, Subject, std::less<>> subjects_;
  std::deque<Sample> under_way_;
  Zones observed_;
  Zones predicted_;
  uint64_t refused_ = 0;
  double lost_ = 0;
  double all_ = 0;
  size_t server_ticks_ = 0;
  size_t ticks_ = 0;
};

}  // namespace

Forecast forecast(std::span<const Sample> recorded, const ForecastSettings& settings) {
  Forecast result;
  if (recorded.empty()) {
    return result;
  }
  Forecaster forecaster(settings);
  const auto begin = recorded.front().taken_at;
  auto next_tick = begin + settings.law.period;
  auto last = begin;
  for (const Sample& line : recorded) {
    if (line.taken_at < last || line.taken_at - last > std::chrono::hours(24)) {
      ++result.lines_left_out;
      continue;
    }
    for (; next_tick <= line.taken_at; next_tick += settings.law.period) {
      forecaster.tick(next_tick, result);
    }
    forecaster.take(line, result);
    last = line.taken_at;
  }
  forecaster.tick(next_tick, result);
  result.length = last - begin;
  forecaster.finish(result);
  return result;
}

}  // namespace spillway::capacity
