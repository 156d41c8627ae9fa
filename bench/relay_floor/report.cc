#include "relay_floor/report.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

namespace spillway::relay_floor {
namespace {

/// Highest ratio allowed, by fan-out.
std::optional<double> bar_of(size_t fanout) {
  return fanout == 5 ? std::optional(1.5) : fanout == 20 ? std::optional(1.35) : std::nullopt;
}

/// Of one side over another, one a round.
std::vector<double> ratios(const Side& of, const Side& over) {
  std::vector<double> quotients(of.cpu_us.size());
  std::ranges::transform(of.cpu_us, over.cpu_us, quotients.begin(), std::divides{});
  return quotients;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.empty()           ? 0
         : values.size() % 2 == 1 ? values[half]
                                  : (values[half - 1] + values[half]) / 2;
}

/// The other builds of one fan-out: over the relay, and over the exchange.
void print_beside(const Row& row) {
  for (const Side& side : row.beside) {
    fmt::print("{:>7} {:>12} {:>9.1f} us {:>7.2f}   beside it: {:.3f} of the exchange\n", "", "",
               median(side.cpu_us), median(ratios(side, row.relay)),
               median(ratios(side, row.exchange)));
  }
}

/// System calls of an auction; what is not in every twentieth goes unsaid.
std::string calls_text(const std::map<std::string, double>& calls) {
  std::string text;
  double sum = 0;
  for (const auto& [name, count] : calls) {
    sum += count;
    text += count >= 0.05 ? fmt::format(", {} {:.2f}", name, count) : "";
  }
  return fmt::format("{:.2f} system calls an auction{}", sum, text);
}

}  // namespace

bool held(const Row& row) {
  return median(ratios(row.exchange, row.relay)) <= bar_of(row.fanout).value_or(1e9);
}

void print_table(const std::vector<Row>& rows) {
  fmt::print("{:>7} {:>12} {:>12} {:>7} {:>13} {:>6} {:>5}   bytes an auction to DSPs, to caller\n",
             "fan-out", "relay", "exchange", "ratio", "of rounds", "bar", "held");
  for (const Row& row : rows) {
    const auto bar = bar_of(row.fanout);
    const std::vector<double> quotients = ratios(row.exchange, row.relay);
    fmt::print(
        "{:>7} {:>9.1f} us {:>9.1f} us {:>7.2f} {:>13} {:>6} {:>5}   {:.0f}, {:.0f} / {:.0f}, "
        "{:.0f}\n",
        row.fanout, median(row.relay.cpu_us), median(row.exchange.cpu_us), median(quotients),
        fmt::format("{:.2f} to {:.2f}", std::ranges::min(quotients), std::ranges::max(quotients)),
        bar ? fmt::format("{:.2f}", *bar) : "-",
        !bar        ? "-"
        : held(row) ? "yes"
                    : "NO",
        row.relay.ask_bytes, row.relay.answer_bytes, row.exchange.ask_bytes,
        row.exchange.answer_bytes);
    print_beside(row);
    if (row.exchange.instructions > 0) {
      fmt::print("{:>7} {:>9.1f} k  {:>9.1f} k  user instructions an auction (callgrind)\n", "",
                 row.relay.instructions / 1e3, row.exchange.instructions / 1e3);
    }
    if (!row.exchange.syscalls.empty()) {
      fmt::print("{:>7} relay:    {}\n{:>7} exchange: {}\n", "", calls_text(row.relay.syscalls), "",
                 calls_text(row.exchange.syscalls));
    }
  }
}

std::string json(const std::vector<Row>& rows) {
  const auto side = [](const Side& of) {
    return fmt::format(
        R"({{"cpu_us":{:.2f},"asks":{:.3f},"ask_bytes":{:.1f},"answer_bytes":{:.1f},"user_instructions":{:.0f}}})",
        median(of.cpu_us), of.asks, of.ask_bytes, of.answer_bytes, of.instructions);
  };
  std::vector<std::string> parts;
  for (const Row& row : rows) {
    const auto bar = bar_of(row.fanout);
    const std::vector<double> quotients = ratios(row.exchange, row.relay);
    parts.push_back(fmt::format(
        R"({{"fanout":{},"relay":{},"exchange":{},"ratio":{:.3f},"rounds":[{:.3f}],"bar":{},"held":{}}})",
        row.fanout, side(row.relay), side(row.exchange), median(quotients),
        fmt::join(quotients, ","), bar ? fmt::format("{}", *bar) : "null", held(row)));
  }
  return fmt::format(R"({{"bench":"relay_floor","rows":[{}]}})", fmt::join(parts, ","));
}

}  // namespace spillway::relay_floor
