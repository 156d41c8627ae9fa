#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "exchange/snapshot.h"
#include "net/tls.h"

namespace spillway::app {

/// How one https endpoint is called.
struct EndpointTls {
  std::shared_ptr<net::TlsClient> client;
  uint64_t made_of = 0;  ///< Digest of its settings and of the bytes of its files.
};

/// By guard key; endpoints over plain HTTP are not there.
using TlsOfDsps = std::map<std::string, EndpointTls, std::less<>>;

/// Reads the files of all https endpoints. What is as in `former` is taken from there, so that its
/// connections and sessions are kept; a changed file makes another client. The error has one line
/// for each endpoint that cannot be called.
[[nodiscard]] base::Result<TlsOfDsps, std::string> load_tls_of_dsps(
    const exchange::Snapshot& snapshot, const TlsOfDsps& former);

}  // namespace spillway::app
