#pragma once

#include <expected>

namespace spillway::base {

/// A value, or the reason there is none: E is a one-byte enum of the room that returns it, or a
/// small struct where the reader of the error needs a place and a name.
template <typename T, typename E>
using Result = std::expected<T, E>;

}  // namespace spillway::base
