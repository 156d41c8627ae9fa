#include "app/dsp/fault_table.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/reader.h"
#include "app/dsp/farm_config.h"
#include "workload/fault.h"

namespace spillway::app {
namespace {

std::vector<FaultRow> documented() {
  std::ifstream file(SPILLWAY_SOURCE_DIR "/docs/load_and_farm.md");
  return parse_fault_table(std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST(FaultTable, EveryDocumentedCallIsOneThatTheFarmTakes) {
  const auto rows = documented();
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) {
    std::vector<ConfigProblem> problems;
    (void)read_fault_call(row.call, problems);
    for (const auto& problem : problems) {
      ADD_FAILURE() << row.call << ": " << to_string(problem, "body");
    }
  }
}

TEST(FaultTable, EveryKindOfFaultIsDocumented) {
  const auto rows = documented();
  for (size_t i = 0; i < workload::kFaultKinds; ++i) {
    const auto kind = static_cast<workload::FaultKind>(i);
    EXPECT_TRUE(std::ranges::any_of(rows, [&](const FaultRow& row) {
      std::vector<ConfigProblem> problems;
      return read_fault_call(row.call, problems).fault.kind == kind;
    })) << to_string(kind);
  }
}

TEST(FaultTable, ARowWithAnUnknownReactionIsNoTable) {
  EXPECT_TRUE(parse_fault_table("<!-- fault table -->\n|a|b|c|d|\n|-|-|-|-|\n|x|`{}`|explodes|ok|\n"
                                "<!-- end of fault table -->")
                  .empty());
}

}  // namespace
}  // namespace spillway::app
