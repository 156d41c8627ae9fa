// What the stores cost: off the request path, but for a location.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>

#include <arpa/inet.h>
#include <benchmark/benchmark.h>

#include "adapters/catalog_source.h"
#include "adapters/geo_file.h"
#include "adapters/geo_fixture.h"
#include "adapters/postgres_fixture.h"
#include "adapters/time_zones.h"
#include "bidder/generate/catalogs.h"
#include "bidder/model.h"

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

/// Of the catalogs that are read: enough for a run beside the tests, or as many as the environment
/// says.
int64_t campaigns() {
  const char* const said = std::getenv("SPILLWAY_BENCH_CAMPAIGNS");
  return said == nullptr ? 25'000 : std::max(1L, std::strtol(said, nullptr, 10));
}

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

/// Rows of every kind.
size_t count(const bidder::CatalogRows& rows) {
  return rows.advertisers.size() + rows.campaigns.size() + rows.line_items.size() +
         rows.creatives.size();
}

bool filled(CatalogStore& store, const bidder::CatalogRows& rows) {
  return store.migrate() && store.replace(rows, kNow, {});
}

void load_sqlite(benchmark::State& state) {
  const ScratchFile file("spillway_bench.db");
  const auto store = *open_catalog("sqlite:" + file.path());
  const auto rows =
      bidder::generate::honest_catalog({.campaigns = static_cast<uint32_t>(state.range(0))});
  if (!filled(*store, rows)) {
    state.SkipWithError("not written");
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(store->load());
  }
  state.counters["rows"] = static_cast<double>(count(rows));
}

// Beside the same rows of a SQLite file, read in turn with them: `over_sqlite` is the ratio of the
// two.
void load_postgres(benchmark::State& state) {
  testing::PostgresServer& server = testing::PostgresServer::shared();
  if (!server.error().empty() || !server.run_sql("postgres", "CREATE DATABASE bench")) {
    state.SkipWithError(server.error().empty() ? "no database" : server.error().c_str());
    return;
  }
  const ScratchFile file("spillway_bench_beside.db");
  const auto store = *open_catalog(server.address("bench"));
  const auto beside = *open_catalog("sqlite:" + file.path());
  const auto rows =
      bidder::generate::honest_catalog({.campaigns = static_cast<uint32_t>(state.range(0))});
  if (!filled(*store, rows) || !filled(*beside, rows)) {
    state.SkipWithError("not written");
    return;
  }
  using Clock = std::chrono::steady_clock;
  Clock::duration ours{};
  Clock::duration theirs{};
  for (auto _ : state) {
    const auto begin = Clock::now();
    benchmark::DoNotOptimize(store->load());
    ours += Clock::now() - begin;
    state.PauseTiming();
    const auto again = Clock::now();
    benchmark::DoNotOptimize(beside->load());
    theirs += Clock::now() - again;
    state.ResumeTiming();
  }
  (void)server.run_sql("postgres", "DROP DATABASE bench");
  state.counters["rows"] = static_cast<double>(count(rows));
  state.counters["over_sqlite"] =
      static_cast<double>(ours.count()) / static_cast<double>(std::max<int64_t>(1, theirs.count()));
}

void make_time_zone(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(time_zone("America/New_York", kNow));
  }
}

BENCHMARK(parse_address);
BENCHMARK(find_place);
BENCHMARK(load_sqlite)->Arg(campaigns())->Unit(benchmark::kMillisecond);
BENCHMARK(load_postgres)->Arg(campaigns())->Unit(benchmark::kMillisecond);
BENCHMARK(make_time_zone);

}  // namespace
}  // namespace spillway::adapters
