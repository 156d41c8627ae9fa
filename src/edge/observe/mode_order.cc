#include "observe/mode_order.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <simdjson.h>

#include "base/result.h"
#include "base/time.h"
#include "observe/log.h"
#include "resilience/guard.h"

namespace spillway::observe {

namespace {

using simdjson::dom::element;

constexpr size_t kBodyBytes = 4096;
constexpr size_t kWhyBytes = 200;
constexpr base::Duration kShortest = std::chrono::seconds(1);
constexpr base::Duration kLongest = std::chrono::days(30);

constexpr std::array<std::pair<std::string_view, resilience::Mode>, 4> kModes = {{
    {"enforce", resilience::Mode::kEnforce},
    {"shadow", resilience::Mode::kShadow},
    {"disabled", resilience::Mode::kDisabled},
    {"forced_open", resilience::Mode::kForcedOpen},
}};

/// Text in a sentence, short and on one line.
std::string shown(std::string_view text) {
  return observe::quoted(fmt::format("{:.40}{}", text, text.size() > 40 ? " ..." : ""));
}

std::string read_mode(const element& value, ModeOrder& out) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    for (const auto& [name, mode] : kModes) {
      if (text == name) {
        out.mode = mode;
        return {};
      }
    }
  }
  return fmt::format("mode: must be one of enforce, shadow, disabled, forced_open; is {}",
                     shown(simdjson::minify(value)));
}

std::string read_for(const element& value, ModeOrder& out) {
  std::string_view text;
  std::optional<base::Duration> lasting;
  if (value.get(text) == simdjson::SUCCESS) {
    lasting = parse_duration(text);
  }
  if (!lasting || *lasting < kShortest || *lasting > kLongest) {
    return fmt::format("for: must be a duration as \"10m\" from 1s to 30d; is {}",
                       shown(simdjson::minify(value)));
  }
  out.lasting = *lasting;
  return {};
}

std::string read_why(const element& value, ModeOrder& out) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS || text.empty() || text.size() > kWhyBytes) {
    return fmt::format("why: must be text of 1 to {} bytes", kWhyBytes);
  }
  out.why = text;
  return {};
}

struct Field {
  std::string_view name;
  std::string (*read)(const element&, ModeOrder&);
};

constexpr std::array<Field, 3> kFields = {{
    {.name = "mode", .read = read_mode},
    {.name = "for", .read = read_for},
    {.name = "why", .read = read_why},
}};

/// Reads one field and ticks it off in `seen`.
std::string read_field(std::string_view name, const element& value,
                       std::array<bool, kFields.size()>& seen, ModeOrder& out) {
  for (size_t i = 0; i < kFields.size(); ++i) {
    if (kFields[i].name == name) {
      if (std::exchange(seen[i], true)) {
        return fmt::format("{}: is given twice", name);
      }
      return kFields[i].read(value, out);
    }
  }
  return fmt::format("{}: unknown field; there are mode, for, why", shown(name));
}

}  // namespace

std::optional<base::Duration> parse_duration(std::string_view text) {
  using std::chrono::days;
  using std::chrono::hours;
  using std::chrono::milliseconds;
  using std::chrono::minutes;
  using std::chrono::seconds;
  constexpr std::pair<std::string_view, milliseconds> kUnits[] = {{"ms", milliseconds(1)},
                                                                  {"s", seconds(1)},
                                                                  {"m", minutes(1)},
                                                                  {"h", hours(1)},
                                                                  {"d", days(1)}};
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number == 0) {
    return std::nullopt;
  }
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  for (const auto& [name, length] : kUnits) {
    if (unit == name && number <= days(1000) / length) {
      return base::Duration(length) * number;
    }
  }
  return std::nullopt;
}

base::Result<ModeOrder, std::string> parse_mode_order(std::string_view body) {
  if (body.size() > kBodyBytes) {
    return std::unexpected(fmt::format("body: must be at most {} bytes", kBodyBytes));
  }
  simdjson::dom::parser parser;
  simdjson::dom::object fields;
  const auto document = parser.parse(body.data(), body.size());  // copies: no padding needed
  if (document.error() != simdjson::SUCCESS) {
    return std::unexpected(
        fmt::format("body: must be JSON: {}", simdjson::error_message(document.error())));
  }
  if (document.get(fields) != simdjson::SUCCESS) {
    return std::unexpected("body: must be a JSON object with mode, why and maybe for");
  }
  ModeOrder order;
  std::array<bool, kFields.size()> seen{};
  for (const auto field : fields) {
    if (std::string wrong = read_field(field.key, field.value, seen, order); !wrong.empty()) {
      return std::unexpected(std::move(wrong));
    }
  }
  for (const size_t needed : {size_t{0}, size_t{2}}) {
    if (!seen[needed]) {
      return std::unexpected(fmt::format("{}: is required", kFields[needed].name));
    }
  }
  return order;
}

}  // namespace spillway::observe
