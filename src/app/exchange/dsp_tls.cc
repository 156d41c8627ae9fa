#include "app/exchange/dsp_tls.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "app/config/config_file.h"
#include "base/hash.h"
#include "base/result.h"
#include "exchange/snapshot.h"
#include "net/tls.h"

namespace spillway::app {
namespace {

constexpr size_t kFileBytes = 16 * 1024 * 1024;

// A file that cannot be read is told by OpenSSL, in the same words as one that holds no
// certificate.
uint64_t digest(const std::string& host, const exchange::DspTls& tls) {
  uint64_t all = base::hash64(host);
  for (const auto* file : {&tls.ca_file, &tls.cert_file, &tls.key_file}) {
    const auto bytes =
        file->empty() ? std::string() : read_whole_file(*file, kFileBytes).value_or("");
    all = base::combine64(base::combine64(all, base::hash64(*file)), base::hash64(bytes));
  }
  return all;
}

}  // namespace

base::Result<TlsOfDsps, std::string> load_tls_of_dsps(const exchange::Snapshot& snapshot,
                                                      const TlsOfDsps& former) {
  TlsOfDsps loaded;
  std::string problems;
  for (const auto& dsp : snapshot.dsps) {
    for (const auto& endpoint : dsp.endpoints) {
      if (!endpoint.tls) {
        continue;
      }
      const uint64_t made_of = digest(endpoint.host, dsp.tls);
      const auto kept = former.find(endpoint.guard_key);
      if (kept != former.end() && kept->second.made_of == made_of) {
        loaded.insert(*kept);
        continue;
      }
      auto client = net::TlsClient::make({.host = endpoint.host,
                                          .ca_file = dsp.tls.ca_file,
                                          .certificate_file = dsp.tls.cert_file,
                                          .key_file = dsp.tls.key_file});
      if (client) {
        loaded[endpoint.guard_key] = {.client = std::move(*client), .made_of = made_of};
      } else {
        problems += fmt::format("dsps: {}: tls: {}\n", endpoint.guard_key, client.error());
      }
    }
  }
  if (!problems.empty()) {
    return std::unexpected(std::move(problems));
  }
  return loaded;
}

}  // namespace spillway::app
