#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/reader.h"
#include "base/time.h"
#include "workload/fault.h"
#include "workload/partner.h"

namespace spillway::app {

/// One fake DSP of the farm.
struct FarmDspConfig {
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> hosts;   ///< Further addresses, on the same port.
  std::string cert_file, key_file;  ///< PEM; empty: plain.
  workload::PartnerSettings partner;
};

/// One configuration of `spillway dsp`: docs/load_and_farm.md has every key.
struct FarmConfig {
  std::string admin_listen = "127.0.0.1:0";
  uint64_t seed = 1;
  std::vector<FarmDspConfig> dsps;
};

/// Reads `text`; everything wrong is appended to `problems`, and the result may be used only when
/// there is nothing.
[[nodiscard]] FarmConfig read_farm_config(std::string_view text,
                                          std::vector<ConfigProblem>& problems);

/// The body of POST /admin/fault: a fault as in the configuration, as JSON, with `for` in place
/// of `from` and `to`.
struct FaultCall {
  workload::Fault fault;
  base::Duration lasting = base::Duration::max();
};

[[nodiscard]] FaultCall read_fault_call(std::string_view text,
                                        std::vector<ConfigProblem>& problems);

}  // namespace spillway::app
