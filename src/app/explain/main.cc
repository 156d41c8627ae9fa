#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/replay/log_file.h"
#include "exchange/record.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"

namespace spillway::app {
namespace {

constexpr int kNotFound = 1;

// The id of a recorded request, whatever else is wrong with it.
std::string request_id(const exchange::Record& record, openrtb::Document& document) {
  std::string padded = record.request;
  padded.append(openrtb::Document::kPadding, '\0');
  if (!document.walk(std::string_view(padded).substr(0, record.request.size()))) {
    return {};
  }
  return document.string(document.find(document.root(), "id"));
}

int run(int argc, char** argv) {
  CLI::App app(
      "Says why each DSP of a recorded auction was asked or not, and each bid won or lost.",
      "spillway explain");
  app.footer(
      "examples:\n"
      "  spillway explain auctions.log 80ce30c53c16e6ede735f123ef6e32361bfc7b22\n"
      "  spillway explain auctions.log req-1 --json\n"
      "exit: 0 found, 1 not in the log, 2 wrong usage.");
  std::string path;
  std::string id;
  bool json = false;
  app.add_option("log", path, "Auction log, as recorder.path names it")->required();
  app.add_option("id", id, "Id of the bid request")->required();
  app.add_flag("--json", json, "Print JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  const auto log = read_log(path);
  if (!log) {
    return complain(log.error(), json, kNotFound);
  }
  uint64_t found = 0;
  openrtb::Document document;
  const auto damage = for_each_auction(*log, [&](const exchange::Snapshot& snapshot,
                                                 const exchange::Record& record) {
    if (request_id(record, document) != id) {
      return true;
    }
    const auto text = exchange::explain(snapshot, record, json);
    fmt::print("{}{}{}", json || found == 0 ? "" : "\n", text, text.ends_with('\n') ? "" : "\n");
    ++found;
    return true;
  });
  if (found == 0) {
    return complain(fmt::format("no auction with the id \"{}\" in {}{}", id, path,
                                damage.any() ? "; " + damage.first : std::string()),
                    json, kNotFound);
  }
  return 0;
}

}  // namespace
}  // namespace spillway::app

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::run, argc, argv);
}
