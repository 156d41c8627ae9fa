#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spillway::adapters {

/// What a geo file says of an address. Views live as long as the file that gave them. What it does
/// not say is empty.
struct Place {
  std::string_view country;  ///< ISO 3166-1 alpha-2.
  std::string_view region;   ///< ISO 3166-2 without the country.
  std::optional<uint32_t> metro;
  std::string_view zip;
  std::optional<double> lat;
  std::optional<double> lon;
};

/// A file of MaxMind's format (GeoLite2 City and files laid out alike), mapped into memory.
/// Immutable; any thread. A lookup allocates nothing and costs about 1 us.
/// Source: MaxMind DB file format 2.0.
class GeoFile {
 public:
  /// Error: one sentence with the path.
  [[nodiscard]] static base::Result<GeoFile, std::string> open(const std::string& path);

  GeoFile(GeoFile&&) noexcept;
  GeoFile& operator=(GeoFile&&) noexcept;
  ~GeoFile();

  /// Where the address is; nullopt when it is no address (IPv4 or IPv6 as text), is not in the file
  /// or its record is damaged.
  [[nodiscard]] std::optional<Place> find(std::string_view address) const;

 private:
  struct Mapping;
  explicit GeoFile(std::unique_ptr<Mapping> mapping);

  std::unique_ptr<Mapping> mapping_;
};

}  // namespace spillway::adapters
