#include "app/config/currency_config.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/exchange_config.h"
#include "app/config/reader.h"
#include "base/decimal.h"
#include "base/money.h"
#include "exchange/clearing/rates.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

constexpr base::Currency kUsd{};
constexpr base::Currency kEur{{'E', 'U', 'R'}};
constexpr std::string_view kRates =
    R"({"base":"EUR","as_of":"2026-11-30T14:00:00Z","rates":{"USD":1.25,"JPY":163.2}})";
constexpr int64_t kAsOfMs = 1'796'047'200'000;

/// A file that is gone with the test.
struct TempFile {
  std::string path =
      testing::TempDir() + "rates_" + testing::UnitTest::GetInstance()->current_test_info()->name();

  explicit TempFile(std::string_view text) { write(text); }

  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  ~TempFile() { std::filesystem::remove(path); }

  void write(std::string_view text) const { std::ofstream(path, std::ios::binary) << text; }

  [[nodiscard]] std::string config(std::string_view more = "") const {
    return "currency: { file: \"" + path + "\"" + std::string(more) +
           " }\ndsps: [{ name: a, endpoint: \"http://127.0.0.1:1/\" }]\n";
  }
};

std::string problems_of(const std::string& text) {
  std::vector<ConfigProblem> problems;
  (void)read_exchange_config(text, problems);
  std::string out;
  for (const auto& problem : problems) {
    out += to_string(problem, "c") + "\n";
  }
  return out;
}

std::string problems_of_rates(std::string_view text) {
  std::vector<ConfigProblem> problems;
  (void)read_rates(text, 1h, problems);
  std::string out;
  for (const auto& problem : problems) {
    out += problem.key + " " + problem.what + "\n";
  }
  return out;
}

exchange::Snapshot snapshot_of(const std::string& text) {
  std::vector<ConfigProblem> problems;
  auto config = read_exchange_config(text, problems);
  EXPECT_TRUE(problems.empty()) << to_string(problems.front(), "c");
  return config.snapshot;
}

int64_t dollars_of_one_euro(const exchange::Snapshot& snapshot) {
  const auto out = snapshot.rates.convert({1'000'000}, kEur, kUsd, base::Rounding::kDown);
  return out ? out->micros : -1;
}

TEST(CurrencyConfig, ReadsTheFileAndItsOwnTime) {
  const TempFile file(kRates);
  const auto snapshot = snapshot_of(file.config(", stale_after: 1h"));
  EXPECT_EQ(dollars_of_one_euro(snapshot), 1'250'000);
  EXPECT_TRUE(snapshot.rates.fresh(kAsOfMs + 3'600'000));
  EXPECT_FALSE(snapshot.rates.fresh(kAsOfMs + 3'600'001));
}

TEST(CurrencyConfig, WithoutAFileThereAreNoRatesAndTheTextIsAsItWas) {
  const std::string text = "dsps: [{ name: a, endpoint: \"http://127.0.0.1:1/\" }]\n";
  const auto snapshot = snapshot_of(text);
  EXPECT_TRUE(snapshot.rates.empty());
  EXPECT_EQ(snapshot.text, text);
}

TEST(CurrencyConfig, TheTextForTheAuctionLogCarriesTheRates) {
  const TempFile file(kRates);
  const auto first = snapshot_of(file.config());
  file.write(R"({"base":"EUR","as_of":"2026-12-01","rates":{"USD":2}})");
  const auto replayed = snapshot_of(first.text);
  EXPECT_EQ(dollars_of_one_euro(replayed), 1'250'000) << "the log's, not the file's";
  EXPECT_EQ(replayed.hash, first.hash);
  EXPECT_EQ(replayed.text, first.text);
  const auto reloaded = snapshot_of(file.config());
  EXPECT_EQ(dollars_of_one_euro(reloaded), 2'000'000);
  EXPECT_NE(reloaded.hash, first.hash) << "other rates are another snapshot";
  std::filesystem::remove(file.path);
  EXPECT_EQ(problems_of(first.text), "") << "a replay needs no file";
}

TEST(CurrencyConfig, AMistakeInTheFileIsToldWithItsPlace) {
  const TempFile file("base: EUR\nas_of: 2026-11-30\nrates: { USD: 1.1, XXZ: 2 }\n");
  const std::string problems = problems_of(file.config());
  EXPECT_NE(problems.find(file.path + ":3: rates.XXZ"), std::string::npos) << problems;
  EXPECT_NE(problems_of("currency: { file: /nowhere/rates }\nhouse_ads: []\n").find("cannot be"),
            std::string::npos);
  file.write("");
  EXPECT_NE(problems_of(file.config()).find("is empty"), std::string::npos);
}

TEST(CurrencyConfig, EveryPartOfTheFileIsChecked) {
  EXPECT_EQ(problems_of_rates(kRates), "");
  EXPECT_NE(problems_of_rates(R"({"as_of":"2026-11-30","rates":{}})").find("base must be"),
            std::string::npos);
  for (const char* as_of : {"", "2026-11-31", "2026-11-30T24:00:00Z", "2026-11-30 14:00", "today",
                            "2026-11-30T14:00:00+0"}) {
    EXPECT_NE(problems_of_rates("base: EUR\nrates: {}\nas_of: \"" + std::string(as_of) + "\"\n")
                  .find("as_of must be"),
              std::string::npos)
        << as_of;
  }
  for (const char* rate : {"0", "-1", "1e3", "x", "0.0000000001", "99999999999999999999"}) {
    EXPECT_NE(problems_of_rates("base: EUR\nas_of: 2026-11-30\nrates: { USD: " + std::string(rate) +
                                " }\n")
                  .find("rates.USD must be"),
              std::string::npos)
        << rate;
  }
  EXPECT_NE(problems_of_rates("base: EUR\nas_of: 2026-11-30\nrates: { EUR: 1 }\n").find("the base"),
            std::string::npos);
}

TEST(CurrencyConfig, AnAdjustmentIsAShareAboveNothing) {
  const auto with = [](const char* value) {
    return "dsps: [{ name: a, endpoint: \"http://127.0.0.1:1/\", bid_adjustment: " +
           std::string(value) + " }]\n";
  };
  EXPECT_EQ(snapshot_of(with("0.85")).dsps[0].adjustment_ppm, 850'000U);
  for (const char* wrong : {"0", "1.1", "-1", "0.1234567"}) {
    EXPECT_NE(problems_of(with(wrong)).find("bid_adjustment"), std::string::npos) << wrong;
  }
}

}  // namespace
}  // namespace spillway::app
