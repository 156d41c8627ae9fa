#include "workload/rate_profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/result.h"
#include "base/time.h"

namespace spillway::workload {

namespace {

constexpr double kNanosPerSecond = 1e9;
constexpr double kMicros = 1e6;
constexpr double kSecondsMax = 3.6e6;  // 1 000 hours

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

base::Duration duration_of(double seconds) {
  return base::Duration(static_cast<int64_t>(std::llround(seconds * kNanosPerSecond)));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r";
  const size_t begin = text.find_first_not_of(kWhite);
  return begin == std::string_view::npos
             ? std::string_view{}
             : text.substr(begin, text.find_last_not_of(kWhite) - begin + 1);
}

std::optional<double> number(std::string_view text) {
  const auto micros = base::parse_micros(trim(text), base::Rounding::kDown);
  return micros ? std::optional(static_cast<double>(*micros) / kMicros) : std::nullopt;
}

/// One line of a trace; `last` is the point before it.
base::Result<RateProfile::Point, std::string_view> parse_point(std::string_view line,
                                                               const RateProfile::Point* last,
                                                               double time_scale) {
  const size_t comma = line.find(',');
  const auto seconds = number(line.substr(0, comma));
  const auto rate = comma == std::string_view::npos ? std::nullopt : number(line.substr(comma + 1));
  if (!seconds || !rate) {
    return std::unexpected("must be \"seconds,rate\"");
  }
  if (*rate < 0 || *rate > RateProfile::kRateMax) {
    return std::unexpected("the rate must be from 0 to 1000000");
  }
  if (*seconds < 0 || *seconds > kSecondsMax) {
    return std::unexpected("the seconds must be from 0 to 3600000");
  }
  const base::Duration at = duration_of(*seconds / time_scale);
  if (last == nullptr && at != base::Duration::zero()) {
    return std::unexpected("the first point must be at 0 seconds");
  }
  if (last != nullptr && at < last->at) {
    return std::unexpected("the seconds must not fall");
  }
  return RateProfile::Point{.at = at, .rate = *rate};
}

}  // namespace

RateProfile::RateProfile(std::vector<Point> points) : points_(std::move(points)) {
  counts_.reserve(points_.size());
  double count = 0;
  for (size_t i = 0; i < points_.size(); ++i) {
    if (i > 0) {
      count += seconds_of(points_[i].at - points_[i - 1].at) *
               (points_[i].rate + points_[i - 1].rate) / 2;
    }
    counts_.push_back(count);
  }
}

RateProfile RateProfile::constant(double rate, base::Duration duration) {
  return ramp(rate, rate, duration);
}

RateProfile RateProfile::ramp(double from, double to, base::Duration duration) {
  return RateProfile({{.at = {}, .rate = from}, {.at = duration, .rate = to}});
}

RateProfile RateProfile::step(double from, double to, base::Duration at, base::Duration duration) {
  return RateProfile({{.at = {}, .rate = from},
                      {.at = at, .rate = from},
                      {.at = at, .rate = to},
                      {.at = duration, .rate = to}});
}

base::Result<RateProfile, LineProblem> RateProfile::parse_trace(std::string_view text,
                                                                double time_scale) {
  std::vector<Point> points;
  int line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const auto point = parse_point(line, points.empty() ? nullptr : &points.back(), time_scale);
    if (!point) {
      return std::unexpected(LineProblem{line_number, std::string(point.error())});
    }
    if (points.size() == kPointsMax) {
      return std::unexpected(LineProblem{line_number, "more than 100000 points"});
    }
    points.push_back(*point);
  }
  if (points.size() < 2 || points.back().at == base::Duration::zero()) {
    return std::unexpected(LineProblem{0, "a trace needs two points at different times"});
  }
  RateProfile made(std::move(points));
  if (made.expected() < 1) {
    return std::unexpected(LineProblem{0, "no request would ever be due"});
  }
  return made;
}

base::Duration RateProfile::duration() const {
  return points_.empty() ? base::Duration{} : points_.back().at;
}

double RateProfile::peak_rate() const {
  double peak = 0;
  for (const Point& point : points_) {
    peak = std::max(peak, point.rate);
  }
  return peak;
}

double RateProfile::mean_rate() const {
  const double seconds = seconds_of(duration());
  return seconds <= 0 ? 0 : expected() / seconds;
}

double RateProfile::count_before(base::Duration at) const {
  if (points_.empty() || at <= base::Duration::zero()) {
    return 0;
  }
  if (at >= duration()) {
    return expected();
  }
  const auto next = std::upper_bound(points_.begin(), points_.end(), at,
                                     [](base::Duration t, const Point& p) { return t < p.at; });
  const auto i = static_cast<size_t>(next - points_.begin()) - 1;
  const double into = seconds_of(at - points_[i].at);
  const double slope = (next->rate - points_[i].rate) / seconds_of(next->at - points_[i].at);
  return counts_[i] + into * (points_[i].rate + slope * into / 2);
}

base::Duration RateProfile::when(double count) const {
  const auto next = std::upper_bound(counts_.begin(), counts_.end(), count);
  if (next == counts_.end()) {
    return duration();
  }
  if (next == counts_.begin()) {
    return {};
  }
  const auto i = static_cast<size_t>(next - counts_.begin()) - 1;
  const double missing = count - counts_[i];
  const double rate = points_[i].rate;
  const double slope = (points_[i + 1].rate - rate) / seconds_of(points_[i + 1].at - points_[i].at);
  // The root of slope/2 t^2 + rate t = missing, in the form that also holds for slope 0.
  const double root = rate + std::sqrt(std::max(0.0, rate * rate + 2 * slope * missing));
  return points_[i].at + (root > 0 ? duration_of(2 * missing / root) : base::Duration{});
}

}  // namespace spillway::workload
