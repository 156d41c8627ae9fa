#include "app/serving/listeners.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <sys/resource.h>

#include "app/config/server_config.h"
#include "app/config/url.h"
#include "net/server.h"
#include "net/tls.h"

namespace spillway::app {

net::ListenerSettings listener_settings(const ServerConfig& config,
                                        std::shared_ptr<net::TlsServer> tls) {
  net::ListenerSettings settings{
      .tls = std::move(tls), .names_origin = true, .http2 = config.http2};
  auto& trusted = config.proxy_protocol ? settings.proxies : settings.forwarders;
  for (const auto& network : config.trusted_proxies) {
    (void)trusted.add(network);  // judged when it was read
  }
  return settings;
}

std::string at_port(const std::string& listen, uint16_t port) {
  const auto address = parse_listen(listen);
  return listen_text(address ? address->host : listen, port);
}

uint64_t open_files() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : UINT64_MAX;
}

void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &files);
  }
}

}  // namespace spillway::app
