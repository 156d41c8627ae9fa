#include "balance/record.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include <poll.h>
#include <stdlib.h>

#include "balance/farm.h"
#include "balance/haproxy.h"

namespace spillway::balance {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void wait_until(Clock::time_point start, double at_s) {
  for (double left = 0; (left = at_s - seconds_since(start)) > 0;) {
    ::poll(nullptr, 0, static_cast<int>(std::ceil(left * 1e3)));
  }
}

Reading read_now(const Farm& farm, const std::vector<const Haproxy*>& proxies, double at_s) {
  Reading reading{.at_s = at_s,
                  .cpu_s = {},
                  .weights = std::vector<double>(farm.size(), std::nan("")),
                  .chosen = std::vector<uint64_t>(farm.size(), 0)};
  for (const auto& backend : farm) {
    reading.cpu_s.push_back(std::chrono::duration<double>(backend->group().used()).count());
  }
  for (const Haproxy* proxy : proxies) {
    for (const ServerStatistics& server : proxy->statistics()) {
      for (size_t i = 0; i < farm.size(); ++i) {
        if (farm[i]->plan().name == server.name) {
          reading.weights[i] = server.weight;
          reading.chosen[i] = server.chosen;
        }
      }
    }
  }
  return reading;
}

}  // namespace

double Record::utilization(size_t backend, size_t from, size_t to) const {
  const Reading& a = readings[from];
  const Reading& b = readings[to];
  return 100 * (b.cpu_s[backend] - a.cpu_s[backend]) / ((b.at_s - a.at_s) * cores[backend]);
}

double Window::spread() const {
  const auto [low, high] = std::ranges::minmax(utilization);
  return high - low;
}

double Window::mean() const {
  double sum = 0;
  for (const double value : utilization) {
    sum += value;
  }
  return sum / static_cast<double>(utilization.size());
}

std::vector<Window> windows(const Record& record, double length_s, double from_s,
                            const std::vector<size_t>& members) {
  std::vector<Window> all;
  size_t begin = 0;
  for (size_t end = 1; end < record.readings.size(); ++end) {
    const double at_s = record.readings[end].at_s;
    // Half a second of tolerance: readings are a little late.
    while (record.readings[begin + 1].at_s <= at_s - length_s + 0.5) {
      ++begin;
    }
    if (at_s < from_s - 0.5 || record.readings[begin].at_s > at_s - length_s + 0.5) {
      continue;
    }
    Window window{.ends_at_s = at_s, .utilization = {}};
    for (size_t i = 0; i < record.names.size(); ++i) {
      if (members.empty() || std::ranges::find(members, i) != members.end()) {
        window.utilization.push_back(record.utilization(i, begin, end));
      }
    }
    all.push_back(std::move(window));
  }
  return all;
}

double share_within(const std::vector<Window>& windows, double points) {
  const auto held = std::ranges::count_if(
      windows, [points](const Window& window) { return window.spread() <= points; });
  return windows.empty() ? 0 : static_cast<double>(held) / static_cast<double>(windows.size());
}

double spread_quantile(const std::vector<Window>& windows, double q) {
  std::vector<double> spreads;
  spreads.reserve(windows.size());
  for (const Window& window : windows) {
    spreads.push_back(window.spread());
  }
  if (spreads.empty()) {
    return std::nan("");
  }
  std::ranges::sort(spreads);
  const auto last = static_cast<double>(spreads.size() - 1);
  return spreads[static_cast<size_t>(std::lround(q * last))];
}

Record watch(const Farm& farm, const std::vector<const Haproxy*>& proxies, double duration_s,
             std::vector<Act> acts) {
  Record record{.names = {}, .cores = {}, .readings = {}};
  for (const auto& backend : farm) {
    record.names.push_back(backend->plan().name);
    record.cores.push_back(backend->plan().cores);
  }
  const auto start = Clock::now();
  size_t next = 0;
  for (int second = 0; second <= static_cast<int>(duration_s); ++second) {
    const double at_s = second;
    for (; next < acts.size() && acts[next].first < at_s; ++next) {
      wait_until(start, acts[next].first);
      acts[next].second();
    }
    wait_until(start, at_s);
    record.readings.push_back(read_now(farm, proxies, seconds_since(start)));
  }
  ::getloadavg(&record.load_average, 1);
  return record;
}

}  // namespace spillway::balance
