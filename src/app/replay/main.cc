#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/replay/log_file.h"
#include "exchange/auction.h"
#include "exchange/record.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"

namespace spillway::app {
namespace {

constexpr int kDiffers = 1;

struct Result {
  uint64_t auctions = 0;
  uint64_t same = 0;
  uint64_t different = 0;
  std::string first_difference;
};

// Where two answers part, with a little of both.
std::string difference(uint64_t number, const exchange::Record& record,
                       const exchange::ReplyBytes& now) {
  if (record.status != now.status) {
    return fmt::format("auction {} was answered {}, is now {}", number, record.status, now.status);
  }
  const auto [was, is] = std::ranges::mismatch(record.reply, now.body);
  const auto at = static_cast<size_t>(was - record.reply.begin());
  constexpr size_t kShown = 60;
  return fmt::format("auction {} differs at byte {}: was \"{}\", is now \"{}\"", number, at,
                     record.reply.substr(at, kShown), now.body.substr(at, kShown));
}

int report(const Result& result, const LogDamage& damage, bool json) {
  const bool good = result.different == 0 && !damage.any();
  if (json) {
    fmt::print(
        R"({{"ok":{},"auctions":{},"same":{},"different":{},"first_difference":{},)"
        R"("broken_entries":{},"without_snapshot":{},"unreadable_snapshots":{},"damage":{}}})"
        "\n",
        good, result.auctions, result.same, result.different,
        openrtb::json_string(result.first_difference), damage.broken_entries,
        damage.without_snapshot, damage.unreadable_snapshots, openrtb::json_string(damage.first));
  } else {
    fmt::print("auctions: {}  same: {}  different: {}\n", result.auctions, result.same,
               result.different);
    if (!result.first_difference.empty()) {
      fmt::print("first difference: {}\n", result.first_difference);
    }
    if (damage.any()) {
      fmt::print(
          "not read: {} broken entries, {} auctions without their configuration, {} "
          "configurations refused; first: {}\n",
          damage.broken_entries, damage.without_snapshot, damage.unreadable_snapshots,
          damage.first);
    }
  }
  return good ? 0 : kDiffers;
}

int run(int argc, char** argv) {
  CLI::App app("Runs every auction of a log again and compares the answers byte for byte.",
               "spillway replay");
  app.footer(
      "examples:\n"
      "  spillway replay auctions.log\n"
      "  spillway replay auctions.log --json\n"
      "exit: 0 all the same, 1 something differs or cannot be read, 2 wrong usage.");
  std::string path;
  bool json = false;
  app.add_option("log", path, "Auction log, as recorder.path names it")->required();
  app.add_flag("--json", json, "Print JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  const auto log = read_log(path);
  if (!log) {
    return complain(log.error(), json, kDiffers);
  }
  Result result;
  exchange::Auction auction;
  const auto damage = for_each_auction(
      *log, [&](const exchange::Snapshot& snapshot, const exchange::Record& record) {
        ++result.auctions;
        const auto now = exchange::replay(snapshot, record, auction);
        if (now.status == record.status && now.body == record.reply) {
          ++result.same;
          return true;
        }
        ++result.different;
        if (result.first_difference.empty()) {
          result.first_difference = difference(result.auctions, record, now);
        }
        return true;
      });
  return report(result, damage, json);
}

}  // namespace
}  // namespace spillway::app

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::run, argc, argv);
}
