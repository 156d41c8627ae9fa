#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/time.h"

namespace spillway::app {

/// One thing wrong with a configuration: where, and what the rule is.
struct ConfigProblem {
  std::string key;  ///< "dsps[0].endpoint"
  int line = 0;     ///< From 1: of the key, of the mapping that lacks it; 0 when neither is there.
  std::string what;
};

/// "config.yaml:7: dsps[0].endpoint: must be an http URL, is \"ftp://x\""
[[nodiscard]] std::string to_string(const ConfigProblem& problem, std::string_view file);

/// A key that was asked for: its path with `[]` for any element and `*` for any free name,
/// "dsps[].endpoint", and what stays when the file does not have it, written as it would be there
/// ("" for an empty list).
struct AskedKey {
  std::string path;
  std::string fallback;
};

/// One mapping of a YAML file being read strictly: every key is asked for once, by name, with its
/// range; what was not asked for is an unknown key and an error (with the nearest known name).
/// Problems are collected, not thrown: a file's mistakes are all reported at once. A value that is
/// wrong leaves `out` untouched. Durations are written "150ms", "5s", "2m"; sizes "256KiB", "1MiB";
/// a bare number is refused where a unit is needed.
class ConfigReader {
 public:
  /// Parses `text`. A YAML syntax error is a problem; the reader is then empty.
  ConfigReader(std::string_view text, std::vector<ConfigProblem>& problems);
  ~ConfigReader();
  ConfigReader(ConfigReader&&) noexcept;

  /// From now on every value asked for, here and in sections taken later, is written down. `asked`
  /// must outlive all readers. For the tests that keep the documentation true.
  void record_asked(std::vector<AskedKey>& asked);

  void read(std::string_view key, std::string& out);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, int64_t& out, int64_t low, int64_t high);
  void read(std::string_view key, uint32_t& out, uint32_t low, uint32_t high);
  void read(std::string_view key, double& out, double low, double high);
  void read(std::string_view key, base::Duration& out, base::Duration low, base::Duration high);
  void read_bytes(std::string_view key, uint64_t& out, uint64_t low, uint64_t high);
  void read_cpm(std::string_view key, base::Cpm& out);  ///< Exact decimal text, >= 0.
  /// Parts per million: exact decimal text, a share from 0 to `high_ppm`.
  void read_ppm(std::string_view key, uint32_t& out, uint32_t high_ppm);
  void read(std::string_view key, std::vector<std::string>& out);
  /// A mapping of free names to texts, in the file's order; appended to `out`.
  void read(std::string_view key, std::vector<std::pair<std::string, std::string>>& out);

  /// One of `names`; writes its index.
  void read_choice(std::string_view key, const std::vector<std::string_view>& names, size_t& out);

  [[nodiscard]] bool has(std::string_view key) const;

  /// The line that `key` stands on, from 1; 0 when it is not there.
  [[nodiscard]] int line(std::string_view key) const;

  /// A nested mapping; an empty reader when the key is not there.
  [[nodiscard]] ConfigReader section(std::string_view key);
  /// The mappings of a sequence, in order.
  [[nodiscard]] std::vector<ConfigReader> list(std::string_view key);
  /// The entries of a mapping with free names, in the file's order.
  [[nodiscard]] std::vector<std::pair<std::string, ConfigReader>> entries(std::string_view key);

  /// Adds a problem at `key` (its line is looked up), or at this mapping when `key` is empty.
  void problem(std::string_view key, std::string what);

  /// Reports every key that was not asked for. Call once, when all are read. Sections not taken
  /// count as unknown.
  void finish();

 private:
  struct Body;
  explicit ConfigReader(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace spillway::app
