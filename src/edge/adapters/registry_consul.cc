#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "adapters/registry.h"
#include "adapters/registry_http.h"
#include "base/result.h"
#include "base/time.h"
#include "net/reactor.h"
#include "openrtb/document.h"

namespace spillway::adapters {

namespace {

using openrtb::Document;
using openrtb::json_string;
using openrtb::NodeId;

constexpr auto kWait = std::chrono::seconds(30);
constexpr uint32_t kBurst = 2;

int64_t seconds_of(base::Duration duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

uint16_t port_of(std::optional<int64_t> value) {
  return value && *value > 0 && *value <= std::numeric_limits<uint16_t>::max()
             ? static_cast<uint16_t>(*value)
             : uint16_t{0};
}

/// Meta is text to text.
uint16_t port_of_text(const std::string& text) {
  uint32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > std::numeric_limits<uint16_t>::max()) {
      return 0;
    }
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return port_of(value);
}

/// One entry of /v1/health/service; unsound when it is none, which the registry leaves out.
RegistryInstance instance_of(const Document& json, NodeId entry) {
  const NodeId service = json.find(entry, "Service");
  const NodeId meta = json.find(service, "Meta");
  RegistryInstance instance{.id = json.string(json.find(service, "ID")),
                            .host = json.string(json.find(service, "Address")),
                            .port = port_of(json.integer(json.find(service, "Port"))),
                            .agent_port = port_of_text(json.string(json.find(meta, "agent_port"))),
                            .zone = json.string(json.find(meta, "zone")),
                            .server_class = json.string(json.find(meta, "class"))};
  if (instance.host.empty()) {
    instance.host = json.string(json.find(json.find(entry, "Node"), "Address"));
  }
  return instance;
}

class ConsulRegistry final : public Registry {
 public:
  ConsulRegistry(net::Reactor& reactor, const RegistryHttpSettings& http, RegistrySettings settings)
      : Registry(reactor, std::move(settings)), http_(reactor, http, "X-Consul-Token") {}

  [[nodiscard]] std::string_view kind() const override { return "consul"; }

 private:
  using Outcome = base::Result<RegistryHttp::Answer, RegistryHttp::Failure>;

  void begin_renew(const RegistryInstance& instance, bool first) override {
    if (first) {
      http_.call("PUT", "/v1/agent/service/register?replace-existing-checks=true",
                 registration(instance), deadline(), [this](const Outcome& outcome) {
                   if (outcome) {
                     on_renewed(false);
                   } else {
                     on_renew_failed(outcome.error().error, outcome.error().text("register"));
                   }
                 });
      return;
    }
    http_.call("PUT", "/v1/agent/check/pass/service:" + instance.id, {}, deadline(),
               [this](const Outcome& outcome) {
                 if (outcome) {
                   on_renewed(false);
                 } else if (is_unknown(outcome.error())) {
                   on_lost();
                 } else {
                   on_renew_failed(outcome.error().error, outcome.error().text("check/pass"));
                 }
               });
  }

  void begin_withdraw(const RegistryInstance& instance) override {
    http_.call("PUT", "/v1/agent/service/deregister/" + instance.id, {}, deadline(),
               [this](const Outcome& outcome) {
                 if (outcome || is_unknown(outcome.error())) {
                   on_withdrawn();
                 } else {
                   on_renew_failed(outcome.error().error, outcome.error().text("deregister"));
                 }
               });
  }

  void begin_read(bool at_once) override {
    const bool blocking = index_ > 0 && !at_once;
    std::string path = fmt::format("/v1/health/service/{}?passing", settings_.service);
    base::Instant until = deadline();
    if (blocking) {
      path += fmt::format("&index={}&wait={}s", index_, kWait.count());
      until += kWait + kWait / 16 + std::chrono::seconds(1);  // Consul adds up to a sixteenth
    }
    http_.call("GET", path, {}, until, [this, blocking](const Outcome& outcome) {
      if (outcome) {
        take_members(*outcome, blocking);
      } else {
        index_ = 0;
        on_read_failed(outcome.error().error, outcome.error().text("health/service"));
      }
    });
  }

  void take_members(const RegistryHttp::Answer& answer, bool blocking) {
    if (!members_.walk(answer.body) || !members_.is(members_.root(), openrtb::Kind::kArray)) {
      index_ = 0;
      on_read_failed(RegistryErrc::kMalformed, "health/service: no JSON list");
      return;
    }
    std::vector<RegistryInstance> instances;
    for (const NodeId entry : members_.children(members_.root())) {
      instances.push_back(instance_of(members_, entry));
    }
    const uint64_t index = std::max<uint64_t>(answer.index, 1);
    if (index < index_) {
      counters_.index_resets.add();
      index_ = 0;
    } else {
      if (blocking && index == index_) {
        counters_.idle_wakes.add();
      }
      index_ = index;
    }
    on_read(std::move(instances), index, pause());
  }

  /// A token bucket against registries whose blocking reads return at once.
  base::Duration pause() {
    const base::Instant now = reactor_.refresh();
    if (now - refilled_at_ >= settings_.poll) {
      const auto intervals = (now - refilled_at_) / settings_.poll;
      tokens_ = static_cast<uint32_t>(std::min<int64_t>(kBurst, tokens_ + intervals));
      refilled_at_ = now;
    }
    if (tokens_ > 0) {
      --tokens_;
      return {};
    }
    refilled_at_ = now + settings_.poll;  // the token that the pause earns is spent by its end
    return settings_.poll;
  }

  [[nodiscard]] std::string registration(const RegistryInstance& instance) const {
    const int64_t ttl_s = seconds_of(settings_.ttl);
    constexpr int64_t kLeastReapSeconds = 60;
    return fmt::format(
        R"({{"Name":{},"ID":{},"Address":{},"Port":{},"Meta":{{"agent_port":"{}","zone":{},"class":{}}},)"
        R"("Check":{{"CheckID":{},"TTL":"{}s","Status":"passing","DeregisterCriticalServiceAfter":"{}s"}}}})",
        json_string(settings_.service), json_string(instance.id), json_string(instance.host),
        instance.port, instance.agent_port, json_string(instance.zone),
        json_string(instance.server_class), json_string("service:" + instance.id), ttl_s,
        std::max(kLeastReapSeconds, 4 * ttl_s));
  }

  /// An agent that has forgotten us says so with 404, older ones with 500 and these words.
  [[nodiscard]] static bool is_unknown(const RegistryHttp::Failure& failure) {
    constexpr uint16_t kNotFound = 404;
    constexpr uint16_t kInternal = 500;
    return failure.status == kNotFound ||
           (failure.status == kInternal &&
            (failure.body.contains("does not have associated TTL") ||
             failure.body.contains("nknown check") || failure.body.contains("nknown service")));
  }

  static constexpr size_t kMaxNodes = size_t{1} << 20;

  Document members_{kMaxNodes};
  uint64_t index_ = 0;
  uint32_t tokens_ = kBurst;
  base::Instant refilled_at_{};
  RegistryHttp http_;
};

}  // namespace

std::unique_ptr<Registry> consul_registry(net::Reactor& reactor, const RegistryHttpSettings& http,
                                          RegistrySettings settings) {
  return std::make_unique<ConsulRegistry>(reactor, http, std::move(settings));
}

}  // namespace spillway::adapters
