#include "app/model/report.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <istream>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "app/config/config_file.h"
#include "base/result.h"
#include "bidder/scoring/features.h"
#include "bidder/scoring/model.h"
#include "bidder/scoring/model_file.h"
#include "bidder/scoring/tree_model.h"
#include "openrtb/document.h"

namespace spillway::app {
namespace {

struct Describe {
  ModelReport& out;

  void operator()(const bidder::ConstantModel&) const { out.kind = "constant"; }

  void operator()(const bidder::LinearModel&) const { out.kind = "linear"; }

  void operator()(const bidder::TreeModel& model) const {
    out.kind = "xgboost";
    out.trees = model.trees();
    out.nodes = model.nodes();
  }
};

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  for (size_t from = 0;;) {
    const size_t comma = line.find(',', from);
    fields.push_back(line.substr(from, comma - from));
    if (comma == std::string_view::npos) {
      return fields;
    }
    from = comma + 1;
  }
}

base::Result<std::vector<bidder::Feature>, std::string> header_of(std::string_view line) {
  std::vector<bidder::Feature> out;
  for (const std::string_view name : fields_of(line)) {
    const auto feature = bidder::feature_named(name);
    if (!feature) {
      return std::unexpected(fmt::format("line 1: \"{}\" is no feature", name.substr(0, 64)));
    }
    out.push_back(*feature);
  }
  return out;
}

bool read_number(std::string_view field, float& out) {
  if (field.empty()) {
    out = std::numeric_limits<float>::quiet_NaN();
    return true;
  }
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), out);
  return error == std::errc() && end == field.data() + field.size();
}

}  // namespace

ModelReport report_on(const std::string& path) {
  ModelReport report{.path = path};
  const auto bytes = read_whole_file(path, bidder::kMaxModelBytes);
  if (!bytes) {
    report.reason = "unreadable";
    report.why = bytes.error();
    return report;
  }
  if (const auto file = bidder::read_model_file(*bytes)) {
    report.name = file->name;
    report.columns = file->parity.columns;
    report.parity_rows = file->parity.expected.size();
    std::visit(Describe{report}, file->model.any());
  }
  const auto model = bidder::load_model(*bytes);
  report.serves = model.has_value();
  if (!model) {
    report.reason = to_string(model.error().code);
    report.why = model.error().what;
  }
  return report;
}

std::string text_of(const ModelReport& report) {
  std::string what;
  if (!report.kind.empty()) {
    what = fmt::format("{} {}, {} columns, {} trees, {} nodes, {} parity rows", report.kind,
                       report.name, report.columns, report.trees, report.nodes, report.parity_rows);
  }
  if (report.serves) {
    return fmt::format("{}: serves: {}\n", report.path, what);
  }
  return fmt::format("{}: refused ({}): {}{}\n", report.path, report.reason, report.why,
                     what.empty() ? "" : "; it is " + what);
}

std::string json_of(const ModelReport& report) {
  std::string out = "{";
  const auto add = [&out](std::string_view name, const std::string& value, bool quoted) {
    out += fmt::format("{}\"{}\":", out.size() == 1 ? "" : ",", name);
    if (quoted) {
      openrtb::append_json_string(out, value);
    } else {
      out += value;
    }
  };
  add("path", report.path, true);
  add("serves", report.serves ? "true" : "false", false);
  add("reason", report.reason, true);
  add("why", report.why, true);
  add("name", report.name, true);
  add("kind", report.kind, true);
  add("columns", std::to_string(report.columns), false);
  add("trees", std::to_string(report.trees), false);
  add("nodes", std::to_string(report.nodes), false);
  add("parity_rows", std::to_string(report.parity_rows), false);
  return out + "}\n";
}

base::Result<void, std::string> eval_model(std::string_view bytes, std::istream& rows,
                                           std::ostream& out) {
  const auto model = bidder::load_model(bytes);
  if (!model) {
    return std::unexpected(model.error().what);
  }
  std::string line;
  if (!std::getline(rows, line)) {
    return std::unexpected("line 1: names of features are missing");
  }
  const auto header = header_of(line);
  if (!header) {
    return std::unexpected(header.error());
  }
  for (uint64_t number = 2; std::getline(rows, line); ++number) {
    const auto fields = fields_of(line);
    bidder::FeatureRow row;
    row.fill(std::numeric_limits<float>::quiet_NaN());
    if (fields.size() != header->size()) {
      return std::unexpected(
          fmt::format("line {}: {} fields, {} names", number, fields.size(), header->size()));
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!read_number(fields[i], at(row, (*header)[i]))) {
        return std::unexpected(
            fmt::format("line {}: \"{}\" is no number", number, fields[i].substr(0, 64)));
      }
    }
    const float* const pointer = row.data();
    float answer = 0;
    model->predict({&pointer, 1}, {&answer, 1});
    out << fmt::format("{}\n", answer);
  }
  return {};
}

}  // namespace spillway::app
