// The values a ConfigReader gives: text, numbers, durations, sizes, money.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "app/config/reader.h"
#include "app/config/reader_body.h"
#include "app/config/units.h"
#include "base/decimal.h"
#include "base/money.h"
#include "base/time.h"

namespace spillway::app {
namespace {

std::string micros_text(int64_t micros) {
  std::string out;
  base::append_micros(out, micros);
  return out;
}

}  // namespace

void ConfigReader::read(std::string_view key, std::string& out) {
  const std::string* text = body_->scalar(key, "text", false);
  body_->note_fallback([&] { return out; });
  if (text != nullptr) {
    out = *text;
  }
}

void ConfigReader::read(std::string_view key, bool& out) {
  const std::string* text = body_->scalar(key, "true or false", true);
  body_->note_fallback([&] { return std::string(out ? "true" : "false"); });
  if (text == nullptr) {
    return;
  }
  if (*text == "true" || *text == "false") {
    out = *text == "true";
  } else {
    problem(key, fmt::format("must be true or false, is \"{}\"", *text));
  }
}

void ConfigReader::read(std::string_view key, int64_t& out, int64_t low, int64_t high) {
  body_->read_number(key, out, low, high, "a whole number");
}

void ConfigReader::read(std::string_view key, uint32_t& out, uint32_t low, uint32_t high) {
  int64_t value = out;
  body_->read_number<int64_t>(key, value, low, high, "a whole number");
  out = static_cast<uint32_t>(value);
}

void ConfigReader::read(std::string_view key, double& out, double low, double high) {
  body_->read_number(key, out, low, high, "a number");
}

void ConfigReader::read(std::string_view key, base::Duration& out, base::Duration low,
                        base::Duration high) {
  const std::string* text = body_->scalar(key, "a duration such as 150ms, 5s or 2m", true);
  body_->note_fallback([&] { return duration_text(out); });
  if (text == nullptr) {
    return;
  }
  const auto value = parse_duration(*text);
  if (!value) {
    problem(key, fmt::format("must be a duration with its unit, such as 150ms, 5s or 2m; is \"{}\"",
                             *text));
  } else if (*value < low || *value > high) {
    problem(key, fmt::format("must be between {} and {}, is {}", duration_text(low),
                             duration_text(high), *text));
  } else {
    out = *value;
  }
}

void ConfigReader::read_bytes(std::string_view key, uint64_t& out, uint64_t low, uint64_t high) {
  const std::string* text = body_->scalar(key, "a size such as 256KiB or 1MiB", true);
  body_->note_fallback([&] { return bytes_text(out); });
  if (text == nullptr) {
    return;
  }
  const auto value = parse_bytes(*text);
  if (!value) {
    problem(key,
            fmt::format("must be a size with its unit, such as 512B, 256KiB or 1MiB; is \"{}\"",
                        *text));
  } else if (*value < low || *value > high) {
    problem(key, fmt::format("must be between {} and {}, is {}", bytes_text(low), bytes_text(high),
                             *text));
  } else {
    out = *value;
  }
}

void ConfigReader::read_choice(std::string_view key, const std::vector<std::string_view>& names,
                               size_t& out) {
  const auto wanted = fmt::format("one of {}", fmt::join(names, ", "));
  const std::string* text = body_->scalar(key, wanted, false);
  body_->note_fallback([&] { return std::string(names[out]); });
  if (text == nullptr) {
    return;
  }
  const auto found = std::ranges::find(names, std::string_view(*text));
  if (found == names.end()) {
    problem(key, fmt::format("must be {}, is \"{}\"", wanted, *text));
  } else {
    out = static_cast<size_t>(found - names.begin());
  }
}

void ConfigReader::read(std::string_view key, std::vector<std::string>& out) {
  const Member* member = body_->ask_value(key);
  if (member == nullptr) {
    return;
  }
  if (!member->value.IsSequence()) {
    problem(key, "must be a list of texts, such as [a, b]");
    return;
  }
  std::vector<std::string> values;
  for (const auto& item : member->value) {
    if (!item.IsScalar()) {
      problem(key, "must be a list of texts, such as [a, b]");
      return;
    }
    values.push_back(item.Scalar());
  }
  out = std::move(values);
}

void ConfigReader::read(std::string_view key,
                        std::vector<std::pair<std::string, std::string>>& out) {
  ConfigReader mapping = section(key);
  for (const Member& member : mapping.body_->members) {
    if (member.value.IsScalar()) {
      out.emplace_back(member.name, member.value.Scalar());
    } else {
      mapping.problem(member.name, "must be a text");
    }
  }
}

void ConfigReader::read_cpm(std::string_view key, base::Cpm& out) {
  const std::string* text = body_->scalar(key, "a price per thousand such as 1.25", true);
  body_->note_fallback([&] { return micros_text(out.micros); });
  if (text == nullptr) {
    return;
  }
  const auto price = parse_cpm(*text);
  if (price) {
    out = *price;
  } else {
    problem(key, fmt::format("must be a price per thousand, not negative, such as 1.25; is \"{}\"",
                             *text));
  }
}

void ConfigReader::read_ppm(std::string_view key, uint32_t& out, uint32_t high_ppm) {
  const std::string* text = body_->scalar(key, "a share such as 0.15", true);
  body_->note_fallback([&] { return micros_text(out); });
  if (text == nullptr) {
    return;
  }
  // Both roundings agree only on what six decimals can say.
  const auto down = base::parse_micros(*text, base::Rounding::kDown);
  const auto up = base::parse_micros(*text, base::Rounding::kUp);
  if (down && up && *down == *up && *down >= 0 && *down <= high_ppm) {
    out = static_cast<uint32_t>(*down);
    return;
  }
  problem(key, fmt::format("must be from 0 to {} with at most six decimals, is \"{}\"",
                           micros_text(high_ppm), *text));
}

}  // namespace spillway::app
