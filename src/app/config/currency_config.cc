#include "app/config/currency_config.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/config/url.h"
#include "base/decimal.h"
#include "base/money.h"
#include "base/time.h"
#include "exchange/clearing/rates.h"
#include "exchange/snapshot.h"
#include "openrtb/currency.h"
#include "openrtb/validate.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kMark = "\n--- # the rates of currency.file, as they were read\n";

std::optional<base::Currency> currency_named(std::string_view text) {
  base::Currency currency;
  if (text.size() != currency.code.size()) {
    return std::nullopt;
  }
  std::ranges::copy(text, currency.code.begin());
  return openrtb::known_currency(currency) ? std::optional(currency) : std::nullopt;
}

/// The whole number in `text`, all of it digits.
std::optional<unsigned> digits(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

/// Milliseconds since the epoch of "2026-11-30" or "2026-11-30T14:00:00Z".
std::optional<int64_t> moment(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  constexpr size_t kDateLength = 10;
  if (text.size() != kForm.size() && text.size() != kDateLength) {
    return std::nullopt;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !is_digit : text[i] != kForm[i]) {
      return std::nullopt;
    }
  }
  const auto part = [&](size_t at, size_t length) {
    return at < text.size() ? digits(text.substr(at, length)).value_or(0) : 0U;
  };
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(part(0, 4))),
                                        std::chrono::month(part(5, 2)),
                                        std::chrono::day(part(8, 2))};
  const unsigned hour = part(11, 2);
  const unsigned minute = part(14, 2);
  const unsigned second = part(17, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) {
    return std::nullopt;
  }
  const auto at = std::chrono::sys_days(day) + std::chrono::hours(hour) +
                  std::chrono::minutes(minute) + std::chrono::seconds(second);
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

/// Billionths of a plain decimal above 0; further digits are cut off.
std::optional<int64_t> billionths(const std::string& text) {
  if (text.find_first_of("eE") != std::string::npos) {
    return std::nullopt;
  }
  const auto value = base::parse_micros(text + "e3", base::Rounding::kDown);
  return value && *value > 0 ? std::optional(*value) : std::nullopt;
}

void read_table(ConfigReader reader, exchange::clearing::Rates& out) {
  for (const std::string_view code : openrtb::currency_codes()) {
    std::string text;
    const auto currency = currency_named(code);
    reader.read(code, text);
    if (!reader.has(code) || !currency) {
      continue;
    }
    const auto rate = billionths(text);
    if (!rate) {
      reader.problem(code, fmt::format("must be a decimal from 0.000000001, is \"{}\"", text));
    } else if (!out.add(*currency, *rate)) {
      reader.problem(code, "is the base: its rate is 1");
    }
  }
  reader.finish();
}

void read_feed(ConfigReader& reader, RateFeed& out) {
  reader.read("url", out.url);
  reader.read("ca_file", out.ca_file);
  reader.read("refresh", out.refresh, 1s, 24h);
  bool insecure = false;
  reader.read("insecure", insecure);
  if (out.url.empty()) {
    return;
  }
  auto place = parse_http_url(out.url);
  if (!place) {
    reader.problem("url", std::move(place.error()));
    return;
  }
  out.place = std::move(*place);
  if (!out.place.tls && !insecure && !is_loopback(out.place.host)) {
    reader.problem("url", "is plain http to another machine: use https, or say insecure: true");
  }
}

}  // namespace

ConfigText part_rates(std::string_view text) {
  const size_t mark = text.find(kMark);
  if (mark == std::string_view::npos) {
    return {.settings = text, .rates = {}};
  }
  return {.settings = text.substr(0, mark), .rates = text.substr(mark + kMark.size())};
}

std::string join_rates(const ConfigText& parts) {
  std::string text(parts.settings);
  if (!parts.rates.empty()) {
    text += kMark;
    text += parts.rates;
  }
  return text;
}

void read_floor(ConfigReader& reader, exchange::Floor& out) {
  reader.read_cpm("bidfloor", out.price);
  std::string code(out.currency.view());
  reader.read("bidfloorcur", code);
  if (const auto currency = currency_named(code)) {
    out.currency = *currency;
  } else {
    reader.problem("bidfloorcur", fmt::format("must be a currency such as EUR, is \"{}\"", code));
  }
}

exchange::clearing::Rates read_rates(std::string_view text, base::Duration stale_after,
                                     std::vector<ConfigProblem>& problems) {
  ConfigReader reader(text, problems);
  std::string base_code;
  reader.read("base", base_code);
  std::string as_of;
  reader.read("as_of", as_of);
  const auto base = currency_named(base_code);
  const auto at = moment(as_of);
  if (!base) {
    reader.problem("base", fmt::format("must be a currency such as EUR, is \"{}\"", base_code));
  }
  if (!at) {
    reader.problem("as_of", fmt::format("must be a time such as 2026-11-30T14:00:00Z or a day such "
                                        "as 2026-11-30, is \"{}\"",
                                        as_of));
  }
  exchange::clearing::Rates rates(
      base.value_or(base::Currency{}), at.value_or(0),
      std::chrono::duration_cast<std::chrono::milliseconds>(stale_after));
  read_table(reader.section("rates"), rates);
  reader.finish();
  return rates;
}

std::string read_currency(ConfigReader reader, std::string_view recorded,
                          exchange::clearing::Rates& out, RateFeed& feed) {
  std::string path;
  base::Duration stale_after = 72h;
  reader.read("file", path);
  reader.read("stale_after", stale_after, 1min, 8760h);
  read_feed(reader, feed);
  std::string text(recorded);
  if (!path.empty() && recorded.empty()) {
    auto read = read_whole_file(path, kRatesBytes);
    if (!read) {
      reader.problem("file", read.error());
    } else {
      text = std::move(*read);
    }
    if (read && text.empty()) {
      reader.problem("file", fmt::format("{}: is empty", path));
    }
  }
  if (!text.empty()) {
    std::vector<ConfigProblem> problems;
    out = read_rates(text, stale_after, problems);
    for (const auto& problem : problems) {
      reader.problem("file", to_string(problem, path));
    }
  }
  reader.finish();
  return text;
}

}  // namespace spillway::app
