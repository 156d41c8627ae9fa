#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/registry.h"
#include "base/call_result.h"
#include "base/result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/tls.h"

namespace spillway::adapters {

/// Where a registry that speaks HTTP listens.
struct RegistryHttpSettings {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::shared_ptr<net::TlsClient> tls{};  ///< Null: plain.
  std::string token{};  ///< Consul's X-Consul-Token, etcd's Authorization; empty: none.
};

/// The members of a Consul service: registered with the local agent under a TTL check, read by
/// blocking queries on /v1/health/service/:name?passing.
///
/// What Consul documents and this keeps: a return is no proof of change; an index that goes back or
/// is missing is forgotten; an index is at least 1; returns are followed at once at most twice,
/// then once a `poll`; an empty Service.Address is Node.Address; a check that the agent does not
/// know is registered anew; DeregisterCriticalServiceAfter is at least a minute. Source:
/// developer.hashicorp.com/consul/api-docs, "Blocking queries", "Agent HTTP API".
[[nodiscard]] std::unique_ptr<Registry> consul_registry(net::Reactor& reactor,
                                                        const RegistryHttpSettings& http,
                                                        RegistrySettings settings);

/// The members of a service under /spillway/SERVICE/ID in etcd, through its v3 JSON gateway: keys
/// on a lease, listed each `poll`. A lease that has expired is granted anew. Reads are whole
/// listings, so that a compacted history harms nothing. Source: etcd.io/docs, "Why gRPC gateway",
/// "API reference".
[[nodiscard]] std::unique_ptr<Registry> etcd_registry(net::Reactor& reactor,
                                                      const RegistryHttpSettings& http,
                                                      RegistrySettings settings);

/// Calls of a registry over HTTP, each answered through its own function on the reactor's thread.
/// Destruction ends all untold.
class RegistryHttp final : private net::CallListener {
 public:
  /// What came of a call that the registry accepted (2xx).
  struct Answer {
    std::string_view body;
    uint64_t index = 0;  ///< X-Consul-Index; 0 when absent.
    base::Duration took{};
  };

  /// What came of one that failed.
  struct Failure {
    RegistryErrc error = RegistryErrc::kUnreachable;
    uint16_t status = 0;
    std::string_view body;
    [[nodiscard]] std::string text(std::string_view what) const;
  };

  using Done = std::move_only_function<void(const base::Result<Answer, Failure>&)>;

  RegistryHttp(net::Reactor& reactor, const RegistryHttpSettings& settings,
               const std::string& header);

  void call(std::string_view method, std::string_view path, std::string_view body,
            base::Instant deadline, Done done);

 private:
  struct Call {
    Done done;
    uint64_t index = 0;
  };

  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override;

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

  void on_number(uint64_t tag, uint64_t number) override;

  std::string headers_;
  std::map<uint64_t, Call> calls_;
  uint64_t next_ = 0;
  net::Client client_;
  net::TargetId target_;
};

}  // namespace spillway::adapters
