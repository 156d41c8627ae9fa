#pragma once

namespace spillway::base {

/// Prints the broken rule and aborts. Called by SPILLWAY_ASSERT only.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace spillway::base

/// A programmer's promise, checked in release builds too. Bytes from the wire must never reach one.
#define SPILLWAY_ASSERT(condition)                   \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::spillway::base::assertion_failed(#condition, __FILE__, __LINE__))
