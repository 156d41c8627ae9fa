#include "app/config/reader.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/units.h"
#include "base/money.h"
#include "base/time.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

std::string all(const std::vector<ConfigProblem>& problems) {
  std::string text;
  for (const auto& problem : problems) {
    text += to_string(problem, "f") + "\n";
  }
  return text;
}

TEST(ConfigReader, ReadsEveryKindOfValue) {
  std::vector<ConfigProblem> problems;
  ConfigReader reader(
      "name: \"x\"\non: true\ncount: 7\nratio: 0.25\nwait: 1.5s\nsize: 2KiB\nprice: 1.25\n"
      "tags: [a, b]\nmode: two\ninner: { depth: 1 }\nitems:\n  - { n: 1 }\n  - { n: 2 }\n"
      "named: { left: { n: 3 }, right: { n: 4 } }\n",
      problems);
  std::string name;
  bool on = false;
  uint32_t count = 0;
  double ratio = 0;
  base::Duration wait{};
  uint64_t size = 0;
  base::Cpm price;
  std::vector<std::string> tags;
  size_t mode = 0;
  reader.read("name", name);
  reader.read("on", on);
  reader.read("count", count, 0, 10);
  reader.read("ratio", ratio, 0, 1);
  reader.read("wait", wait, 0s, 1min);
  reader.read_bytes("size", size, 0, 4096);
  reader.read_cpm("price", price);
  reader.read("tags", tags);
  reader.read_choice("mode", {"one", "two"}, mode);
  auto inner = reader.section("inner");
  int64_t depth = 0;
  inner.read("depth", depth, 0, 9);
  inner.finish();
  std::vector<int64_t> numbers;
  for (auto& item : reader.list("items")) {
    item.read("n", numbers.emplace_back(), 0, 9);
    item.finish();
  }
  for (auto& [key, entry] : reader.entries("named")) {
    entry.read("n", numbers.emplace_back(), 0, 9);
    entry.finish();
  }
  reader.finish();
  EXPECT_EQ(all(problems), "");
  EXPECT_EQ(name, "x");
  EXPECT_TRUE(on);
  EXPECT_EQ(count, 7U);
  EXPECT_EQ(ratio, 0.25);
  EXPECT_EQ(wait, 1500ms);
  EXPECT_EQ(size, 2048U);
  EXPECT_EQ(price.micros, 1'250'000);
  EXPECT_EQ(tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(mode, 1U);
  EXPECT_EQ(depth, 1);
  EXPECT_EQ(numbers, (std::vector<int64_t>{1, 2, 3, 4}));
}

TEST(ConfigReader, NamesEveryMistakeByKeyAndLineAndLeavesTheValue) {
  std::vector<ConfigProblem> problems;
  ConfigReader reader(
      "wait: 150\ncount: many\nbig: 11\nitems:\n  - { lisen: 1 }\n  - 5\nmode: no\n", problems);
  base::Duration wait = 3s;
  uint32_t count = 4;
  uint32_t big = 5;
  size_t mode = 1;
  reader.read("wait", wait, 0s, 1min);
  reader.read("count", count, 0, 10);
  reader.read("big", big, 0, 10);
  reader.read_choice("mode", {"one", "two"}, mode);
  for (auto& item : reader.list("items")) {
    std::string listen;
    item.read("listen", listen);
    item.finish();
  }
  reader.finish();
  EXPECT_EQ(all(problems),
            "f:1: wait: must be a duration with its unit, such as 150ms, 5s or 2m; is \"150\"\n"
            "f:2: count: must be a whole number, is \"many\"\n"
            "f:3: big: must be between 0 and 10, is 11\n"
            "f:7: mode: must be one of one, two, is \"no\"\n"
            "f:6: items[1]: must be a mapping of keys\n"
            "f:5: items[0].lisen: is an unknown key; \"listen\" is near\n");
  EXPECT_EQ(wait, 3s);
  EXPECT_EQ(count, 4U);
  EXPECT_EQ(big, 5U);
  EXPECT_EQ(mode, 1U);
}

TEST(ConfigReader, RefusesAKeyThatStandsTwice) {
  std::vector<ConfigProblem> problems;
  ConfigReader reader("a: 1\nb: { c: 1, c: 2 }\na: 2\n", problems);
  (void)reader.section("b");
  EXPECT_EQ(all(problems),
            "f:3: a: stands twice, first on line 1\n"
            "f:2: b.c: stands twice, first on line 2\n");
}

TEST(ConfigReader, ReportsASyntaxErrorAndIsEmpty) {
  std::vector<ConfigProblem> problems;
  ConfigReader reader("a: [1\nb: 2\n", problems);
  EXPECT_EQ(problems.size(), 1U);
  EXPECT_GT(problems[0].line, 0);
  EXPECT_FALSE(reader.has("a"));
}

TEST(ConfigReader, SaysThatAFileIsNestedTooDeeply) {
  std::vector<ConfigProblem> problems;
  const ConfigReader reader("a: " + std::string(1000, '['), problems);
  EXPECT_EQ(all(problems), "f:1: is nested too deeply\n");
}

TEST(ConfigReader, TreatsASectionNotTakenAsUnknown) {
  std::vector<ConfigProblem> problems;
  ConfigReader reader("a: { b: 1 }\n", problems);
  reader.finish();
  EXPECT_EQ(all(problems), "f:1: a: is an unknown key\n");
}

TEST(ConfigReader, WritesDownWhatWasAskedFor) {
  std::vector<ConfigProblem> problems;
  std::vector<AskedKey> asked;
  ConfigReader reader("dsps: [{ name: a }, { name: b }]\n", problems);
  reader.record_asked(asked);
  for (auto& dsp : reader.list("dsps")) {
    std::string text = "nobody";
    dsp.read("name", text);
    base::Duration ramp = 1500ms;
    dsp.section("guard").read("ramp", ramp, 1s, 2s);
  }
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_EQ(asked[0].path, "dsps[].name");
  EXPECT_EQ(asked[0].fallback, "nobody") << "what the file says is not what holds without it";
  EXPECT_EQ(asked[1].path, "dsps[].guard.ramp");
  EXPECT_EQ(asked[1].fallback, "1500ms");
  EXPECT_EQ(asked[2].path, "dsps[].name");
}

TEST(ConfigReader, ReadsSharesExactlyToTheMillionth) {
  const auto read = [](std::string_view text, uint32_t high_ppm = 900'000) {
    std::vector<ConfigProblem> problems;
    ConfigReader reader("m: " + std::string(text) + "\n", problems);
    uint32_t ppm = 7;
    reader.read_ppm("m", ppm, high_ppm);
    EXPECT_EQ(problems.empty(), ppm != 7) << text;
    return ppm;
  };
  EXPECT_EQ(read("0"), 0U);
  EXPECT_EQ(read("0.15"), 150'000U);
  EXPECT_EQ(read("0.000001"), 1U);
  EXPECT_EQ(read("0.90"), 900'000U);
  for (const char* wrong :
       {"0.900001", "1", "-0.1", "0.0000001", "0.1234567", "15%", "\"0.1\"", ""}) {
    EXPECT_EQ(read(wrong), 7U) << wrong;
  }
}

TEST(ConfigUnits, ReadBackWhatTheyWrite) {
  for (const base::Duration value :
       {base::Duration(1ns), base::Duration(1500us), base::Duration(90s), base::Duration(2h)}) {
    EXPECT_EQ(parse_duration(duration_text(value)), value);
  }
  EXPECT_EQ(duration_text(1500ms), "1500ms");
  EXPECT_EQ(parse_duration("5"), std::nullopt);
  EXPECT_EQ(parse_duration("-5s"), std::nullopt);
  EXPECT_EQ(parse_duration("99999999999h"), std::nullopt);
  EXPECT_EQ(parse_bytes(bytes_text(3 << 20)), uint64_t{3} << 20);
  EXPECT_EQ(parse_bytes("1.5KiB"), std::nullopt);
  EXPECT_EQ(parse_bytes("7"), std::nullopt);
  EXPECT_EQ(parse_cpm("-1"), std::nullopt);
}

}  // namespace
}  // namespace spillway::app
