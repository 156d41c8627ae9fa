#include "base/decimal.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace spillway::base {
namespace {

int64_t down(const char* text) { return parse_micros(text, Rounding::kDown).value_or(-77); }

int64_t up(const char* text) { return parse_micros(text, Rounding::kUp).value_or(-77); }

std::string written(int64_t micros) {
  std::string out;
  append_micros(out, micros);
  return out;
}

TEST(Decimal, ReadsEverySpellingOfANumberExactly) {
  EXPECT_EQ(down("1.25"), 1'250'000);
  EXPECT_EQ(down("0"), 0);
  EXPECT_EQ(down("-0.5"), -500'000);
  EXPECT_EQ(down("125e-2"), 1'250'000);
  EXPECT_EQ(down("0.00125E+3"), 1'250'000);
  EXPECT_EQ(down("9223372036854.775807"), INT64_MAX);
}

TEST(Decimal, TheUsualSpellingMeansWhatTheLongOneDoes) {
  for (const char* text : {"0", "0.0", "1", "1.0", "0.25", "12.345678", "12.3456789", "00", "01.5",
                           "1.", ".5", "999999999.999999", "1000000000", "999999999.9999999",
                           "1.2.3", "1.-2", "", "1x", "-0.25"}) {
    const auto plain = parse_micros(text, Rounding::kDown);
    const auto longer = parse_micros(std::string(text) + "e0", Rounding::kDown);
    EXPECT_EQ(plain.has_value(), longer.has_value()) << text;
    EXPECT_EQ(plain.value_or(-1), longer.value_or(-1)) << text;
  }
}

TEST(Decimal, RoundsPricesDownAndFloorsUpSoThatRoundingNeverPassesAFloor) {
  EXPECT_EQ(down("0.4999999"), 499'999);
  EXPECT_EQ(up("0.4999991"), 500'000);
  EXPECT_EQ(up("0.5000000"), 500'000);
  EXPECT_EQ(down("1e-9"), 0);
  EXPECT_EQ(up("1e-9"), 1);
  EXPECT_EQ(down("-1e-9"), -1);
}

TEST(Decimal, RefusesWhatDoesNotFitInTimeLinearInTheText) {
  EXPECT_EQ(parse_micros("1e400", Rounding::kDown).error(), DecimalErrc::kOutOfRange);
  EXPECT_EQ(parse_micros("1e99999999999999999999", Rounding::kDown).error(),
            DecimalErrc::kOutOfRange);
  EXPECT_EQ(down("0e99999999999999999999"), 0);
  EXPECT_EQ(down("1e-99999999999999999999"), 0);
  EXPECT_EQ(parse_micros("9223372036854.775808", Rounding::kDown).error(),
            DecimalErrc::kOutOfRange);
}

TEST(Decimal, RefusesWhatIsNoJsonNumber) {
  for (const char* text : {"", "-", "+1", "01", "1.", ".5", "1e", "1e+", "NaN", "1 ", "0x1"}) {
    EXPECT_EQ(parse_micros(text, Rounding::kDown).error(), DecimalErrc::kNotANumber) << text;
  }
}

TEST(Decimal, WritesPlainDecimalsWithoutExponentOrTrailingZeros) {
  EXPECT_EQ(written(1'250'000), "1.25");
  EXPECT_EQ(written(1), "0.000001");
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(-3'500'000), "-3.5");
  EXPECT_EQ(written(INT64_MIN), "-9223372036854.775808");
}

}  // namespace
}  // namespace spillway::base
