#pragma once

#include <string>
#include <string_view>

#include "openrtb/document.h"

namespace spillway::workload {

/// Whether a member's name says that its number counts per time: one of its words is daily, hourly,
/// weekly or monthly, or it ends in per_second, per_minute, per_hour or per_day.
[[nodiscard]] bool is_per_time(std::string_view name);

/// The JSON text with every such number divided by `time_scale`, in exact millionths: a day that
/// runs 24 times as fast holds a 24th of the requests, and so must its budget. Prices stay. Text
/// that is no JSON, and a scale of 1, give the same text. `document` is scratch memory.
[[nodiscard]] std::string money_per_time_rescaled(std::string_view text, double time_scale,
                                                  openrtb::Document& document);

}  // namespace spillway::workload
