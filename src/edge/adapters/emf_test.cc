#include "adapters/emf.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace spillway::adapters {
namespace {

TEST(EmbeddedMetricFormat, IsOneLineThatDeclaresWhatItHolds) {
  const auto line = emf_line({.name_space = "Spillway",
                              .service = "bids",
                              .zone = "a",
                              .instance = "i-1",
                              .wall_ms = 1'800'000'000'000,
                              .metrics = {{.name = "Utilization", .unit = "Percent", .value = 62.5},
                                          {.name = "Weight", .unit = "None", .value = 120}}});
  EXPECT_EQ(
      line,
      R"({"_aws":{"Timestamp":1800000000000,"CloudWatchMetrics":[{"Namespace":"Spillway",)"
      R"("Dimensions":[["Service","Zone"],["Service","Zone","Instance"]],)"
      R"("Metrics":[{"Name":"Utilization","Unit":"Percent"},{"Name":"Weight","Unit":"None"}]}]},)"
      R"("Service":"bids","Zone":"a","Instance":"i-1","Utilization":62.5,"Weight":120})");
}

TEST(EmbeddedMetricFormat, LeavesOutWhatIsNoNumberAndEscapesNames) {
  const auto line = emf_line(
      {.name_space = "S\"x",
       .service = "s",
       .zone = "z\n",
       .instance = "i",
       .wall_ms = 1,
       .metrics = {
           {.name = "A", .unit = "None", .value = std::numeric_limits<double>::infinity()}}});
  EXPECT_NE(line.find(R"("Namespace":"S\"x")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("Zone":"z\n")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("Metrics":[])"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace spillway::adapters
