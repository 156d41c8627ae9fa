#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/comparison.h"

namespace spillway::app {

/// What `spillway load --report` wrote, as far as a comparison needs it: a block an interval that
/// had requests. The error is one sentence.
[[nodiscard]] base::Result<std::vector<workload::RunBlock>, std::string> parse_run(
    std::string_view text);

}  // namespace spillway::app
