#pragma once

#include <string>

#include "base/rng.h"

namespace spillway::workload {

/// A sound request made one that a server must refuse, in one of the ways callers break theirs: cut
/// off, something behind it, a byte that is no UTF-8, no imps, an array instead of an object.
/// Requires a JSON object with an `imp` array.
[[nodiscard]] std::string broken_request(std::string text, base::Rng& rng);

}  // namespace spillway::workload
