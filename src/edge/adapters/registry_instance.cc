#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "adapters/registry.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::adapters {

namespace {

bool is_word(std::string_view text, size_t least) {
  return text.size() >= least && text.size() <= kMaxRegistryWord &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:") ==
             std::string_view::npos;
}

bool is_literal(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

/// A port written as a number; 0 when absent or none.
uint16_t port_of(const openrtb::Document& json, std::string_view name) {
  const auto value = json.integer(json.find(json.root(), name)).value_or(0);
  return value > 0 && value <= std::numeric_limits<uint16_t>::max() ? static_cast<uint16_t>(value)
                                                                    : uint16_t{0};
}

}  // namespace

bool is_sound(const RegistryInstance& instance) {
  return is_word(instance.id, 1) && is_literal(instance.host) && instance.port != 0 &&
         is_word(instance.zone, 0) && is_word(instance.server_class, 0);
}

std::string to_json(const RegistryInstance& instance) {
  return fmt::format(R"({{"id":{},"host":{},"port":{},"agent_port":{},"zone":{},"class":{}}})",
                     openrtb::json_string(instance.id), openrtb::json_string(instance.host),
                     instance.port, instance.agent_port, openrtb::json_string(instance.zone),
                     openrtb::json_string(instance.server_class));
}

std::optional<RegistryInstance> instance_from_json(std::string_view json) {
  constexpr size_t kMaxBytes = 4096;
  constexpr size_t kMaxNodes = 64;
  if (json.size() > kMaxBytes) {
    return std::nullopt;
  }
  const openrtb::Padded text(json);
  openrtb::Document document(kMaxNodes);
  if (!document.walk(text.view())) {
    return std::nullopt;
  }
  const auto word = [&](std::string_view name) {
    return document.string(document.find(document.root(), name));
  };
  RegistryInstance instance{.id = word("id"),
                            .host = word("host"),
                            .port = port_of(document, "port"),
                            .agent_port = port_of(document, "agent_port"),
                            .zone = word("zone"),
                            .server_class = word("class")};
  if (!is_sound(instance)) {
    return std::nullopt;
  }
  return instance;
}

std::string_view to_string(RegistryErrc error) {
  static constexpr std::array<std::string_view, kRegistryErrors> kNames{
      "unreachable", "timeout", "status", "malformed", "too_large", "busy"};
  return kNames[static_cast<size_t>(error)];
}

std::string_view to_string(RegistryHold hold) {
  return hold == RegistryHold::kEmpty ? "empty" : "shrunk";
}

}  // namespace spillway::adapters
