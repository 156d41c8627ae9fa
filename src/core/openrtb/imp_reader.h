#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::openrtb {

/// What is kept of what was checked: all of a RequestView, or what check_request says.
enum class Keep : uint8_t { kAll, kHead };

/// Checks one imp, whose types are known to be right, and fills `out`, reusing its memory.
[[nodiscard]] std::optional<FieldError> read_imp(const Document& document, NodeId imp,
                                                 const RequestPolicy& policy, Keep keep, Imp& out);

/// What is wrong with a native request (the text of `native.request`); nullopt when nothing is.
/// Source: OpenRTB Dynamic Native Ads API 1.2, section 4.
[[nodiscard]] std::optional<std::string_view> native_problem(std::string_view request);

}  // namespace spillway::openrtb
