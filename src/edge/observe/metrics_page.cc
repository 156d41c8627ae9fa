#include "observe/metrics_page.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/check_names.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

#include "base/assert.h"
#include "base/histogram.h"

namespace spillway::observe {

namespace {

/// Upper bounds of the exposed latency buckets; the one above the last is +Inf.
/// Densest where auctions end, so that a p99 read from them is good to a few ms there.
constexpr std::array<uint64_t, 24> kBoundsUs = {
    100,     250,     500,     1'000,   2'500,   5'000,     10'000,    15'000,
    20'000,  25'000,  30'000,  35'000,  40'000,  50'000,    75'000,    100'000,
    150'000, 200'000, 250'000, 300'000, 500'000, 1'000'000, 2'500'000, 5'000'000};

prometheus::ClientMetric labelled(Labels labels) {
  prometheus::ClientMetric metric;
  metric.label.reserve(labels.size());
  for (const auto& [name, value] : labels) {
    SPILLWAY_ASSERT(prometheus::CheckLabelName(std::string(name)));
    metric.label.push_back({.name = std::string(name), .value = std::string(value)});
  }
  return metric;
}

/// One pass, so that buckets and count agree while a worker keeps recording.
prometheus::ClientMetric::Histogram exposed(const base::Histogram& latency) {
  prometheus::ClientMetric::Histogram out;
  out.bucket.reserve(kBoundsUs.size());
  out.sample_sum = static_cast<double>(latency.sum().count()) / 1e9;
  uint64_t seen = 0;
  size_t next = 0;
  for (size_t i = 0; i < base::Histogram::kBuckets; ++i) {
    // A fine bucket that straddles a bound counts as above it: never below what it may hold.
    while (next < kBoundsUs.size() && base::Histogram::upper_us(i) > kBoundsUs[next]) {
      out.bucket.push_back(
          {.cumulative_count = seen, .upper_bound = static_cast<double>(kBoundsUs[next++]) / 1e6});
    }
    seen += latency.count(i);
  }
  out.sample_count = seen;
  return out;
}

}  // namespace

struct MetricsPage::Body {
  prometheus::MetricFamily& family(std::string_view name, std::string_view help,
                                   prometheus::MetricType type) {
    const auto at = families.find(name);
    if (at != families.end()) {
      SPILLWAY_ASSERT(at->second.type == type);
      return at->second;
    }
    SPILLWAY_ASSERT(prometheus::CheckMetricName(std::string(name)));
    prometheus::MetricFamily& made = families[std::string(name)];
    made.name = name;
    made.help = help;
    made.type = type;
    return made;
  }

  std::map<std::string, prometheus::MetricFamily, std::less<>> families;
};

MetricsPage::MetricsPage() : body_(std::make_unique<Body>()) {}

MetricsPage::~MetricsPage() = default;

void MetricsPage::counter(std::string_view name, std::string_view help, Labels labels,
                          uint64_t value) {
  auto metric = labelled(labels);
  metric.counter.value = static_cast<double>(value);
  body_->family(name, help, prometheus::MetricType::Counter).metric.push_back(std::move(metric));
}

void MetricsPage::gauge(std::string_view name, std::string_view help, Labels labels, double value) {
  auto metric = labelled(labels);
  metric.gauge.value = value;
  body_->family(name, help, prometheus::MetricType::Gauge).metric.push_back(std::move(metric));
}

void MetricsPage::latency(std::string_view name, std::string_view help, Labels labels,
                          const base::Histogram& latency) {
  auto metric = labelled(labels);
  metric.histogram = exposed(latency);
  body_->family(name, help, prometheus::MetricType::Histogram).metric.push_back(std::move(metric));
}

std::string MetricsPage::text() const {
  std::vector<prometheus::MetricFamily> sorted;
  sorted.reserve(body_->families.size());
  for (const auto& [name, family] : body_->families) {
    sorted.push_back(family);
  }
  return prometheus::TextSerializer().Serialize(sorted);
}

}  // namespace spillway::observe
