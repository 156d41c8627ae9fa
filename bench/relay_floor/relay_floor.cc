// CPU of one auction in the exchange over that of a bare relay moving the same bytes, at fan-out 1,
// 5 and 20: interleaved runs against one farm of DSPs that bid at once. User and system time of the
// server's process only. With --callgrind and --syscalls, user instructions and system calls of an
// auction too: these do not depend on what else the machine does.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include "relay_floor/client.h"
#include "relay_floor/farm.h"
#include "relay_floor/process.h"
#include "relay_floor/report.h"
#include "relay_floor/wire.h"

namespace spillway::relay_floor {
namespace {

struct Options {
  std::string exchange;
  std::string relay;
  std::vector<std::string> beside;  ///< Other builds of the exchange, measured in the same rounds.
  std::vector<size_t> fanouts = {1, 5, 20};
  size_t auctions = 1000;  ///< Of one run.
  double rate_per_s = 400;
  size_t rounds = 7;
  double whole_ratio = 0.98;  ///< Share of auctions that must be answered 200, and of DSPs asked.
  bool smoke = false;
  bool callgrind = false;
  std::string keep;  ///< Folder for callgrind's files; empty: they go.
  bool syscalls = false;
  bool gate = false;
};

/// Files of one run of the bench, gone with it.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "relay_floor.XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "no temporary folder");
    folder_ = name;
  }

  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string path(std::string_view name) const { return folder_ / name; }

  [[nodiscard]] std::string write(std::string_view name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

std::string exchange_config(const Farm& farm) {
  std::string text =
      "exchange: { listen: 127.0.0.1:0, workers: 1 }\n"
      "admin:    { listen: 127.0.0.1:0 }\n"
      "dsps:\n";
  for (size_t dsp = 0; dsp < farm.ports().size(); ++dsp) {
    text += fmt::format("  - {{ name: dsp{:02}, endpoint: \"http://127.0.0.1:{}/bid\" }}\n", dsp,
                        farm.ports()[dsp]);
  }
  return text;
}

/// Both servers of one fan-out, and the farm they ask.
class Bench {
 public:
  Bench(const Options& options, size_t fanout) : options_(options), farm_(fanout), fanout_(fanout) {
    config_ = scratch_.write("exchange.yaml", exchange_config(farm_));
    exchange_command_ = {options.exchange, "--config", config_};
  }

  Row run() {
    Process exchange(exchange_command_, scratch_.path("exchange.err"));
    const LoadResult warm =
        checked(exchange.port(), options_.auctions, options_.rate_per_s, options_.whole_ratio);
    require_relay_command(farm_.first_ask(), warm.last_answer);
    Process relay(relay_command_, scratch_.path("relay.err"));
    static_cast<void>(
        checked(relay.port(), options_.auctions, options_.rate_per_s, options_.whole_ratio));
    const auto others = started_others();
    Row row{.fanout = fanout_, .relay = {}, .exchange = {}, .beside = {}};
    row.beside.resize(others.size());
    for (size_t round = 0; round < options_.rounds; ++round) {
      measure(relay, row.relay);
      measure(exchange, row.exchange);
      for (size_t i = 0; i < others.size(); ++i) {
        measure(*others[i], row.beside[i]);
      }
    }
    exchange.stop();
    relay.stop();
    if (options_.callgrind) {
      row.relay.instructions = instructions(relay_command_, "relay");
      row.exchange.instructions = instructions(exchange_command_, "exchange");
    }
    if (options_.syscalls) {
      row.relay.syscalls = syscalls(relay_command_);
      row.exchange.syscalls = syscalls(exchange_command_);
    }
    return row;
  }

  /// The relay alone, with bytes like the exchange's.
  double relay_alone_us() {
    const std::string request = auction_request();
    require_relay_command(request, Farm::answer_of(0));
    Process relay(relay_command_, scratch_.path("relay.err"));
    Side side;
    measure(relay, side);
    return side.cpu_us.back();
  }

 private:
  void require_relay_command(const std::string& ask, const std::string& answer) {
    require(message_bytes(ask) == ask.size(), "no request of the exchange was seen");
    relay_command_ = {options_.relay, scratch_.write("ask", ask), scratch_.write("answer", answer)};
    for (const uint16_t port : farm_.ports()) {
      relay_command_.push_back(fmt::format("{}", port));
    }
  }

  /// Runs auctions, `whole_ratio` of which must be answered 200, and as many DSPs asked: on a
  /// starved machine a few may not, and a measurement of less is none.
  LoadResult checked(uint16_t port, size_t auctions, double rate_per_s, double whole_ratio) {
    const uint64_t asks = farm_.asks();
    LoadResult result = drive({.port = port,
                               .auctions = auctions,
                               .rate_per_s = rate_per_s,
                               .connections = rate_per_s > 0 ? size_t{16} : size_t{1}});
    require(static_cast<double>(result.answered) >= whole_ratio * static_cast<double>(auctions),
            fmt::format("{} of {} auctions were answered 200, {} otherwise; the last answer: {}",
                        result.answered, auctions, result.failed, result.last_answer));
    const double asked = static_cast<double>(farm_.asks() - asks) / static_cast<double>(auctions);
    require(asked >= whole_ratio * static_cast<double>(fanout_),
            fmt::format("only {:.2f} of {} DSPs were asked an auction", asked, fanout_));
    return result;
  }

  void measure(const Process& server, Side& side) {
    const auto per_auction = [&](double amount) {
      return amount / static_cast<double>(options_.auctions);
    };
    const double cpu_us = server.cpu_us();
    const uint64_t asks = farm_.asks();
    const uint64_t ask_bytes = farm_.ask_bytes();
    const LoadResult result =
        checked(server.port(), options_.auctions, options_.rate_per_s, options_.whole_ratio);
    side.cpu_us.push_back(per_auction(server.cpu_us() - cpu_us));
    side.asks = per_auction(static_cast<double>(farm_.asks() - asks));
    side.ask_bytes = per_auction(static_cast<double>(farm_.ask_bytes() - ask_bytes));
    side.answer_bytes = per_auction(static_cast<double>(result.answer_bytes));
  }

  /// The other builds, warm.
  std::vector<std::unique_ptr<Process>> started_others() {
    std::vector<std::unique_ptr<Process>> others;
    for (const std::string& program : options_.beside) {
      const std::vector<std::string> command = {program, "--config", config_};
      others.push_back(std::make_unique<Process>(
          command, scratch_.path(fmt::format("beside{}.err", others.size()))));
      static_cast<void>(checked(others.back()->port(), options_.auctions, options_.rate_per_s,
                                options_.whole_ratio));
    }
    return others;
  }

  static constexpr size_t kFew = 100;
  static constexpr size_t kMany = 300;

  /// User instructions of one more auction in the thread that serves: a long run minus a short one,
  /// so that start and end, the same in both, fall out. Other threads work by the clock, not by
  /// auctions.
  double instructions(const std::vector<std::string>& command, std::string_view name) {
    const auto few = thread_instructions(command, name, kFew);
    const auto many = thread_instructions(command, name, kMany);
    double most = 0;
    for (size_t i = 0; i < std::min(few.size(), many.size()); ++i) {
      most = std::max(most, many[i] - few[i]);
    }
    return most / static_cast<double>(kMany - kFew);
  }

  std::vector<double> thread_instructions(const std::vector<std::string>& command,
                                          std::string_view name, size_t auctions) {
    const std::string file =
        options_.keep.empty() ? scratch_.path(fmt::format("{}.{}", name, auctions))
                              : fmt::format("{}/{}.{}.{}", options_.keep, name, fanout_, auctions);
    run_under(
        {"valgrind", "--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=" + file},
        command, auctions);
    return callgrind_instructions(file);
  }

  /// System calls of one more auction, likewise.
  std::map<std::string, double> syscalls(const std::vector<std::string>& command) {
    const std::string file = scratch_.path("strace.out");
    std::map<std::string, double> calls;
    for (const auto& [auctions, sign] : {std::pair{kFew, -1.0}, {kMany, 1.0}}) {
      const NamedPipe summary(file);
      run_under({"strace", "-D", "-f", "-c", "-U", "calls,name", "-o", file}, command, auctions);
      for (const auto& [name, count] : strace_counts(summary.text())) {
        calls[name] += sign * count / static_cast<double>(kMany - kFew);
      }
    }
    return calls;
  }

  /// `auctions` one after the other.
  void run_under(std::vector<std::string> watcher, const std::vector<std::string>& command,
                 size_t auctions) {
    watcher.insert(watcher.end(), command.begin(), command.end());
    Process server(watcher, scratch_.path("watcher.err"));
    // The first ones may be late while their code is translated; they fall out of the difference.
    static_cast<void>(checked(server.port(), auctions, 0, std::min(0.9, options_.whole_ratio)));
    server.stop();
  }

  const Options& options_;
  Farm farm_;
  size_t fanout_;
  Scratch scratch_;
  std::string config_;
  std::vector<std::string> exchange_command_;
  std::vector<std::string> relay_command_;
};

bool has_program(std::string_view name) {
  const char* const folders = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  std::istringstream stream(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(stream, folder, ':');) {
    if (::access(fmt::format("{}/{}", folder, name).c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

int run(Options options) {
  if (options.smoke) {
    options.fanouts = {2};
    options.auctions = 40;
    options.rounds = 1;
    options.rate_per_s = 100;
    options.whole_ratio = 0.8;
  }
  if (::access(options.exchange.c_str(), X_OK) != 0) {
    fmt::print("relay_floor: skipped: {} is not built; the relay alone at fan-out {}: {:.1f} us\n",
               options.exchange, options.fanouts.front(),
               Bench(options, options.fanouts.front()).relay_alone_us());
    return options.smoke ? 0 : 1;
  }
  if (options.callgrind && !has_program("valgrind")) {
    fmt::print("relay_floor: no valgrind here: user instructions are not counted\n");
    options.callgrind = false;
  }
  if (options.syscalls && !has_program("strace")) {
    fmt::print("relay_floor: no strace here: system calls are not counted\n");
    options.syscalls = false;
  }
  std::vector<Row> rows;
  rows.reserve(options.fanouts.size());
  for (const size_t fanout : options.fanouts) {
    rows.push_back(Bench(options, fanout).run());
  }
  print_table(rows);
  fmt::print("{}\n", json(rows));
  return options.gate && !std::ranges::all_of(rows, held) ? 1 : 0;
}

}  // namespace
}  // namespace spillway::relay_floor

int main(int count, char** values) {
  namespace fs = std::filesystem;
  spillway::relay_floor::Options options;
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  options.relay = here / "bare_relay";
  options.exchange = here.parent_path().parent_path() / "libexec" / "spillway-exchange";
  CLI::App app("CPU of an auction in the exchange over that of a bare relay of the same bytes");
  app.add_option("--exchange", options.exchange, "The exchange's program")->capture_default_str();
  app.add_option("--relay", options.relay, "The bare relay's program")->capture_default_str();
  app.add_option("--beside", options.beside, "Other builds of the exchange, in the same rounds")
      ->delimiter(',')
      ->check(CLI::ExistingFile);
  app.add_option("--fanout", options.fanouts, "DSPs asked an auction, e.g. 1,5,20")
      ->delimiter(',')
      ->check(CLI::Range(1, 100));
  app.add_option("--auctions", options.auctions, "Auctions of one run")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--rate", options.rate_per_s, "Auctions a second")->check(CLI::Range(1.0, 1e5));
  app.add_option("--rounds", options.rounds, "Runs of each server")->check(CLI::Range(1, 1000));
  app.add_option("--whole-ratio", options.whole_ratio,
                 "Share of auctions that must be whole; less on a machine with other work")
      ->check(CLI::Range(0.1, 1.0));
  app.add_flag("--callgrind", options.callgrind, "Count user instructions too (slow)");
  app.add_option("--keep", options.keep, "With --callgrind: folder for its files");
  app.add_flag("--syscalls", options.syscalls, "Count system calls too, with strace");
  app.add_flag("--gate", options.gate, "Fail when a bar is not held");
  app.add_flag("--smoke", options.smoke, "A tiny run; passes when the exchange is not built");
  CLI11_PARSE(app, count, values);
  return spillway::relay_floor::run(options);
}
