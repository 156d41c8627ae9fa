#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/haproxy_report.h"
#include "base/result.h"

namespace spillway::app::balancing {

/// One server of the backend: `show stat` and `show servers state` together.
struct ServerPicture {
  adapters::HaproxyServerStat stat;
  adapters::HaproxyServerState state;

  /// A person or a program ordered it out of service.
  [[nodiscard]] bool in_forced_maint() const { return (state.admin & adapters::kForcedMaint) != 0; }

  [[nodiscard]] bool in_resolver_maint() const {
    return (state.admin & adapters::kResolverMaint) != 0;
  }

  /// Takes traffic when its weight lets it.
  [[nodiscard]] bool is_up() const;
};

/// One backend of one HAProxy at one moment.
struct Picture {
  adapters::HaproxyInfo info;
  std::string mode;
  std::string algorithm;
  std::map<std::string, ServerPicture, std::less<>> servers;  ///< By name.
};

/// Which of picture_commands() asks for the servers' states.
inline constexpr size_t kStatesAnswer = 1;

/// The commands whose answers make a picture of `backend`, in the order picture_of() takes them.
[[nodiscard]] std::vector<std::string> picture_commands(std::string_view backend);

/// From the answers to picture_commands(); the error is one sentence.
[[nodiscard]] base::Result<Picture, std::string> picture_of(const std::vector<std::string>& answers,
                                                            std::string_view backend);

}  // namespace spillway::app::balancing
