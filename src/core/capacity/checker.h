#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "capacity/problem.h"

namespace spillway::capacity {

/// `value` with four digits that count.
[[nodiscard]] std::string digits(double value);

/// Collects the settings that lie outside their range, both ends included; NaN lies outside all.
class Checker {
 public:
  void within(std::string key, double value, double low, double high);
  void within(std::string key, base::Duration value, base::Duration low, base::Duration high);

  void add(std::string key, std::string what) {
    problems_.push_back({.key = std::move(key), .what = std::move(what)});
  }

  [[nodiscard]] bool clean() const { return problems_.empty(); }

  std::vector<Problem> take() { return std::move(problems_); }

 private:
  std::vector<Problem> problems_;
};

}  // namespace spillway::capacity
