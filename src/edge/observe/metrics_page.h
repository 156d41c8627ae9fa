#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/histogram.h"

namespace spillway::observe {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// One scrape under construction: values are added family by family, in any order, and written as
/// Prometheus text. A second value of a family keeps the first one's help. Label values come from
/// enums and configured names only. One thread.
class MetricsPage {
 public:
  MetricsPage();
  ~MetricsPage();

  void counter(std::string_view name, std::string_view help, Labels labels, uint64_t value);
  void gauge(std::string_view name, std::string_view help, Labels labels, double value);

  /// Buckets from 100 us to 5 s, in seconds; `latency` is in its own buckets, which are finer.
  void latency(std::string_view name, std::string_view help, Labels labels,
               const base::Histogram& latency);

  /// Exposition format 0.0.4, families sorted by name.
  [[nodiscard]] std::string text() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace spillway::observe
