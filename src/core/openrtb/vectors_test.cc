#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

// Reads the shared test data (SPILLWAY_VECTORS), which is not part of this repository: expect.tsv
// decides. Without it these tests say so and are skipped.

namespace spillway::openrtb {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::vector<std::vector<std::string>> table(const fs::path& path) {
  std::istringstream lines(contents(path));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#') || line.starts_with("file\t")) {
      continue;
    }
    std::istringstream cells(line);
    std::vector<std::string>& row = rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '\t');) {
      row.push_back(cell);
    }
  }
  return rows;
}

class Vectors : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(root_ / "expect.tsv")) {
      std::printf("no shared vectors at %s: skipped\n", root_.c_str());
      GTEST_SKIP() << "no shared test data";
    }
  }

  /// Empty when the request is accepted, else the error as the caller sees it.
  std::string refusal(const std::string& file, const RequestPolicy& policy = {}) {
    const Padded text(contents(root_ / file));
    if (const auto walked = document_.walk(text.view()); !walked) {
      return error_json(field_error(document_, walked.error()));
    }
    const auto read = read_request(document_, policy, view_);
    return read ? "" : error_json(read.error());
  }

  const fs::path root_ = SPILLWAY_VECTORS;
  Document document_;
  RequestView view_;
};

TEST_F(Vectors, requests_are_accepted_or_refused_as_expected) {
  int refused = 0;
  int accepted = 0;
  for (const auto& row : table(root_ / "expect.tsv")) {
    const std::string& file = row.at(0);
    const bool request = file.starts_with("valid/") || file.starts_with("invalid/") ||
                         file.starts_with("hostile/req/");
    if (!request || file.ends_with(".gz")) {
      continue;
    }
    const std::string statuses = row.at(1).substr(0, row.at(1).find(' '));
    const std::string problem = refusal(file);
    const bool any = statuses == "any";
    if (problem.empty()) {
      EXPECT_TRUE(any || statuses.contains("200")) << file << " was accepted";
      ++accepted;
    } else {
      EXPECT_TRUE(any || statuses.contains("400")) << file << ": " << problem;
      const Padded text(problem);
      Document d;
      EXPECT_TRUE(d.walk(text.view())) << problem;
      ++refused;
    }
  }
  EXPECT_GT(accepted, 80);
  EXPECT_GT(refused, 40);
}

TEST_F(Vectors, switches_refuse_the_policy_and_native_classes) {
  RequestPolicy policy;
  policy.require_inventory = true;
  policy.require_site_id_or_page = true;
  policy.require_banner_size = true;
  policy.refuse_banner_2_4_sizes = true;
  policy.check_native = true;
  policy.refuse_metric = true;
  int rows = 0;
  for (const auto& row : table(root_ / "index.tsv")) {
    const std::string& file = row.at(0);
    if (file.starts_with("invalid/") && (row.at(3) == "policy" || row.at(3) == "native-spec")) {
      EXPECT_NE(refusal(file, policy), "") << file;
      ++rows;
    } else if (file.starts_with("valid/")) {
      EXPECT_EQ(refusal(file, policy), "") << file;
    }
  }
  EXPECT_GE(rows, 30);
}

TEST_F(Vectors, examples_of_the_specification_pass_byte_for_byte_through_no_edits) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(root_ / "iab")) {
    const Padded text(contents(entry.path()));
    const auto walked = document_.walk(text.view());
    ASSERT_TRUE(walked) << entry.path() << " " << to_string(walked.error());
    EditList edits(document_);
    EXPECT_EQ(edits.bytes(), text.view());
    ++files;
  }
  EXPECT_GT(files, 10);
}

}  // namespace
}  // namespace spillway::openrtb
