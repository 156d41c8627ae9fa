#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone

#include "app/catalog/commands.h"
#include "app/command_line.h"
#include "bidder/generate/catalogs.h"

namespace spillway::app::catalog {
namespace {

constexpr int64_t kDayS = 86'400;
constexpr uint64_t kUserSeed = 42;

/// Unix seconds of 00:00 UTC of "2027-01-31"; nullopt when that is no day.
std::optional<int64_t> day_s(std::string_view text) {
  constexpr std::string_view kForm = "2027-01-31";
  const auto number = [text](size_t from, size_t size) {
    int value = -1;
    const auto part = text.substr(from, size);
    const char* const end = part.begin() + part.size();
    return std::from_chars(part.begin(), end, value).ptr == end ? value : -1;
  };
  if (text.size() != kForm.size() || text[4] != '-' || text[7] != '-') {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date).time_since_epoch().count() * kDayS;
}

/// The command line of all commands.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.footer(
        "A PLACE is a database (sqlite:FILE, postgres://USER@HOST:PORT/DATABASE), a JSON file\n"
        "(FILE.json) or a folder of CSV files. docs/catalog.md has their columns.\n\n"
        "examples:\n"
        "  spillway catalog import --from catalog.json --to sqlite:catalog.db\n"
        "  spillway catalog check sqlite:catalog.db --json\n"
        "  spillway catalog generate w2 --campaigns 100000 --to postgres://spillway@db/catalog\n"
        "  spillway catalog export --from sqlite:catalog.db --to catalog_csv\n"
        "  spillway catalog migrate postgres://spillway@db/catalog\n"
        "  spillway catalog users w1 --count 1000\n"
        "  spillway catalog users w1 --count 100000 --redis buyeruid | redis-cli --pipe\n"
        "exit: 0 fine, 1 the catalog has problems, 2 wrong usage, 3 a place cannot be read or "
        "written.");
    add_moves();
    add_generators();
  }

  int run(int argc, char** argv) {
    if (const auto status = parse_command_line(app_, argc, argv)) {
      return *status;
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    options_.now_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    options_.store.patience = std::chrono::milliseconds(static_cast<int64_t>(patience_s_ * 1000));
    if (import_->parsed()) {
      return import_catalog(options_);
    }
    if (check_->parsed()) {
      return check_catalog(options_);
    }
    if (options_.to.empty()) {
      options_.to = "-";
    }
    if (export_->parsed()) {
      return export_catalog(options_);
    }
    if (migrate_->parsed()) {
      return migrate_catalog(options_);
    }
    if (users_->parsed()) {
      return write_users(options_, user_options_);
    }
    const auto today_s = today_.empty() ? options_.now_s / kDayS * kDayS : day_s(today_);
    if (!today_s) {
      std::fputs("--today: not a day like 2027-01-31\n", stderr);
      return kWrongUsage;
    }
    generate_options_.today_s = *today_s;
    return generate_catalog(options_, generate_options_);
  }

 private:
  CLI::App* add(const char* name, const char* what) {
    CLI::App* const command = app_.add_subcommand(name, what);
    command->add_flag("--json", options_.json, "Print one JSON object");
    command->add_option("--patience", patience_s_, "Longest wait for a database, seconds")
        ->check(number_between(0.1, 3600.0))
        ->capture_default_str();
    return command;
  }

  void add_moves() {
    import_ = add("import", "Check a catalog and put it in the place of another");
    import_->add_option("--from", options_.from, "PLACE to read")->required();
    import_->add_option("--to", options_.to, "PLACE to write; what is there is replaced")
        ->required();
    check_ = add("check", "Say everything that is wrong with a catalog");
    check_->add_option("place", options_.from, "PLACE to read")->required();
    export_ = add("export", "Copy a catalog as it is");
    export_->add_option("--from", options_.from, "PLACE to read")->required();
    export_->add_option("--to", options_.to, "PLACE to write; absent: JSON to stdout");
    migrate_ = add("migrate", "Bring the schema of a database up to date");
    migrate_->add_option("database", options_.to, "sqlite:FILE or postgres://…")->required();
  }

  void add_generators() {
    generate_ = add("generate", "Make the catalog of a workload, the same for the same seed");
    generate_->add_option("workload", generate_options_.workload, "w1 or w2")
        ->required()
        ->check(CLI::IsMember({"w1", "w2"}));
    generate_->add_option("--to", options_.to, "PLACE to write; what is there is replaced")
        ->required();
    generate_->add_option("--seed", generate_options_.seed, "Seed")
        ->default_val(bidder::generate::kCatalogSeed);
    generate_
        ->add_option("--campaigns", generate_options_.campaigns,
                     "How many; 0: 5,000 in w1, 120,000 in w2")
        ->check(CLI::Range(uint32_t{0}, uint32_t{2'000'000}));
    generate_->add_option("--today", today_,
                          "Day that flights of w2 lie around, as 2027-01-31; absent: today");
    users_ = add("users", "Print users of a workload and their segments, one JSON object a line");
    users_->add_option("workload", user_options_.workload, "w1 or w2")
        ->required()
        ->check(CLI::IsMember({"w1", "w2"}));
    users_->add_option("--count", user_options_.count, "How many ids; unknown ones have no line")
        ->required()
        ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
    users_->add_option("--first", user_options_.first, "The first id")->default_val(1);
    users_->add_option("--seed", user_options_.seed, "Seed")->default_val(kUserSeed);
    users_->add_option("--redis", user_options_.redis_source,
                       "Print Redis commands for redis-cli --pipe instead; the space of the ids: "
                       "buyeruid, or an exchange's name");
    users_->add_option("--to", options_.to, "File to write; absent: stdout");
  }

  CLI::App app_{"Reads, checks, writes and makes catalogs of the bidder.", "spillway catalog"};
  CLI::App* import_ = nullptr;
  CLI::App* check_ = nullptr;
  CLI::App* export_ = nullptr;
  CLI::App* migrate_ = nullptr;
  CLI::App* generate_ = nullptr;
  CLI::App* users_ = nullptr;
  Options options_;
  GenerateOptions generate_options_;
  UserOptions user_options_;
  std::string today_;
  double patience_s_ = 30;
};

int run(int argc, char** argv) { return CommandLine().run(argc, argv); }

}  // namespace
}  // namespace spillway::app::catalog

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::catalog::run, argc, argv);
}
