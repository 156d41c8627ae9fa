#include "capacity/sample_text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "capacity/sample.h"
#include "capacity/text_scanner.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {

namespace {

constexpr std::array<std::string_view, kTextErrcs> kErrcNames = {
    "too_long", "not_an_object", "not_flat", "bad_string",    "bad_number", "bad_value",
    "twice",    "too_many_keys", "missing",  "wrong_version", "implausible"};

constexpr std::array<std::string_view, 4> kStates = {"warming", "serving", "frozen", "draining"};

/// Of a time or a duration: a sum of two does not overflow.
constexpr int64_t kFarthestNs = 4'000'000'000'000'000'000;

using Field =
    std::variant<std::string Sample::*, double Sample::*, uint64_t Sample::*, bool Sample::*,
                 base::Duration Sample::*, base::Instant Sample::*, ServerState Sample::*>;

struct Key {
  std::string_view name;
  Field field;
  bool needed;
};

const std::array kKeys = {
    Key{"id", &Sample::id, true},
    Key{"zone", &Sample::zone, true},
    Key{"class", &Sample::server_class, true},
    Key{"capacity", &Sample::capacity, true},
    Key{"utilization", &Sample::utilization, true},
    Key{"successes_per_second", &Sample::successes_per_second, true},
    Key{"requests_per_second", &Sample::requests_per_second, false},
    Key{"weight", &Sample::weight, true},
    Key{"state", &Sample::state, true},
    Key{"sequence", &Sample::sequence, true},
    Key{"at_ns", &Sample::taken_at, true},
    Key{"failures_per_second", &Sample::failures_per_second, false},
    Key{"throttled_share", &Sample::throttled_share, false},
    Key{"pressure", &Sample::pressure, false},
    Key{"p95_ms", &Sample::p95_ms, false},
    Key{"cores", &Sample::cores, false},
    Key{"window_ns", &Sample::window, false},
    Key{"serving_for_ns", &Sample::serving_for, false},
    Key{"started_at_ms", &Sample::started_at_ms, false},
    Key{"sensor_alive", &Sample::sensor_alive, false},
    Key{"counts_successes", &Sample::counts_successes, false},
};
constexpr std::string_view kVersionKey = "version";
constexpr std::string_view kVersion = "1";

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      out.append(1, '\\').append(1, byte);
    } else if (code < 0x20) {
      out.append("\\u00").append(1, kHex[code >> 4]).append(1, kHex[code & 15]);
    } else {
      out += byte;
    }
  }
  out += '"';
}

template <typename Number>
void append_number(std::string& out, Number number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number);
  out.append(text, end.ptr);
}

/// Writes a member's value.
struct Writer {
  std::string& out;
  const Sample& sample;
  base::Instant reference;

  void operator()(std::string Sample::* field) const { append_string(out, sample.*field); }

  void operator()(double Sample::* field) const { append_number(out, sample.*field); }

  void operator()(uint64_t Sample::* field) const { append_number(out, sample.*field); }

  void operator()(bool Sample::* field) const { out += sample.*field ? "true" : "false"; }

  void operator()(base::Duration Sample::* field) const {
    append_number(out, (sample.*field).count());
  }

  void operator()(base::Instant Sample::* field) const {
    append_number(out, (sample.*field - reference).count());
  }

  void operator()(ServerState Sample::* field) const {
    append_string(out, kStates[static_cast<size_t>(sample.*field)]);
  }
};

template <typename Number>
bool read_number(const Token& token, Number& number) {
  if (token.is_string || token.text.empty() ||
      token.text.find_first_not_of("0123456789+-.eE") != std::string::npos) {
    return false;
  }
  const char* const end = token.text.data() + token.text.size();
  const auto read = std::from_chars(token.text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end;
}

/// Reads a member's value; the reason if it cannot be one.
struct Reader {
  Sample& sample;
  const Token& token;
  base::Instant reference;
  using Verdict = std::optional<TextErrc>;

  Verdict operator()(std::string Sample::* field) const {
    if (!token.is_string) {
      return TextErrc::kBadValue;
    }
    sample.*field = token.text;
    return std::nullopt;
  }

  Verdict operator()(double Sample::* field) const {
    return read_number(token, sample.*field) ? Verdict() : TextErrc::kBadNumber;
  }

  Verdict operator()(uint64_t Sample::* field) const {
    return read_number(token, sample.*field) ? Verdict() : TextErrc::kBadNumber;
  }

  Verdict operator()(bool Sample::* field) const {
    if (token.is_string || (token.text != "true" && token.text != "false")) {
      return TextErrc::kBadValue;
    }
    sample.*field = token.text == "true";
    return std::nullopt;
  }

  Verdict operator()(base::Duration Sample::* field) const {
    const auto nanos = read_nanos();
    sample.*field = base::Duration(nanos.value_or(0));
    return nanos ? Verdict() : TextErrc::kBadNumber;
  }

  Verdict operator()(base::Instant Sample::* field) const {
    const auto nanos = read_nanos();
    sample.*field = reference + base::Duration(nanos.value_or(0));
    return nanos ? Verdict() : TextErrc::kBadNumber;
  }

  Verdict operator()(ServerState Sample::* field) const {
    for (size_t i = 0; token.is_string && i < kStates.size(); ++i) {
      if (token.text == kStates[i]) {
        sample.*field = static_cast<ServerState>(i);
        return std::nullopt;
      }
    }
    return TextErrc::kBadValue;
  }

  [[nodiscard]] std::optional<int64_t> read_nanos() const {
    int64_t nanos = 0;
    if (!read_number(token, nanos) || nanos > kFarthestNs || nanos < -kFarthestNs) {
      return std::nullopt;
    }
    return nanos;
  }
};

/// What was read so far.
struct Draft {
  Sample sample;
  uint64_t seen = 0;  ///< A bit a key of kKeys, and one for the version after them.
  size_t keys = 0;
};

std::optional<TextErrc> take_pair(Draft& draft, const std::string& name, const Token& token,
                                  base::Instant reference) {
  size_t index = 0;
  while (index < kKeys.size() && kKeys[index].name != name) {
    ++index;
  }
  const bool is_version = name == kVersionKey;
  if (index == kKeys.size() && !is_version) {
    return std::nullopt;
  }
  const uint64_t bit = uint64_t{1} << index;
  if ((draft.seen & bit) != 0) {
    return TextErrc::kTwice;
  }
  draft.seen |= bit;
  if (is_version) {
    return token.is_string || token.text != kVersion ? std::optional(TextErrc::kWrongVersion)
                                                     : std::nullopt;
  }
  return std::visit(Reader{.sample = draft.sample, .token = token, .reference = reference},
                    kKeys[index].field);
}

/// The name of the first key that is needed and was not read.
std::string_view missing(const Draft& draft) {
  if ((draft.seen >> kKeys.size() & 1) == 0) {
    return kVersionKey;
  }
  for (size_t i = 0; i < kKeys.size(); ++i) {
    if (kKeys[i].needed && (draft.seen >> i & 1) == 0) {
      return kKeys[i].name;
    }
  }
  return {};
}

/// One `"key":value`; leaves the key in `name`.
std::optional<TextErrc> read_pair(TextScanner& scanner, Draft& draft, std::string& name,
                                  base::Instant reference) {
  if (++draft.keys > kMostKeys) {
    return TextErrc::kTooManyKeys;
  }
  if (auto wrong = scanner.string(name)) {
    return wrong;
  }
  if (!scanner.take(':')) {
    return TextErrc::kNotAnObject;
  }
  Token token;
  if (auto wrong = scanner.value(token)) {
    return wrong;
  }
  return take_pair(draft, name, token, reference);
}

}  // namespace

std::string_view to_string(TextErrc errc) { return kErrcNames[static_cast<size_t>(errc)]; }

std::string to_string(const TextProblem& problem) {
  std::string text(to_string(problem.errc));
  if (!problem.key.empty()) {
    text.append(" at key ").append(problem.key);
  }
  return text.append(", byte ").append(std::to_string(problem.offset));
}

void append_text(std::string& out, const Sample& sample, base::Instant reference) {
  out.append("{\"version\":").append(kVersion);
  const Writer writer{.out = out, .sample = sample, .reference = reference};
  for (const Key& key : kKeys) {
    out.append(",\"").append(key.name).append("\":");
    std::visit(writer, key.field);
  }
  out += '}';
}

base::Result<Sample, TextProblem> parse_text(std::string_view line, base::Instant reference) {
  TextScanner scanner(line);
  const auto refuse = [&](TextErrc errc, std::string key = {}) {
    return std::unexpected(
        TextProblem{.errc = errc, .key = std::move(key), .offset = scanner.offset()});
  };
  if (line.size() > kLongestLine) {
    return refuse(TextErrc::kTooLong);
  }
  if (!scanner.take('{')) {
    return refuse(TextErrc::kNotAnObject);
  }
  Draft draft;
  bool more = !scanner.take('}');
  while (more) {
    std::string name;
    if (const auto wrong = read_pair(scanner, draft, name, reference)) {
      return refuse(*wrong, std::move(name));
    }
    more = scanner.take(',');
    if (!more && !scanner.take('}')) {
      return refuse(TextErrc::kNotAnObject, std::move(name));
    }
  }
  if (!scanner.at_end()) {
    return refuse(TextErrc::kNotAnObject);
  }
  if (const auto name = missing(draft); !name.empty()) {
    return refuse(TextErrc::kMissing, std::string(name));
  }
  if (!plausible(draft.sample)) {
    return refuse(TextErrc::kImplausible);
  }
  return std::move(draft.sample);
}

}  // namespace spillway::capacity
