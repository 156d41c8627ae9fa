#include "app/catalog/commands.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "adapters/catalog_source.h"
#include "adapters/time_zones.h"
#include "app/catalog/place.h"
#include "app/catalog/problems.h"
#include "app/catalog/progress_bar.h"
#include "app/catalog/report.h"
#include "app/catalog/text_file.h"
#include "app/config/complaint.h"
#include "bidder/caps/keys.h"
#include "bidder/caps/user.h"
#include "bidder/catalog.h"
#include "bidder/generate/catalogs.h"
#include "bidder/generate/users.h"
#include "bidder/model.h"
#include "bidder/row_checks.h"

namespace spillway::app::catalog {

namespace {

void say(const Options& options, const Report& report) {
  std::fputs((options.json ? report_json(report) : report_text(report)).c_str(),
             options.to == "-" ? stderr : stdout);
}

int fail(const Options& options, const std::string& problem) {
  return complain(problem, options.json, kUnreadable);
}

adapters::StoreResult<void> write(const Options& options, const bidder::CatalogRows& rows) {
  ProgressBar bar;
  return Place(options.to, options.store)
      .write(rows, options.now_s, [&bar](size_t done, size_t total) { bar.show(done, total); });
}

/// Reads and checks. kFine, or what to end with.
int read(const Options& options, bidder::CatalogRows& rows, Report& report) {
  const Place place(options.from, options.store);
  rows = place.read(report.unreadable);
  report.place = place.name();
  report.rows = &rows;
  if (report.unreadable.count() > 0) {
    return report.unreadable.is_unreadable() ? kUnreadable : kProblems;
  }
  report.problems = bidder::check_rows(rows, adapters::time_zones_of(rows, options.now_s));
  std::ranges::move(bidder::contradictions(rows), std::back_inserter(report.problems));
  return report.problems.empty() ? kFine : kProblems;
}

}  // namespace

int check_catalog(const Options& options) {
  bidder::CatalogRows rows;
  Report report;
  const int status = read(options, rows, report);
  say(options, report);
  return status;
}

int import_catalog(const Options& options) {
  bidder::CatalogRows rows;
  Report report;
  if (const int status = read(options, rows, report); status != kFine) {
    say(options, report);
    fmt::print(stderr, "nothing was written to {}\n", Place(options.to).name());
    return status;
  }
  if (auto written = write(options, rows); !written) {
    return fail(options, written.error());
  }
  report.place = Place(options.to).name();
  say(options, report);
  return kFine;
}

int export_catalog(const Options& options) {
  bidder::CatalogRows rows;
  Report report;
  const int status = read(options, rows, report);
  if (report.unreadable.count() > 0) {
    say(options, report);
    return status;
  }
  if (auto written = write(options, rows); !written) {
    return fail(options, written.error());
  }
  report.place = Place(options.to).name();
  say(options, report);
  return kFine;
}

int migrate_catalog(const Options& options) {
  auto store = adapters::open_catalog(options.to, options.store);
  if (!store) {
    return fail(options, store.error());
  }
  const auto ran = (*store)->migrate();
  if (!ran) {
    return fail(options, ran.error());
  }
  if (options.json) {
    fmt::print("{{\"migrations\":{}}}\n", *ran);
  } else {
    fmt::print("{}: {}\n", (*store)->name(),
               *ran == 0 ? "up to date" : fmt::format("{} migrations ran", *ran));
  }
  return kFine;
}

int generate_catalog(const Options& options, const GenerateOptions& what) {
  const bidder::generate::CatalogSettings settings{
      .seed = what.seed, .campaigns = what.campaigns, .today_s = what.today_s};
  const bidder::CatalogRows rows = what.workload == "w1"
                                       ? bidder::generate::parity_catalog(settings)
                                       : bidder::generate::honest_catalog(settings);
  if (auto written = write(options, rows); !written) {
    return fail(options, written.error());
  }
  Report report;
  report.place = Place(options.to).name();
  report.rows = &rows;
  say(options, report);
  return kFine;
}

namespace {

/// One user as a line of JSON.
void append_json_line(std::string& out, const std::string& id,
                      const std::vector<uint32_t>& segments) {
  out += R"({"id":")" + id + R"(","segments":[)";
  for (size_t i = 0; i < segments.size(); ++i) {
    out.append(i == 0 ? "" : ",").append(std::to_string(segments[i]));
  }
  out += "]}\n";
}

void append_bulk(std::string& out, std::string_view text) {
  out += fmt::format("${}\r\n{}\r\n", text.size(), text);
}

/// One user as a command that sets his segments for two weeks.
void append_redis_command(std::string& out, std::string_view source, const std::string& id,
                          const std::vector<uint32_t>& segments) {
  constexpr std::string_view kTtlS = "1209600";
  const auto user = bidder::caps::hash_user(source, id);
  if (!user) {
    return;  // No id is empty.
  }
  std::string value;
  for (const uint32_t segment : segments) {
    value.append(value.empty() ? "" : "\n").append(std::to_string(segment));
  }
  out += "*5\r\n";
  append_bulk(out, "SET");
  append_bulk(out, bidder::caps::segments_key(*user));
  append_bulk(out, value);
  append_bulk(out, "EX");
  append_bulk(out, kTtlS);
}

/// W1's requests carry both of a user's ids: 17 and b-17.
std::string id_of(const bidder::generate::Users& users, uint64_t user, std::string_view source) {
  return (source == "buyeruid" ? "b-" : "") + users.id(user);
}

}  // namespace

int write_users(const Options& options, const UserOptions& what) {
  const auto users = what.workload == "w1" ? bidder::generate::Users::parity(what.seed)
                                           : bidder::generate::Users::honest(what.seed);
  TextStream out(options.to);
  ProgressBar bar;
  std::vector<uint32_t> segments;
  std::string text;
  for (uint64_t i = 0; i < what.count && out.error().empty(); ++i) {
    const uint64_t user = what.first + i;
    if (!users.segments(user, segments)) {
      continue;
    }
    text.clear();
    if (what.redis_source.empty()) {
      append_json_line(text, users.id(user), segments);
    } else {
      append_redis_command(text, what.redis_source, id_of(users, user, what.redis_source),
                           segments);
    }
    out.write(text);
    bar.show(i + 1, what.count);
  }
  out.end();
  return out.error().empty() ? kFine : fail(options, out.error());
}

}  // namespace spillway::app::catalog
