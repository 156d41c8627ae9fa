#pragma once

#include <string>

namespace spillway::bidder {

class Pipeline;

/// Why a request has the answer it has, as a JSON object: reason, privacy, segments, what was
/// dropped in retrieval by reason, and for each imp the contenders (64 at most) with their value,
/// price and the stage and reason that dropped them. Of a pipeline at the end of its request.
/// Allocates.
[[nodiscard]] std::string explanation(const Pipeline& pipeline);

}  // namespace spillway::bidder
