#pragma once

#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace spillway::app {

/// Exit status of every command for an option that is unknown, missing or out of range.
inline constexpr int kWrongUsage = 2;

/// A number from `low` to `high`. CLI::Range alone lets nan through: it is neither below nor above.
inline CLI::Validator number_between(double low, double high) {
  const CLI::Validator is_number(
      [](const std::string& text) {
        return text.find_first_not_of("0123456789.eE+-") == std::string::npos
                   ? std::string()
                   : std::string("must be a number");
      },
      "NUMBER");
  return is_number & CLI::Range(low, high);
}

/// Adds --version, and reads the arguments into what `app` binds. The status to end with when there
/// is nothing to run: help or version was printed (0), or what is wrong was (kWrongUsage).
inline std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv) {
  app.set_version_flag("--version", "spillway " SPILLWAY_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return std::nullopt;
}

/// What main() does: `run`'s status. A program that meets an exception nobody expected says so and
/// ends with 1 instead of aborting.
template <typename Run>
int run_program(Run run, int argc, char** argv) noexcept {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "event=crashed why=\"%s\"\n", error.what());
    return 1;
  }
}

}  // namespace spillway::app
