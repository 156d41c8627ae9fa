#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/config/reader.h"
#include "base/result.h"
#include "base/time.h"

namespace spillway::app {

/// Runs one algorithm over a trace, line by line.
class Tracer {
 public:
  Tracer() = default;
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  virtual ~Tracer() = default;

  /// What the algorithm says to one line of input, without the end of line; or what is wrong with
  /// the line, as a sentence that names the field.
  [[nodiscard]] virtual base::Result<std::string, std::string> line(std::string_view text) = 0;
};

/// Makes a tracer of a YAML text; null when something was appended to `problems`.
using MakeTracer = std::unique_ptr<Tracer> (*)(std::string_view yaml,
                                               std::vector<ConfigProblem>& problems);

/// The fields of a line, parted by spaces or tabs.
[[nodiscard]] std::vector<std::string_view> fields_of(std::string_view line);

/// Milliseconds of trace time: decimal, from 0 to 9·10^12, at most six places.
[[nodiscard]] base::Result<base::Duration, std::string> parse_trace_ms(std::string_view name,
                                                                       std::string_view text);

/// A whole number field in [low, high]; the error names it.
template <typename Integer>
[[nodiscard]] base::Result<Integer, std::string> parse_trace_integer(std::string_view name,
                                                                     std::string_view text,
                                                                     Integer low, Integer high) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    return std::unexpected(std::string(name) + " must be a whole number from " +
                           std::to_string(low) + " to " + std::to_string(high) + ", is \"" +
                           std::string(text) + "\"");
  }
  return value;
}

}  // namespace spillway::app
