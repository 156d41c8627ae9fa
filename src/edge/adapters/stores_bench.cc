// What the stores cost: off the request path, but for a location.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>

#include <arpa/inet.h>
#include <benchmark/benchmark.h>

#include "adapters/catalog_source.h"
#include "adapters/geo_file.h"
#include "adapters/geo_fixture.h"
#include "adapters/time_zones.h"
#include "bidder/generate/catalogs.h"

namespace spillway::adapters {
namespace {

constexpr int64_t kNow = 1'800'000'000;

/// A file that goes with the bench, and what SQLite puts beside it.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() / name).string()) {}

  ~ScratchFile() {
    for (const char* behind : {"", "-wal", "-shm"}) {
      std::remove((path_ + behind).c_str());
    }
  }

  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The baseline: reading an address is what a lookup costs whatever the file.
void parse_address(benchmark::State& state) {
  in_addr out{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(::inet_pton(AF_INET, "198.51.100.77", &out));
  }
}

void find_place(benchmark::State& state) {
  using testing::GeoValue;
  const ScratchFile file("spillway_bench.mmdb");
  testing::GeoFileWriter writer;
  const std::string record = GeoValue::map(
      {{"country", GeoValue::map({{"iso_code", GeoValue::text("US")}})},
       {"location", GeoValue::map({{"latitude", GeoValue::real(42.36)},
                                   {"longitude", GeoValue::real(-71.06)},
                                   {"metro_code", GeoValue::u16(506)}})},
       {"postal", GeoValue::map({{"code", GeoValue::text("02108")}})},
       {"subdivisions", GeoValue::array({GeoValue::map({{"iso_code", GeoValue::text("MA")}})})}});
  for (int i = 0; i < 256; ++i) {
    writer.add("198.51." + std::to_string(i) + ".0/24", record);
  }
  std::ofstream(file.path(), std::ios::binary) << writer.bytes();
  const auto geo = GeoFile::open(file.path());
  if (!geo) {
    state.SkipWithError(geo.error().c_str());
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(geo->find("198.51.100.77"));
  }
}

void load_sqlite(benchmark::State& state) {
  const ScratchFile file("spillway_bench.db");
  const auto store = *open_catalog("sqlite:" + file.path());
  const auto rows =
      bidder::generate::honest_catalog({.campaigns = static_cast<uint32_t>(state.range(0))});
  if (!store->migrate() || !store->replace(rows, kNow, {})) {
    state.SkipWithError("not written");
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(store->load());
  }
  state.counters["per_campaign"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void make_time_zone(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(time_zone("America/New_York", kNow));
  }
}

BENCHMARK(parse_address);
BENCHMARK(find_place);
BENCHMARK(load_sqlite)->Arg(1'000)->Unit(benchmark::kMillisecond);
BENCHMARK(make_time_zone);

}  // namespace
}  // namespace spillway::adapters
