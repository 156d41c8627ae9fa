#include "adapters/geo_file.h"

#include <filesystem>
#include <fstream>
#include <ios>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkstemp
#include <unistd.h>

#include "adapters/geo_fixture.h"
#include "bidder/facts.h"

namespace spillway::adapters {
namespace {

using testing::GeoFileWriter;
using testing::GeoValue;

class GeoFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "spillway_geo_XXXXXX").string();
    const int fd = ::mkstemp(path.data());
    ASSERT_GE(fd, 0);
    ::close(fd);
    path_ = path;
  }

  void TearDown() override { std::filesystem::remove(path_); }

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  std::string path_;
};

std::string boston() {
  return GeoValue::map(
      {{"country", GeoValue::map({{"iso_code", GeoValue::text("US")}})},
       {"location", GeoValue::map({{"latitude", GeoValue::real(42.36)},
                                   {"longitude", GeoValue::real(-71.06)},
                                   {"metro_code", GeoValue::u16(506)}})},
       {"postal", GeoValue::map({{"code", GeoValue::text("02108")}})},
       {"subdivisions", GeoValue::array({GeoValue::map({{"iso_code", GeoValue::text("MA")}})})}});
}

std::string only_country(const std::string& code) {
  return GeoValue::map({{"country", GeoValue::map({{"iso_code", GeoValue::text(code)}})}});
}

TEST_F(GeoFileTest, AddressesOfBothFamiliesAreFound) {
  GeoFileWriter writer;
  writer.add("192.0.2.0/24", boston());
  writer.add("198.51.100.7/32", only_country("DE"));
  writer.add("2001:db8::/32", only_country("FR"));
  write(writer.bytes());
  const auto file = GeoFile::open(path_);
  ASSERT_TRUE(file) << file.error();
  const bidder::GeoFacts facts = file->find("192.0.2.77");
  EXPECT_EQ(facts.country, "US");
  EXPECT_EQ(facts.region, "MA");
  EXPECT_EQ(facts.metro, "506");
  EXPECT_EQ(facts.zip, "02108");
  EXPECT_TRUE(facts.has_point);
  EXPECT_EQ(facts.lat, 42.36);
  EXPECT_EQ(facts.lon, -71.06);
  EXPECT_EQ(file->find("198.51.100.7").country, "DE");
  EXPECT_EQ(file->find("2001:db8:1::5").country, "FR");
  EXPECT_FALSE(file->find("2001:db8:1::5").has_point);
  EXPECT_EQ(file->find("::ffff:198.51.100.7").country, "DE");
}

TEST_F(GeoFileTest, WhatIsNotThereIsUnknown) {
  GeoFileWriter writer;
  writer.add("192.0.2.0/24", boston());
  write(writer.bytes());
  const auto file = GeoFile::open(path_);
  ASSERT_TRUE(file) << file.error();
  const std::string long_text(100, '1');
  for (const std::string& address :
       {std::string("198.51.100.1"), std::string(), std::string("x"), std::string("192.0.2"),
        std::string("192.0.2.1 "), std::string("::"), long_text, std::string("1\0002", 3)}) {
    EXPECT_TRUE(file->find(address).empty()) << address;
  }
}

TEST_F(GeoFileTest, RecordsOfOtherShapesGiveWhatTheyHave) {
  GeoFileWriter writer;
  writer.add("192.0.2.0/25", GeoValue::text("no map"));
  writer.add("192.0.2.128/25",
             GeoValue::map({{"country", GeoValue::text("US")},
                            {"location", GeoValue::map({{"latitude", GeoValue::real(1)},
                                                        {"metro_code", GeoValue::u16(7)}})},
                            {"subdivisions", GeoValue::array({})}}));
  write(writer.bytes());
  const auto file = GeoFile::open(path_);
  ASSERT_TRUE(file) << file.error();
  EXPECT_TRUE(file->find("192.0.2.1").empty());
  EXPECT_TRUE(file->find("192.0.2.200").empty());
}

TEST_F(GeoFileTest, AFileThatIsNoneIsNamed) {
  const auto missing = GeoFile::open(path_ + ".not");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().starts_with(path_ + ".not: ")) << missing.error();
  write("not at all");
  const auto other = GeoFile::open(path_);
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().starts_with(path_ + ": ")) << other.error();
}

// Cut and flipped bytes: a lookup may find nothing, or nonsense, but stays inside the file.
TEST_F(GeoFileTest, DamagedFilesAreNoDanger) {
  GeoFileWriter writer;
  writer.add("192.0.2.0/24", boston());
  const std::string whole = writer.bytes();
  for (size_t at = 0; at < whole.size(); at += 11) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    write(damaged);
    if (const auto file = GeoFile::open(path_)) {
      (void)file->find("192.0.2.1");
      (void)file->find("2001:db8::1");
    }
    write(whole.substr(0, at));
    if (const auto file = GeoFile::open(path_)) {
      (void)file->find("192.0.2.1");
    }
  }
}

}  // namespace
}  // namespace spillway::adapters
