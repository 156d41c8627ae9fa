#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/config_file.h"
#include "app/model/convert.h"
#include "app/model/report.h"
#include "bidder/scoring/model_file.h"

namespace spillway::app {
namespace {

constexpr int kRefused = 1;

struct Options {
  std::vector<std::string> files;
  std::string file;
  std::string out;
  bool json = false;
  ConvertOptions convert;
};

int check(const Options& options) {
  int status = 0;
  for (const std::string& path : options.files) {
    const ModelReport report = report_on(path);
    fmt::print("{}", options.json ? json_of(report) : text_of(report));
    status = report.serves ? status : kRefused;
  }
  return status;
}

int eval(const Options& options) {
  const auto bytes = read_whole_file(options.file, bidder::kMaxModelBytes);
  if (!bytes) {
    return complain(bytes.error(), false, kRefused);
  }
  const auto done = eval_model(*bytes, std::cin, std::cout);
  std::cout.flush();
  if (!done) {
    return complain(done.error(), false, kRefused);
  }
  return std::cout.good() ? 0 : kRefused;
}

int convert(const Options& options) {
  const auto bytes = read_whole_file(options.file, bidder::kMaxModelBytes);
  if (!bytes) {
    return complain(bytes.error(), options.json, kRefused);
  }
  const auto file = convert_model(*bytes, options.convert);
  if (!file) {
    return complain(options.file + ": " + file.error(), options.json, kRefused);
  }
  if (options.out.empty()) {
    std::cout << *file << std::flush;
    return std::cout.good() ? 0 : kRefused;
  }
  std::ofstream out(options.out, std::ios::binary | std::ios::trunc);
  out << *file << std::flush;
  if (!out.good()) {
    return complain(options.out + ": cannot be written", options.json, kRefused);
  }
  const ModelReport report = report_on(options.out);
  fmt::print("{}", options.json ? json_of(report) : text_of(report));
  return report.serves ? 0 : kRefused;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Checks, evaluates and makes the model files that the bidder scores with.",
               "spillway model");
  app.footer(
      "examples:\n"
      "  spillway model convert ctr.ubj --name ctr-42 --features hour,instl,floor_cpm -o ctr.json\n"
      "  spillway model check ctr.json --json\n"
      "  printf 'hour,floor_cpm\\n14,0.5\\n3,\\n' | spillway model eval ctr.json\n"
      "exit: 0 the model serves, 1 it is refused, 2 wrong usage. Features: docs/scoring.md.");
  app.require_subcommand(1);
  auto* const check_command =
      app.add_subcommand("check", "Says whether files would serve, and why not");
  check_command->add_option("files", options.files, "Model files")->required();
  check_command->add_flag("--json", options.json, "Print JSON, one object a line");
  auto* const eval_command =
      app.add_subcommand("eval", "Reads rows as CSV from the standard input, prints probabilities");
  eval_command->add_option("file", options.file, "Model file")->required();
  auto* const convert_command = app.add_subcommand(
      "convert", "Makes a model file of XGBoost's, with libxgboost's answers to check it by");
  convert_command->add_option("file", options.file, "What XGBoost saved as .json or .ubj")
      ->required();
  convert_command->add_option("--name", options.convert.name, "The model's name, without blanks")
      ->required();
  convert_command
      ->add_option("--features", options.convert.features,
                   "Names of its columns, in their order; else those it was trained with")
      ->delimiter(',');
  convert_command->add_option("--rows", options.convert.rows, "Parity rows")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  convert_command->add_option("--seed", options.convert.seed, "Of the rows")->capture_default_str();
  convert_command
      ->add_option("--tolerance", options.convert.tolerance, "How far answers may differ")
      ->check(number_between(1e-9, 0.01))
      ->capture_default_str();
  convert_command->add_option("-o,--out", options.out, "File to write; else the standard output");
  convert_command->add_flag("--json", options.json, "Report as JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  if (check_command->parsed()) {
    return check(options);
  }
  return eval_command->parsed() ? eval(options) : convert(options);
}

}  // namespace
}  // namespace spillway::app

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::run, argc, argv);
}
