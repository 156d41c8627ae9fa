#include "adapters/cpu_text.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "net/stream.h"

namespace spillway::adapters {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  return text;
}

/// Calls `each` with every line until it says false.
template <typename Each>
void for_lines(std::string_view text, Each each) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    if (!each(line)) {
      return;
    }
  }
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const char* const first = text.data();
  const char* const end = first + text.size();
  const auto [rest, error] = std::from_chars(first, end, value);
  return error == std::errc() && rest == end && !text.empty() ? std::optional(value) : std::nullopt;
}

/// Takes the next word off `text`; empty at the end.
std::string_view next_word(std::string_view& text) {
  while (text.starts_with(' ')) {
    text.remove_prefix(1);
  }
  const auto word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

bool has_controller(std::string_view list, std::string_view controller) {
  while (!list.empty()) {
    const auto word = list.substr(0, list.find(','));
    if (word == controller) {
      return true;
    }
    list.remove_prefix(word.size() < list.size() ? word.size() + 1 : word.size());
  }
  return false;
}

}  // namespace

std::optional<std::string> read_kernel_file(const std::string& path, size_t limit_bytes) {
  const net::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return std::nullopt;
  }
  std::string text;
  std::array<char, 4096> bytes{};
  while (text.size() < limit_bytes) {
    const auto got = ::read(file.fd(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return std::nullopt;
    }
    if (got == 0) {
      break;
    }
    text.append(bytes.data(), static_cast<size_t>(got));
  }
  return text;
}

std::optional<HostTicks> parse_proc_stat(std::string_view text) {
  std::optional<HostTicks> out;
  uint32_t cores = 0;
  for_lines(text, [&](std::string_view line) {
    const auto name = next_word(line);
    if (!name.starts_with("cpu")) {
      return false;
    }
    if (name.size() > 3) {
      ++cores;
      return true;
    }
    std::array<uint64_t, 8> fields{};
    for (size_t i = 0; i < fields.size(); ++i) {
      const auto value = whole_number<uint64_t>(next_word(line));
      if (!value && i < 4) {
        return false;
      }
      fields.at(i) = value.value_or(0);
    }
    const auto [user, nice, system, idle, iowait, irq, softirq, steal] = fields;
    out = HostTicks{.used = user + nice + system + irq + softirq,
                    .idle = idle + iowait,
                    .stolen = steal,
                    .cores = 0};
    return true;
  });
  if (!out || cores == 0) {
    return std::nullopt;
  }
  out->cores = cores;
  return out;
}

std::optional<uint64_t> parse_keyed(std::string_view text, std::string_view key) {
  std::optional<uint64_t> out;
  for_lines(text, [&](std::string_view line) {
    if (next_word(line) != key) {
      return true;
    }
    out = whole_number<uint64_t>(next_word(line));
    return false;
  });
  return out;
}

std::optional<int64_t> parse_number(std::string_view text) {
  return whole_number<int64_t>(trimmed(text));
}

std::optional<double> parse_cpu_max(std::string_view text) {
  text = trimmed(text);
  const auto quota = next_word(text);
  const auto period = whole_number<uint64_t>(next_word(text));
  if (!period || *period == 0) {
    return std::nullopt;
  }
  if (quota == "max") {
    return std::numeric_limits<double>::infinity();
  }
  const auto limit = whole_number<uint64_t>(quota);
  if (!limit || *limit == 0) {
    return std::nullopt;
  }
  return static_cast<double>(*limit) / static_cast<double>(*period);
}

std::optional<uint32_t> parse_cpu_list(std::string_view text) {
  text = trimmed(text);
  uint32_t count = 0;
  while (!text.empty()) {
    const auto part = text.substr(0, text.find(','));
    text.remove_prefix(part.size() < text.size() ? part.size() + 1 : part.size());
    const auto dash = part.find('-');
    const auto first = whole_number<uint32_t>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : whole_number<uint32_t>(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last > 1'000'000) {
      return std::nullopt;
    }
    count += *last - *first + 1;
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

std::optional<uint64_t> parse_pressure(std::string_view text) {
  std::optional<uint64_t> out;
  for_lines(text, [&](std::string_view line) {
    const auto total = line.find("total=");
    if (!line.starts_with("some ") || total == std::string_view::npos) {
      return true;
    }
    out = whole_number<uint64_t>(trimmed(line.substr(total + 6)));
    return false;
  });
  return out;
}

std::optional<std::string> parse_group(std::string_view text, std::string_view controller) {
  std::optional<std::string> out;
  for_lines(text, [&](std::string_view line) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      return true;
    }
    const auto list = line.substr(first + 1, second - first - 1);
    const bool is_it = controller.empty() ? list.empty() && line.starts_with("0:")
                                          : has_controller(list, controller);
    if (is_it) {
      out = std::string(line.substr(second + 1));
    }
    return !is_it;
  });
  return out;
}

}  // namespace spillway::adapters
