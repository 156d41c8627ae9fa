#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "capacity/sample.h"

namespace spillway::capacity {

/// A sample as one line of JSON, for peers and for files: a flat object, readable names, version 1.
///
///     {"version":1,"id":"i-1","zone":"a","class":"c5.4xlarge","capacity":812.5,…,"at_ns":-1200}
///
/// Reading accepts keys it does not know (a later minor change) whose value is flat, and no other
/// version. Every sample that is plausible() survives writing and reading to the last bit.

/// A longer line is refused unread.
inline constexpr size_t kLongestLine = 4096;
inline constexpr size_t kMostKeys = 64;

enum class TextErrc : uint8_t {
  kTooLong,
  kNotAnObject,  ///< Not `{…}` with "key":value pairs, or something after it.
  kNotFlat,      ///< A value that is an object or an array.
  kBadString,    ///< Not closed, or an escape other than of ASCII.
  kBadNumber,    ///< Not a number of its range and kind.
  kBadValue,     ///< A word or a kind of value that the key does not take.
  kTwice,        ///< A key stands twice.
  kTooManyKeys,
  kMissing,  ///< A key without which a sample says nothing.
  kWrongVersion,
  kImplausible,  ///< Read well, and not plausible().
};
inline constexpr size_t kTextErrcs = 11;

[[nodiscard]] std::string_view to_string(TextErrc errc);

struct TextProblem {
  TextErrc errc;
  std::string key;    ///< That it happened at; empty outside of any.
  size_t offset = 0;  ///< In bytes from the line's begin.
};

/// "bad_number at key utilization, byte 57".
[[nodiscard]] std::string to_string(const TextProblem& problem);

/// Appends the line, without an end of line. Times are told from `reference`: a sender of messages
/// passes its now, and the receiver its own, so that no clocks need to agree; a writer of a file
/// passes the instant of the Unix epoch on its clock, so that at_ns is wall time.
/// The sample must be plausible().
void append_text(std::string& out, const Sample& sample, base::Instant reference);

/// Reads any bytes. `reference` within ±4·10^18 ns.
[[nodiscard]] base::Result<Sample, TextProblem> parse_text(std::string_view line,
                                                           base::Instant reference);

}  // namespace spillway::capacity
