#include "adapters/geo_file.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <maxminddb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/result.h"
#include "bidder/facts.h"

namespace spillway::adapters {

namespace {

constexpr size_t kMetros = 1000;
constexpr size_t kMetroDigits = 3;

/// The address in the form that lookups take; false when the text is none.
bool parse_address(std::string_view text, sockaddr_storage& out) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size()) {
    return false;
  }
  text.copy(terminated.data(), text.size());
  out = {};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&out);
  if (::inet_pton(AF_INET, terminated.data(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    return true;
  }
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&out);
  v6->sin6_family = AF_INET6;
  if (::inet_pton(AF_INET6, terminated.data(), &v6->sin6_addr) != 1) {
    return false;
  }
  if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    in_addr inner{};
    std::memcpy(&inner, v6->sin6_addr.s6_addr + 12, sizeof inner);
    out = {};
    v4->sin_family = AF_INET;
    v4->sin_addr = inner;
  }
  return true;
}

/// The value along a path of keys (nullptr at its end), of type 0 when there is none.
MMDB_entry_data_s value(MMDB_entry_s& entry, const char* const* path) {
  MMDB_entry_data_s out{};
  if (MMDB_aget_value(&entry, &out, path) != MMDB_SUCCESS || !out.has_data) {
    out = {};
  }
  return out;
}

std::string_view text(MMDB_entry_s& entry, const char* const* path) {
  const MMDB_entry_data_s data = value(entry, path);
  return data.type == MMDB_DATA_TYPE_UTF8_STRING
             ? std::string_view(data.utf8_string, data.data_size)
             : std::string_view{};
}

constexpr std::array<const char*, 3> kCountry{"country", "iso_code", nullptr};
constexpr std::array<const char*, 4> kRegion{"subdivisions", "0", "iso_code", nullptr};
constexpr std::array<const char*, 3> kZip{"postal", "code", nullptr};
constexpr std::array<const char*, 3> kMetro{"location", "metro_code", nullptr};
constexpr std::array<const char*, 3> kLatitude{"location", "latitude", nullptr};
constexpr std::array<const char*, 3> kLongitude{"location", "longitude", nullptr};

}  // namespace

struct GeoFile::Mapping {
  Mapping() {
    for (size_t code = 0; code < kMetros; ++code) {
      std::to_chars(metros.data() + code * kMetroDigits, metros.data() + (code + 1) * kMetroDigits,
                    code);
    }
  }

  ~Mapping() {
    if (open) {
      MMDB_close(&file);
    }
  }

  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::string_view metro(MMDB_entry_s& entry) const {
    const MMDB_entry_data_s data = value(entry, kMetro.data());
    const size_t code = data.type == MMDB_DATA_TYPE_UINT16 ? data.uint16 : 0;
    constexpr size_t kFirst = 100;  // Nielsen's codes have three digits.
    return code < kFirst || code >= kMetros
               ? std::string_view{}
               : std::string_view(metros.data() + code * kMetroDigits, kMetroDigits);
  }

  MMDB_s file{};
  bool open = false;
  std::array<char, kMetros * kMetroDigits> metros{};  ///< The texts of all metro codes.
};

GeoFile::GeoFile(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}

GeoFile::GeoFile(GeoFile&&) noexcept = default;
GeoFile& GeoFile::operator=(GeoFile&&) noexcept = default;
GeoFile::~GeoFile() = default;

base::Result<GeoFile, std::string> GeoFile::open(const std::string& path) {
  auto mapping = std::make_unique<Mapping>();
  const int status = MMDB_open(path.c_str(), MMDB_MODE_MMAP, &mapping->file);
  if (status != MMDB_SUCCESS) {
    return std::unexpected(path + ": " + MMDB_strerror(status));
  }
  mapping->open = true;
  return GeoFile(std::move(mapping));
}

bidder::GeoFacts GeoFile::find(std::string_view address) const {
  sockaddr_storage parsed{};
  if (!parse_address(address, parsed)) {
    return {};
  }
  int status = MMDB_SUCCESS;
  MMDB_lookup_result_s found =
      MMDB_lookup_sockaddr(&mapping_->file, reinterpret_cast<const sockaddr*>(&parsed), &status);
  if (status != MMDB_SUCCESS || !found.found_entry) {
    return {};
  }
  bidder::GeoFacts out{.country = text(found.entry, kCountry.data()),
                       .region = text(found.entry, kRegion.data()),
                       .metro = mapping_->metro(found.entry),
                       .zip = text(found.entry, kZip.data())};
  const MMDB_entry_data_s lat = value(found.entry, kLatitude.data());
  const MMDB_entry_data_s lon = value(found.entry, kLongitude.data());
  if (lat.type == MMDB_DATA_TYPE_DOUBLE && lon.type == MMDB_DATA_TYPE_DOUBLE) {
    out.lat = lat.double_value;
    out.lon = lon.double_value;
    out.has_point = true;
  }
  return out;
}

}  // namespace spillway::adapters
