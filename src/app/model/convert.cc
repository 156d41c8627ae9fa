#include "app/model/convert.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "app/model/oracle.h"
#include "base/result.h"
#include "base/rng.h"
#include "bidder/scoring/document.h"
#include "bidder/scoring/model_file.h"
#include "openrtb/document.h"

namespace spillway::app {
namespace {

using Thresholds = std::vector<std::vector<float>>;

// The thresholds of each column. Requires a document that read_model_file() took.
Thresholds thresholds_of(const bidder::DocValue& document, size_t columns) {
  Thresholds out(columns);
  const bidder::DocValue* at = &document;
  for (const char* name : {"learner", "gradient_booster", "model", "trees"}) {
    at = at->find(name);
    if (at == nullptr) {
      return out;
    }
  }
  for (const bidder::DocValue& tree : at->items) {
    const auto& left = tree.find("left_children")->numbers;
    const auto& by = tree.find("split_indices")->numbers;
    const auto& values = tree.find("split_conditions")->numbers;
    for (size_t node = 0; node < left.size(); ++node) {
      if (left[node] >= 0 && by[node] < static_cast<double>(columns)) {
        out[static_cast<size_t>(by[node])].push_back(static_cast<float>(values[node]));
      }
    }
  }
  return out;
}

// On a threshold, just below it, near it, or missing: where evaluators come to differ.
float draw(const std::vector<float>& thresholds, base::Rng& rng) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const uint64_t what = rng.below(8);
  if (what == 0) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (thresholds.empty()) {
    return static_cast<float>(rng.uniform(-1, 1));
  }
  const float threshold = thresholds[rng.below(thresholds.size())];
  if (what == 1) {
    return threshold;
  }
  if (what == 2) {
    return std::nextafter(threshold, -kInfinity);
  }
  const double width = std::max(1.0, std::abs(static_cast<double>(threshold)));
  return threshold + static_cast<float>(width * rng.normal() / 2);
}

std::string number_text(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string strings_text(const std::vector<std::string>& strings) {
  std::string out = "[";
  for (const std::string& text : strings) {
    out += out.size() == 1 ? "" : ",";
    openrtb::append_json_string(out, text);
  }
  return out + "]";
}

std::string rows_text(const std::vector<float>& rows, size_t columns) {
  std::string out = "[";
  for (size_t i = 0; i < rows.size(); ++i) {
    out += i == 0 ? "[" : i % columns == 0 ? "],\n[" : ",";
    // As a float, in as few digits as bring it back.
    out += std::isfinite(rows[i]) ? fmt::format("{}", rows[i]) : "null";
  }
  return out + "]]";
}

}  // namespace

base::Result<std::string, std::string> convert_model(std::string_view xgboost,
                                                     const ConvertOptions& options) {
  const auto document = bidder::read_document(xgboost);
  const auto read = bidder::read_model_file(xgboost);
  if (!document || !read) {
    return std::unexpected(read ? document.error().what : read.error().what);
  }
  const size_t columns = read->parity.columns;
  const auto& features = options.features.empty() ? read->features : options.features;
  if (columns == 0 || features.size() != columns) {
    return std::unexpected(fmt::format("{} columns, and {} names for them: give --features",
                                       columns, features.size()));
  }
  const auto oracle = Oracle::load(xgboost);
  if (!oracle) {
    return std::unexpected(oracle.error());
  }
  base::Rng rng(options.seed);
  const Thresholds thresholds = thresholds_of(*document, columns);
  std::vector<float> rows(options.rows * columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = draw(thresholds[i % columns], rng);
  }
  const auto expected = oracle->predict(rows, columns);
  const auto json = oracle->json();
  if (!expected || !json) {
    return std::unexpected(expected ? json.error() : expected.error());
  }
  std::string name;
  openrtb::append_json_string(name, options.name);
  std::string file = fmt::format(
      "{{\"format\":\"spillway-model-1\",\"name\":{},\"kind\":\"xgboost\",\n\"features\":{},\n"
      "\"parity\":{{\"tolerance\":{},\n\"rows\":{},\n\"expected\":[",
      name, strings_text(features), options.tolerance, rows_text(rows, columns));
  for (size_t i = 0; i < expected->size(); ++i) {
    file += (i == 0 ? "" : ",") + number_text((*expected)[i]);
  }
  file += "]},\n\"model\":" + *json + "}\n";
  if (const auto loaded = bidder::load_model(file); !loaded) {
    return std::unexpected(loaded.error().what);
  }
  return file;
}

}  // namespace spillway::app
