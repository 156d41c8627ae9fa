#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "resilience/problem.h"
#include "resilience/sentence.h"

namespace spillway::resilience {

/// Collects the settings that lie outside their range, both ends included; NaN lies outside all.
class Checker {
 public:
  void within(std::string key, base::Duration value, base::Duration low, base::Duration high) {
    if (value < low || value > high) {
      problems_.push_back({.key = std::move(key),
                           .what = Sentence()
                                       .seconds(value)
                                       .text(" is not between ")
                                       .seconds(low)
                                       .text(" and ")
                                       .seconds(high)
                                       .str()});
    }
  }

  void within(std::string key, uint32_t value, uint32_t low, uint32_t high) {
    within(std::move(key), uint64_t{value}, uint64_t{low}, uint64_t{high});
  }

  void within(std::string key, uint64_t value, uint64_t low, uint64_t high) {
    if (value < low || value > high) {
      problems_.push_back({.key = std::move(key),
                           .what = Sentence()
                                       .number(value)
                                       .text(" is not between ")
                                       .number(low)
                                       .text(" and ")
                                       .number(high)
                                       .str()});
    }
  }

  void within(std::string key, double value, double low, double high) {
    if (!(value >= low && value <= high)) {
      problems_.push_back({.key = std::move(key),
                           .what = Sentence()
                                       .decimal(value)
                                       .text(" is not between ")
                                       .decimal(low)
                                       .text(" and ")
                                       .decimal(high)
                                       .str()});
    }
  }

  std::vector<Problem> take() { return std::move(problems_); }

 private:
  std::vector<Problem> problems_;
};

}  // namespace spillway::resilience
