#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace spillway::app {

/// The requests in a file: with the ending .json the whole of it, else one a line that is not
/// blank. Or those of every .json and .ndjson file of a folder, by name. At most 100 000 and 1 GiB.
/// The error is one sentence.
[[nodiscard]] base::Result<std::vector<std::string>, std::string> read_requests(
    const std::string& path);

}  // namespace spillway::app
