#include "capacity/checker.h"

#include <charconv>
#include <chrono>
#include <string>
#include <utility>

#include "base/time.h"

namespace spillway::capacity {

namespace {

std::string in_seconds(base::Duration duration) {
  return digits(std::chrono::duration<double>(duration).count()) + " s";
}

}  // namespace

std::string digits(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 4);
  return {text, end.ptr};
}

void Checker::within(std::string key, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    add(std::move(key), digits(value) + " is not between " + digits(low) + " and " + digits(high));
  }
}

void Checker::within(std::string key, base::Duration value, base::Duration low,
                     base::Duration high) {
  if (value < low || value > high) {
    add(std::move(key),
        in_seconds(value) + " is not between " + in_seconds(low) + " and " + in_seconds(high));
  }
}

}  // namespace spillway::capacity
