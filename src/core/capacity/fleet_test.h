#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "capacity/law.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "capacity/weight.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {

using std::chrono::seconds;

/// How a fleet is simulated, in steps of one second of virtual time.
struct FleetSettings {
  LawSettings law;
  base::Duration own_delay{};   ///< From a decision until the traffic follows.
  base::Duration mean_delay{};  ///< From a sample until the peers have it.
  base::Duration stale_after = std::chrono::minutes(10);
  double reading_noise = 0;  ///< Standard deviation of a one-second reading of utilization.
  double cost_noise = 0;     ///< The same of a request's true cost, correlated over 30 s.
  uint64_t seed = 1;
  bool dither = true;  ///< Else weights are rounded.
};

/// One server as it truly is, and what is wrong with it.
struct ModelServer {
  Law law;
  double capacity;       ///< Requests a second that fill it.
  double health = 1;     ///< Share of the capacity that is there.
  double stuck_at = -1;  ///< From 0: what its sensor says, whatever is.
  double shows = 1;      ///< Share of its utilization that its sensor shows.
  bool sensor_alive = true;
  bool fails = false;  ///< Answers everything badly, at a tenth of the cost.
  bool there = true;
  bool publishes = true;
  Orders orders{};
  base::Instant serving_since{};
  SentWeight sent{};
  std::deque<std::pair<base::Instant, double>> coming{};  ///< Weights not in force yet.
  double weight = 100;                                    ///< In force.
  double cost = 0;                                        ///< The noise, in ln.
  Reading window{};                                       ///< Sums since the last step.
  double p95_sum_ms = 0;
  double seconds_in_window = 0;
  Decision last{};
  std::vector<double> utilization{};  ///< True, a second each.
  double received = 0;
  double dropped = 0;
  double failed = 0;
};

/// Servers behind a splitter that follows weights, each with a law of its own: u = 2 % +
/// x(1 + x/4)/1.25 for a share x of its capacity, the excess dropped. Laws act out of phase.
class FleetModel {
 public:
  using Demand = std::function<double(const std::string& zone, base::Instant now)>;

  explicit FleetModel(FleetSettings settings)
      : settings_(std::move(settings)),
        rng_(settings_.seed),
        view_({.stale_after = settings_.stale_after}) {}

  ModelServer& add(const std::string& zone, const std::string& server_class, double capacity,
                   base::Duration served_for = std::chrono::hours(1), double cores = 0) {
    Identity self{.id = "s" + std::to_string(servers_.size()),
                  .zone = zone,
                  .server_class = server_class,
                  .cores = cores,
                  .started_at_ms = 1};
    servers_.push_back(
        std::make_unique<ModelServer>(ModelServer{.law = Law(settings_.law, std::move(self)),
                                                  .capacity = capacity,
                                                  .serving_since = now_ - served_for}));
    return *servers_.back();
  }

  /// 8, 16 and 32 cores of three generations (1, 1.3, 2), three of each: capacities 8:1.
  void add_standard_fleet(const std::string& zone = "a") {
    for (int copy = 0; copy < 3; ++copy) {
      for (const int cores : {8, 16, 32}) {
        for (const double speed : {1.0, 1.3, 2.0}) {
          add(zone, std::to_string(cores) + "x" + std::to_string(speed).substr(0, 3),
              cores * speed * kPerCore, std::chrono::hours(1), cores);
        }
      }
    }
  }

  void run(base::Duration duration, const Demand& demand) {
    for (const auto end = now_ + duration; now_ < end;) {
      split(demand);
      now_ += seconds(1);
      deliver();
      for (size_t i = 0; i < servers_.size(); ++i) {
        const auto period = std::max<int64_t>(1, settings_.law.period / seconds(1));
        if (servers_[i]->there &&
            (now_.time_since_epoch() / seconds(1)) % period == static_cast<int64_t>(i) % period) {
          decide(*servers_[i]);
        }
      }
      take_effect();
    }
  }

  /// max − min of the means over the last `of`, in points, of servers in `zone` that are there.
  [[nodiscard]] double spread(base::Duration of, const std::string& zone = "a",
                              size_t before_s = 0) const {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const auto& server : servers_) {
      if (server->there && server->law.self().zone == zone) {
        const double mean = mean_utilization(*server, of, before_s);
        low = std::min(low, mean);
        high = std::max(high, mean);
      }
    }
    return 100 * (high - low);
  }

  [[nodiscard]] static double mean_utilization(const ModelServer& server, base::Duration of,
                                               size_t before_s = 0) {
    const auto wanted = static_cast<size_t>(of / seconds(1));
    const size_t end = server.utilization.size() - std::min(before_s, server.utilization.size());
    const size_t count = std::min(wanted, end);
    double sum = 0;
    for (size_t i = end - count; i < end; ++i) {
      sum += server.utilization[i];
    }
    return count > 0 ? sum / static_cast<double>(count) : 0;
  }

  /// Periods until the spread of 10 s means is below 5 points and stays so; -1: not in this run.
  [[nodiscard]] double settle_periods(double points = 5) const {
    const size_t length = servers_.front()->utilization.size();
    size_t settled = 0;
    for (size_t end = 10; end <= length; ++end) {
      if (spread(seconds(10), "a", length - end) >= points) {
        settled = end + 1;
      }
    }
    const double period_s = std::chrono::duration<double>(settings_.law.period).count();
    return settled > length - 30 ? -1 : static_cast<double>(settled) / period_s;
  }

  [[nodiscard]] double dropped_share() const {
    double dropped = 0;
    double all = 0;
    for (const auto& server : servers_) {
      dropped += server->dropped;
      all += server->received;
    }
    return dropped / all;
  }

  /// From now on nobody tells the laws how many requests were answered.
  void hide_successes() { counts_successes_ = false; }

  void forget_counts() {
    for (auto& server : servers_) {
      server->received = server->dropped = server->failed = 0;
    }
  }

  [[nodiscard]] double capacity(const std::string& zone = "a") const {
    double sum = 0;
    for (const auto& server : servers_) {
      sum +=
          server->there && server->law.self().zone == zone ? server->capacity * server->health : 0;
    }
    return sum;
  }

  [[nodiscard]] base::Instant now() const { return now_; }

  [[nodiscard]] ModelServer& server(size_t i) { return *servers_[i]; }

  [[nodiscard]] size_t size() const { return servers_.size(); }

  [[nodiscard]] ZoneView& view() { return view_; }

  /// All that was published, in the order of its decisions.
  [[nodiscard]] const std::vector<Sample>& published() const { return published_; }

  /// A share of the capacity at which a server is as full as `utilization` says.
  [[nodiscard]] static double share_of(double utilization) {
    return (-1 + std::sqrt(1 + 1.25 * (utilization - 0.02))) / 0.5;
  }

  static constexpr double kPerCore = 100;

 private:
  void deliver() {
    while (!in_flight_.empty() && in_flight_.front().taken_at < now_ &&
           in_flight_.front().taken_at + settings_.mean_delay <= now_) {
      (void)view_.put(now_, in_flight_.front());
      in_flight_.pop_front();
    }
  }

  void take_effect() {
    for (auto& server : servers_) {
      while (!server->coming.empty() && server->coming.front().first <= now_) {
        server->weight = server->coming.front().second;
        server->coming.pop_front();
      }
    }
  }

  void split(const Demand& demand) {
    std::map<std::string, double> weights;
    for (const auto& server : servers_) {
      weights[server->law.self().zone] += server->there ? server->weight : 0;
    }
    for (auto& server : servers_) {
      const auto& zone = server->law.self().zone;
      if (server->there) {
        serve(*server, demand(zone, now_) * server->weight / weights[zone]);
      }
    }
  }

  void serve(ModelServer& server, double rate) {
    constexpr double kKept = 29.0 / 30;
    server.cost =
        kKept * server.cost + settings_.cost_noise * std::sqrt(1 - kKept * kKept) * rng_.normal();
    const double full = server.capacity * server.health * std::exp(-server.cost);
    const double weighing = server.fails ? 0.1 : 1;
    const double most = share_of(1);
    const double share = std::min(rate * weighing / full, most);
    const double served = std::min(rate, share * full / weighing);
    const double used = 0.02 + share * (1 + 0.25 * share) / 1.25;
    const double noise = settings_.reading_noise > 0 ? settings_.reading_noise * rng_.normal() : 0;
    server.utilization.push_back(used);
    server.received += rate;
    server.dropped += rate - served;
    server.failed += server.fails ? served : 0;
    server.window.utilization += used + noise;
    server.window.requests_per_second += rate;
    (server.fails ? server.window.failures_per_second : server.window.successes_per_second) +=
        served;
    server.p95_sum_ms += server.fails ? 1 : 10 + 200 * std::pow(used, 8);
    server.seconds_in_window += 1;
  }

  void decide(ModelServer& server) {
    const double over = std::max(1.0, server.seconds_in_window);
    Reading reading = std::exchange(server.window, Reading{});
    reading.utilization = server.stuck_at >= 0
                              ? server.stuck_at
                              : std::clamp(server.shows * reading.utilization / over, 0.0, 1.0);
    reading.successes_per_second /= over;
    reading.requests_per_second /= over;
    reading.failures_per_second /= over;
    reading.p95_ms = std::exchange(server.p95_sum_ms, 0) / over;
    reading.window = seconds(static_cast<int>(std::exchange(server.seconds_in_window, 0)));
    reading.serving_for = now_ - server.serving_since;
    reading.sensor_alive = server.sensor_alive;
    reading.counts_successes = counts_successes_;
    server.last = server.law.step(now_, reading, server.orders, view_);
    const double sent =
        settings_.dither ? server.sent.tick(server.last.weight) : std::round(server.last.weight);
    server.coming.emplace_back(now_ + settings_.own_delay, sent);
    published_.push_back(server.last.sample);
    if (server.publishes) {
      in_flight_.push_back(server.last.sample);
    }
  }

  FleetSettings settings_;
  base::Rng rng_;
  ZoneView view_;
  base::Instant now_{std::chrono::hours(10)};
  bool counts_successes_ = true;
  std::vector<std::unique_ptr<ModelServer>> servers_;
  std::deque<Sample> in_flight_;
  std::vector<Sample> published_;
};

/// `law`, its weights in force after a second and its samples heard after two.
inline FleetSettings fleet_of(LawKind law, base::Duration period = seconds(2)) {
  FleetSettings settings;
  settings.law.law = law;
  settings.law.period = period;
  settings.own_delay = seconds(1);
  settings.mean_delay = seconds(2);
  return settings;
}

/// A demand that fills a fleet of `capacity` to `utilization`.
inline FleetModel::Demand steady(double capacity, double utilization) {
  const double rate = capacity * FleetModel::share_of(utilization);
  return [rate](const std::string&, base::Instant) { return rate; };
}

}  // namespace spillway::capacity
