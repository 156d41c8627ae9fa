#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bidder/facts.h"

namespace spillway::adapters {

/// A file of MaxMind's format (GeoLite2 City and files laid out alike), mapped into memory.
/// Immutable; any thread. A lookup allocates nothing and costs about 0.8 us
/// (adapters_bench --benchmark_filter=find_place).
/// Source: MaxMind DB file format 2.0.
class GeoFile {
 public:
  /// Error: one sentence with the path.
  [[nodiscard]] static base::Result<GeoFile, std::string> open(const std::string& path);

  GeoFile(GeoFile&&) noexcept;
  GeoFile& operator=(GeoFile&&) noexcept;
  ~GeoFile();

  /// Where the address is, in views that live as long as this file; empty facts when it is no
  /// address (IPv4 or IPv6 as text), is not in the file, or its record is damaged.
  [[nodiscard]] bidder::GeoFacts find(std::string_view address) const;

 private:
  struct Mapping;
  explicit GeoFile(std::unique_ptr<Mapping> mapping);

  std::unique_ptr<Mapping> mapping_;
};

}  // namespace spillway::adapters
