#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
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
using openrtb::NodeId;

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint32_t kSixBits = 0x3f;

std::string base64(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i += 3) {
    const size_t count = std::min<size_t>(3, text.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < count ? static_cast<unsigned char>(text[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      out += k <= count ? kDigits[bits >> (18 - 6 * k) & kSixBits] : '=';
    }
  }
  return out;
}

/// Nothing when it is no base64.
std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) {
    text.remove_suffix(1);
  }
  std::string out;
  uint32_t bits = 0;
  uint32_t held = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>(bits >> held & 0xffU);
    }
  }
  return out;
}

/// 64-bit numbers come as text.
uint64_t number_of(const Document& json, NodeId node) {
  uint64_t value = 0;
  for (const char c : json.raw_string(node)) {
    if (c < '0' || c > '9') {
      return 0;
    }
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

class EtcdRegistry final : public Registry {
 public:
  EtcdRegistry(net::Reactor& reactor, const RegistryHttpSettings& http, RegistrySettings settings)
      : Registry(reactor, std::move(settings)), http_(reactor, http, "Authorization") {}

  [[nodiscard]] std::string_view kind() const override { return "etcd"; }

 private:
  using Outcome = base::Result<RegistryHttp::Answer, RegistryHttp::Failure>;

  void begin_renew(const RegistryInstance& instance, bool first) override {
    if (first) {
      grant(instance);
      return;
    }
    call("/v3/lease/keepalive", lease_body(), "lease/keepalive", [this](const Document& answer) {
      // An expired lease is answered with 200 and no TTL.
      const NodeId result = answer.find(answer.root(), "result");
      if (number_of(answer, answer.find(result, "TTL")) > 0) {
        on_renewed(false);
      } else {
        on_lost();
      }
    });
  }

  void grant(const RegistryInstance& instance) {
    const int64_t ttl_s = std::chrono::ceil<std::chrono::seconds>(settings_.ttl).count();
    call("/v3/lease/grant", fmt::format(R"({{"TTL":"{}"}})", ttl_s), "lease/grant",
         [this, instance](const Document& answer) {
           lease_ = number_of(answer, answer.find(answer.root(), "ID"));
           if (lease_ == 0) {
             on_renew_failed(RegistryErrc::kMalformed, "lease/grant: no ID");
           } else {
             put(instance);
           }
         });
  }

  void put(const RegistryInstance& instance) {
    call("/v3/kv/put",
         fmt::format(R"({{"key":"{}","value":"{}","lease":"{}"}})", base64(prefix() + instance.id),
                     base64(to_json(instance)), lease_),
         "kv/put", [this](const Document& /*answer*/) { on_renewed(false); });
  }

  void begin_withdraw(const RegistryInstance& /*instance*/) override {
    if (lease_ == 0) {
      on_withdrawn();
      return;
    }
    http_.call("POST", "/v3/lease/revoke", lease_body(), deadline(),
               [this](const Outcome& outcome) {
                 constexpr uint16_t kNotFound = 404;
                 if (outcome || outcome.error().status == kNotFound) {
                   lease_ = 0;
                   on_withdrawn();
                 } else {
                   on_renew_failed(outcome.error().error, outcome.error().text("lease/revoke"));
                 }
               });
  }

  void begin_read(bool /*at_once*/) override {
    std::string end = prefix();
    ++end.back();
    http_.call("POST", "/v3/kv/range",
               fmt::format(R"({{"key":"{}","range_end":"{}","limit":"{}"}})", base64(prefix()),
                           base64(end), kMaxInstances + 1),
               deadline(), [this](const Outcome& outcome) {
                 if (outcome) {
                   take_members(outcome->body);
                 } else {
                   on_read_failed(outcome.error().error, outcome.error().text("kv/range"));
                 }
               });
  }

  void take_members(std::string_view body) {
    const NodeId root = members_.walk(body) ? members_.root() : openrtb::kAbsent;
    const uint64_t revision =
        number_of(members_, members_.find(members_.find(root, "header"), "revision"));
    if (revision == 0) {
      on_read_failed(RegistryErrc::kMalformed, "kv/range: no header.revision");
      return;
    }
    std::vector<RegistryInstance> instances;
    for (const NodeId pair : members_.children(members_.find(root, "kvs"))) {
      const auto value = from_base64(members_.raw_string(members_.find(pair, "value")));
      const auto instance = value ? instance_from_json(*value) : std::nullopt;
      instances.push_back(instance.value_or(RegistryInstance{.id = {}}));  // left out as unsound
    }
    if (revision < revision_) {
      counters_.index_resets.add();
    }
    revision_ = revision;
    on_read(std::move(instances), revision, settings_.poll);
  }

  /// A call about our membership; `done` when it was answered with JSON.
  template <typename Done>
  void call(std::string_view path, const std::string& body, std::string_view what, Done done) {
    http_.call("POST", path, body, deadline(),
               [this, what, done = std::move(done)](const Outcome& outcome) {
                 if (!outcome) {
                   on_renew_failed(outcome.error().error, outcome.error().text(what));
                 } else if (Document answer(kSmall); answer.walk(outcome->body)) {
                   done(answer);
                 } else {
                   on_renew_failed(RegistryErrc::kMalformed, std::string(what) + ": no JSON");
                 }
               });
  }

  [[nodiscard]] std::string lease_body() const { return fmt::format(R"({{"ID":"{}"}})", lease_); }

  [[nodiscard]] std::string prefix() const { return "/spillway/" + settings_.service + "/"; }

  static constexpr size_t kSmall = 256;
  static constexpr size_t kMaxNodes = size_t{1} << 17;

  Document members_{kMaxNodes};
  uint64_t lease_ = 0;
  uint64_t revision_ = 0;
  RegistryHttp http_;
};

}  // namespace

std::unique_ptr<Registry> etcd_registry(net::Reactor& reactor, const RegistryHttpSettings& http,
                                        RegistrySettings settings) {
  return std::make_unique<EtcdRegistry>(reactor, http, std::move(settings));
}

}  // namespace spillway::adapters
