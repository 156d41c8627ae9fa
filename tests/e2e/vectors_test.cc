// The shared requests and answers through the whole program.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <ios>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

struct Row {
  std::string file, expect;
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    parts.push_back(part);
  }
  return parts;
}

// Rows of expect.tsv whose file begins with `prefix`.
std::vector<Row> rows(std::string_view prefix) {
  std::vector<Row> found;
  std::ifstream file(SPILLWAY_VECTORS "/expect.tsv");
  for (std::string line; std::getline(file, line);) {
    const auto columns = split(line, '\t');
    if (columns.size() == 2 && columns[0].starts_with(prefix)) {
      found.push_back({columns[0], columns[1]});
    }
  }
  return found;
}

bool vectors_there() { return std::filesystem::exists(SPILLWAY_VECTORS "/expect.tsv"); }

#define NEED_VECTORS()                                                             \
  if (!vectors_there()) {                                                          \
    std::printf("skipped: there are no shared vectors at %s\n", SPILLWAY_VECTORS); \
    GTEST_SKIP();                                                                  \
  }

bool among(const std::string& allowed, const std::string& value) {
  const auto values = split(allowed, '|');
  return std::ranges::find(values, value) != values.end();
}

// The circuit only watches, so that no row's fault is felt by the next.
std::string config(uint16_t port) {
  return fmt::format(
      "guards: {{ mode: disabled }}\n"
      "dsps: [{{ name: d, endpoint: \"http://127.0.0.1:{}/\" }}]\n",
      port);
}

TEST(SharedRequests, AreAnsweredAsExpected) {
  NEED_VECTORS();
  FakeDsp dsp(
      [](const Message&) { return FakeDsp::Answer{.bytes = "HTTP/1.1 204 No Content\r\n\r\n"}; });
  ExchangeProcess exchange(config(dsp.port()), ", limits: { body_bytes: 16MiB }");
  ASSERT_TRUE(exchange.started());
  size_t count = 0;
  for (const char* prefix : {"valid/", "invalid/", "hostile/req/"}) {
    for (const auto& row : rows(prefix)) {
      SCOPED_TRACE(row.file);
      const auto expect = split(row.expect, ' ');
      ASSERT_EQ(expect.size(), 2U);
      const uint64_t before = dsp.calls();
      const auto answer =
          exchange.bid_request(read_file(std::filesystem::path(SPILLWAY_VECTORS) / row.file));
      if (expect[0] != "any") {
        EXPECT_TRUE(among(expect[0], fmt::format("{}", answer.status()))) << answer.body;
      }
      if (expect[1] == "called") {
        EXPECT_EQ(dsp.calls(), before + 1);
      } else if (expect[1] == "not-called") {
        EXPECT_EQ(dsp.calls(), before);
      }
      if (answer.status() == 400 && !row.file.ends_with(".gz")) {  // that is refused unread
        EXPECT_NE(answer.body.find("\"error\""), std::string::npos) << answer.body;
      }
      ++count;
    }
  }
  EXPECT_GT(count, 150U);
  EXPECT_EQ(exchange.metrics()["spillway_exchange_deadline_misses_total"], 0);
}

// The sum of the outcome counters named.
double outcomes(std::map<std::string, double>& metrics, std::initializer_list<const char*> names) {
  double sum = 0;
  for (const auto& [series, value] : metrics) {
    for (const char* name : names) {
      if (series.starts_with("spillway_exchange_dsp_outcomes_total{") &&
          series.find(fmt::format("outcome=\"{}\"", name)) != std::string::npos) {
        sum += value;
      }
    }
  }
  return sum;
}

// What became of one call, in the words of expect.tsv; without reject codes.
std::string what_became(std::map<std::string, double>& before, std::map<std::string, double>& after,
                        const Message& answer) {
  const auto rose = [&](std::initializer_list<const char*> names) {
    return outcomes(after, names) > outcomes(before, names);
  };
  if (answer.status() == 200 && answer.body.find("\"seatbid\":[{") != std::string::npos) {
    return "win";
  }
  if (rose({"overload"})) {
    return "overload";
  }
  if (rose({"malformed", "reset", "timeout", "short", "server_error", "refused"})) {
    return "bad";
  }
  for (const auto& [series, value] : after) {
    constexpr std::string_view kLost = "spillway_exchange_bids_lost_total{loss=\"";
    if (series.starts_with(kLost) && value > before[series]) {
      return "reject:" + series.substr(kLost.size(), series.find('"', kLost.size()) - kLost.size());
    }
  }
  return "nobid";
}

void check_answers(const char* prefix, bool raw, size_t at_least) {
  std::string bytes;
  FakeDsp dsp(
      [&](const Message&) { return FakeDsp::Answer{.bytes = bytes, .hang = false, .close = raw}; });
  ExchangeProcess exchange(config(dsp.port()));
  ASSERT_TRUE(exchange.started());
  const auto request = read_file(SPILLWAY_VECTORS "/hostile/req/000-base-valid.json");
  size_t count = 0;
  for (const auto& row : rows(prefix)) {
    SCOPED_TRACE(row.file);
    const auto body = read_file(std::filesystem::path(SPILLWAY_VECTORS) / row.file);
    bytes = raw ? body : ok(body);
    auto before = exchange.metrics();
    const auto answer = exchange.bid_request(request);
    auto after = exchange.metrics();
    EXPECT_TRUE(among(row.expect, what_became(before, after, answer)))
        << row.expect << " became " << what_became(before, after, answer) << ": " << answer.body;
    ++count;
  }
  EXPECT_GE(count, at_least);
}

TEST(SharedAnswers, BecomeWhatIsExpected) {
  NEED_VECTORS();
  check_answers("hostile/resp/", false, 45);
}

TEST(SharedWireAnswers, BecomeWhatIsExpected) {
  NEED_VECTORS();
  check_answers("hostile/wire/", true, 15);
}

}  // namespace
}  // namespace spillway::e2e
