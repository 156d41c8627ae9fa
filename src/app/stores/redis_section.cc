#include "app/stores/redis_section.h"

#include <optional>

#include "adapters/redis_settings.h"
#include "app/config/reader.h"
#include "net/tls.h"
#include "resilience/problem.h"

namespace spillway::app {
namespace {

void read_tls(ConfigReader reader, std::optional<net::TlsClientSettings>& out) {
  bool enabled = false;
  net::TlsClientSettings tls;
  reader.read("enabled", enabled);
  reader.read("host", tls.host);
  reader.read("ca_file", tls.ca_file);
  reader.read("cert_file", tls.certificate_file);
  reader.read("key_file", tls.key_file);
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    reader.problem("", "must have cert_file and key_file, or none of the two");
  }
  if (enabled) {
    out = tls;
  }
  reader.finish();
}

}  // namespace

void read_redis_place(ConfigReader& reader, adapters::RedisSettings& out) {
  reader.read("primary", out.primary);
  reader.read("sentinels", out.sentinels);
  reader.read("sentinel_name", out.sentinel_name);
  reader.read("sentinel_password", out.sentinel_password);
  reader.read("user", out.user);
  reader.read("password", out.password);
  reader.read("database", out.database, 0, 1'000'000);
  read_tls(reader.section("tls"), out.tls);
}

void report_redis_problems(ConfigReader& reader, const adapters::RedisSettings& settings) {
  for (const auto& problem : validate(settings)) {
    reader.problem("", problem.key + ": " + problem.what);
  }
}

}  // namespace spillway::app
