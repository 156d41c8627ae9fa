#include "adapters/registry_http.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "adapters/registry.h"
#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"

namespace spillway::adapters {

namespace {

using base::CallError;

RegistryErrc error_of(CallError error) {
  switch (error) {
    case CallError::kTimeout:
      return RegistryErrc::kTimeout;
    case CallError::kProtocol:
      return RegistryErrc::kMalformed;
    case CallError::kTooLarge:
      return RegistryErrc::kTooLarge;
    case CallError::kNoConnection:
    case CallError::kNoBudget:
      return RegistryErrc::kBusy;
    case CallError::kNone:
    case CallError::kRefused:
    case CallError::kReset:
    case CallError::kTls:
    case CallError::kDns:
    case CallError::kCancelled:
      break;
  }
  return RegistryErrc::kUnreachable;
}

}  // namespace

std::string RegistryHttp::Failure::text(std::string_view what) const {
  constexpr size_t kShown = 160;
  if (status == 0) {
    return fmt::format("{}: {}", what, to_string(error));
  }
  return fmt::format("{}: HTTP {} {}", what, status, body.substr(0, kShown));
}

RegistryHttp::RegistryHttp(net::Reactor& reactor, const RegistryHttpSettings& settings,
                           const std::string& header)
    : headers_("Content-Type: application/json\r\n"), client_(reactor) {
  if (!settings.token.empty()) {
    headers_ += header + ": " + settings.token + "\r\n";
  }
  constexpr size_t kConnections = 4;
  constexpr size_t kAnswerBytes = 32 << 20;  // 4 095 instances of some 5 KiB, and room
  target_ = client_.add_target({.name = "registry",
                                .host = settings.host,
                                .port = settings.port,
                                .tls = settings.tls,
                                .max_connections = kConnections,
                                .number_header = "X-Consul-Index",
                                .answer_bytes = kAnswerBytes,
                                .resolve_every = std::chrono::seconds(5)});
}

void RegistryHttp::call(std::string_view method, std::string_view path, std::string_view body,
                        base::Instant deadline, Done done) {
  const uint64_t tag = ++next_;
  calls_.emplace(tag, Call{.done = std::move(done)});
  std::vector<std::string_view> parts;
  if (!body.empty()) {
    parts.push_back(body);
  }
  client_.call(target_, method, path, headers_, parts, {.answer_by = deadline}, tag, *this);
}

void RegistryHttp::on_number(uint64_t tag, uint64_t number) {
  if (const auto found = calls_.find(tag); found != calls_.end()) {
    found->second.index = number;
  }
}

void RegistryHttp::on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                             bool /*draining*/) {
  auto call = calls_.extract(tag);
  if (call.empty()) {
    return;
  }
  constexpr uint16_t kGood = 2;
  if (result.error == CallError::kNone && result.status / 100 == kGood) {
    call.mapped().done(
        Answer{.body = body, .index = call.mapped().index, .took = result.elapsed()});
  } else if (result.error == CallError::kNone) {
    call.mapped().done(std::unexpected(
        Failure{.error = RegistryErrc::kStatus, .status = result.status, .body = body}));
  } else {
    call.mapped().done(std::unexpected(Failure{.error = error_of(result.error), .body = {}}));
  }
}

}  // namespace spillway::adapters
