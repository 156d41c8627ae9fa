#include "capacity/sample_text.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "capacity/sample.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {
namespace {

using std::chrono::seconds;

constexpr base::Instant kReference{std::chrono::hours(7)};

Sample full_sample() {
  return {.id = "i-0a1",
          .zone = "eu-west-1a",
          .server_class = "c5.4xlarge/16",
          .capacity = 1234.5678901234567,
          .utilization = 0.1 + 0.2,
          .successes_per_second = 1.0 / 3,
          .requests_per_second = 1e-300,
          .weight = 99.999999999999986,
          .state = ServerState::kFrozen,
          .sequence = std::numeric_limits<uint64_t>::max(),
          .taken_at = kReference - base::Duration(1234567891),
          .failures_per_second = 5,
          .throttled_share = 0.25,
          .pressure = 0.125,
          .p95_ms = 17.3,
          .cores = 16,
          .window = base::Duration(2000000001),
          .serving_for = std::chrono::hours(3),
          .started_at_ms = 1785000000123,
          .sensor_alive = false,
          .counts_successes = false};
}

std::string text_of(const Sample& sample) {
  std::string text;
  append_text(text, sample, kReference);
  return text;
}

/// Compared as text, which holds every field, and by the doubles' own equality.
void expect_same(const Sample& a, const Sample& b) {
  EXPECT_EQ(text_of(a), text_of(b));
  EXPECT_EQ(a.capacity, b.capacity);
  EXPECT_EQ(a.utilization, b.utilization);
  EXPECT_EQ(a.successes_per_second, b.successes_per_second);
  EXPECT_EQ(a.requests_per_second, b.requests_per_second);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.taken_at, b.taken_at);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.id, b.id);
}

TEST(SampleText, IsOneLineOfNamedValues) {
  Sample sample;
  sample.id = "i-1";
  sample.zone = "a";
  sample.server_class = "c5";
  sample.capacity = 800;
  sample.utilization = 0.5;
  sample.taken_at = kReference - seconds(1);
  EXPECT_EQ(text_of(sample),
            R"({"version":1,"id":"i-1","zone":"a","class":"c5","capacity":800,"utilization":0.5,)"
            R"("successes_per_second":0,"requests_per_second":0,"weight":0,"state":"serving",)"
            R"("sequence":0,"at_ns":-1000000000,"failures_per_second":0,"throttled_share":0,)"
            R"("pressure":0,"p95_ms":0,"cores":0,"window_ns":0,"serving_for_ns":0,)"
            R"("started_at_ms":0,"sensor_alive":true,"counts_successes":true})");
}

TEST(SampleText, ReadsWhatItWroteToTheLastBit) {
  const auto read = parse_text(text_of(full_sample()), kReference);
  ASSERT_TRUE(read) << to_string(read.error());
  expect_same(*read, full_sample());
}

TEST(SampleText, TimesAreToldFromTheReferenceOfEachSide) {
  const base::Instant elsewhere{std::chrono::hours(99)};
  const auto read = parse_text(text_of(full_sample()), elsewhere);
  ASSERT_TRUE(read);
  EXPECT_EQ(elsewhere - read->taken_at, kReference - full_sample().taken_at);
}

TEST(SampleText, NamesOfAnyBytesSurvive) {
  for (const std::string_view id :
       {std::string_view("a\"b\\c"), std::string_view("\0\x01\x1f\n", 4),
        std::string_view("zürich-\xff")}) {
    Sample sample = full_sample();
    sample.id = id;
    const auto read = parse_text(text_of(sample), kReference);
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->id, id);
  }
}

TEST(SampleText, TheLongestNamesFitALine) {
  Sample sample = full_sample();
  sample.id = sample.zone = sample.server_class = std::string(kLongestName, '\x01');
  const auto text = text_of(sample);
  EXPECT_LE(text.size(), kLongestLine);
  EXPECT_TRUE(parse_text(text, kReference));
}

TEST(SampleText, BlanksOrderAndUnknownKeysDoNotMatter) {
  auto text = text_of(full_sample());
  text.insert(1, R"( "later" : "\u0041\n" , "more":null,)");
  text.insert(text.size() - 1, R"(, "x":1e5 )");
  const auto read = parse_text(" " + text + "\r\n", kReference);
  ASSERT_TRUE(read) << to_string(read.error());
  expect_same(*read, full_sample());
}

struct Bad {
  std::string_view name;
  std::string_view from;
  std::string_view to;
  TextErrc errc;
  std::string_view key;
};

class BadText : public ::testing::TestWithParam<Bad> {};

TEST_P(BadText, IsRefusedWithItsReasonAndKey) {
  const Bad& bad = GetParam();
  auto text = text_of(full_sample());
  const auto at = text.find(bad.from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, bad.from.size(), bad.to);
  const auto read = parse_text(text, kReference);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().errc, bad.errc) << to_string(read.error());
  EXPECT_EQ(read.error().key, bad.key);
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadText,
    ::testing::Values(
        Bad{"Version", R"("version":1)", R"("version":2)", TextErrc::kWrongVersion, "version"},
        Bad{"NoVersion", R"("version":1,)", "", TextErrc::kMissing, "version"},
        Bad{"NoId", R"("id":"i-0a1",)", "", TextErrc::kMissing, "id"},
        Bad{"Twice", R"("weight")", R"("id":"x","weight")", TextErrc::kTwice, "id"},
        Bad{"Nested", R"("i-0a1")", R"({"a":1})", TextErrc::kNotFlat, "id"},
        Bad{"Array", R"("i-0a1")", "[1]", TextErrc::kNotFlat, "id"},
        Bad{"NumberForName", R"("i-0a1")", "12", TextErrc::kBadValue, "id"},
        Bad{"NameForNumber", R"("cores":16)", R"("cores":"16")", TextErrc::kBadNumber, "cores"},
        Bad{"Nan", R"("cores":16)", R"("cores":nan)", TextErrc::kBadNumber, "cores"},
        Bad{"Huge", R"("cores":16)", R"("cores":1e999)", TextErrc::kBadNumber, "cores"},
        Bad{"Hex", R"("cores":16)", R"("cores":0x10)", TextErrc::kBadNumber, "cores"},
        Bad{"NoValue", R"("cores":16)", R"("cores":)", TextErrc::kBadValue, "cores"},
        Bad{"NegativeSequence", R"("sequence":)", R"("sequence":-)", TextErrc::kBadNumber,
            "sequence"},
        Bad{"FractionOfATime", R"("window_ns":2000000001)", R"("window_ns":1.5)",
            TextErrc::kBadNumber, "window_ns"},
        Bad{"FarTime", R"("window_ns":2000000001)", R"("window_ns":4000000000000000001)",
            TextErrc::kBadNumber, "window_ns"},
        Bad{"State", R"("frozen")", R"("asleep")", TextErrc::kBadValue, "state"},
        Bad{"Truth", R"("sensor_alive":false)", R"("sensor_alive":0)", TextErrc::kBadValue,
            "sensor_alive"},
        Bad{"Escape", R"("i-0a1")", R"("\x41")", TextErrc::kBadString, "id"},
        Bad{"WideEscape", R"("i-0a1")", R"("\u20ac")", TextErrc::kBadString, "id"},
        Bad{"TooFull", R"("pressure":0.125)", R"("pressure":1.5)", TextErrc::kImplausible, ""},
        Bad{"Trailing", R"("counts_successes":false})", R"("counts_successes":false}x)",
            TextErrc::kNotAnObject, ""}),
    [](const auto& of) { return std::string(of.param.name); });

TEST(SampleText, EveryPrefixIsRefused) {
  const auto text = text_of(full_sample());
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_text(text.substr(0, length), kReference)) << length;
  }
}

TEST(SampleText, ALineTooLongIsRefusedUnread) {
  const std::string text(kLongestLine + 1, '{');
  EXPECT_EQ(parse_text(text, kReference).error().errc, TextErrc::kTooLong);
}

TEST(SampleText, TooManyKeysAreRefused) {
  std::string text = "{";
  for (size_t i = 0; i <= kMostKeys; ++i) {
    text += "\"k" + std::to_string(i) + "\":0,";
  }
  EXPECT_EQ(parse_text(text + "\"z\":0}", kReference).error().errc, TextErrc::kTooManyKeys);
}

TEST(SampleText, AProblemTellsItsPlace) {
  const auto read = parse_text(R"({"id":7})", kReference);
  EXPECT_EQ(to_string(read.error()), "bad_value at key id, byte 7");
}

TEST(SampleText, AnyDamageIsReadOrRefusedAndWhatIsReadIsPlausible) {
  base::Rng rng(1);
  const auto text = text_of(full_sample());
  for (int i = 0; i < 20'000; ++i) {
    auto damaged = text;
    for (int times = 0; times < 3; ++times) {
      damaged[rng.below(damaged.size())] = static_cast<char>(rng.below(256));
    }
    const auto read = parse_text(damaged, kReference);
    if (read) {
      EXPECT_TRUE(plausible(*read));
    }
  }
}

}  // namespace
}  // namespace spillway::capacity
