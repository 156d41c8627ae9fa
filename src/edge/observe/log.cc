#include "observe/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <spdlog/async_logger.h>
#include <spdlog/common.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/poll.h>
#include <sys/types.h>
#include <unistd.h>

namespace spillway::observe {

namespace {

constexpr std::string_view kCut = " cut=true";

spdlog::level::level_enum spdlog_level(Level level) {
  constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                  spdlog::level::err};
  return kLevels[static_cast<size_t>(level)];
}

/// Level names of one spelling, upper case, as on-call people grep for them.
class LevelName final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::string_view name = message.level >= spdlog::level::err    ? "ERROR"
                                  : message.level == spdlog::level::warn ? "WARN"
                                  : message.level == spdlog::level::info ? "INFO"
                                                                         : "DEBUG";
    out.append(name.data(), name.data() + name.size());
  }

  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelName>();
  }
};

/// Writes whole lines to a descriptor; only the logger's one background thread comes here.
class DescriptorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}

  [[nodiscard]] uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string_view rest(line.data(), line.size());
    while (!rest.empty()) {
      const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
      if (written >= 0) {
        rest.remove_prefix(static_cast<size_t>(written));
      } else if (errno == EAGAIN) {
        pollfd ready{.fd = descriptor_, .events = POLLOUT, .revents = 0};
        ::poll(&ready, 1, -1);
      } else if (errno != EINTR) {
        lost_.fetch_add(1, std::memory_order_relaxed);  // nowhere left to complain
        return;
      }
    }
  }

  void flush_() override {}

  int descriptor_;
  std::atomic<uint64_t> lost_{0};
};

std::unique_ptr<spdlog::formatter> formatter() {
  auto made = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, "\n");
  made->add_flag<LevelName>('*');
  made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %* %v");
  return made;
}

}  // namespace

struct Log::Body {
  Body(Level level_in, int descriptor, size_t queue)
      : level(level_in),
        sink(std::make_shared<DescriptorSink>(descriptor)),
        pool(std::make_shared<spdlog::details::thread_pool>(std::max<size_t>(queue, 1), 1)),
        logger(std::make_shared<spdlog::async_logger>(
            "spillway", sink, pool, spdlog::async_overflow_policy::overrun_oldest)) {
    logger->set_formatter(formatter());
    logger->set_level(spdlog_level(level));
    logger->flush_on(spdlog::level::off);
  }

  Level level;
  std::shared_ptr<DescriptorSink> sink;
  // The pool's destructor writes what is queued; the logger goes first, queued events hold it.
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
};

Log::Log(Level level) : Log(level, STDERR_FILENO, kQueue) {}

Log::Log(Level level, int descriptor, size_t queue)
    : body_(std::make_unique<Body>(level, descriptor, queue)) {}

Log::~Log() = default;

bool Log::enabled(Level level) const { return level >= body_->level; }

void Log::write(Level level, std::string line) {
  if (!enabled(level)) {
    return;
  }
  if (line.size() > kLineBytes) {
    line.resize(kLineBytes - kCut.size());
    line += kCut;
  }
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  body_->logger->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

uint64_t Log::dropped() const { return body_->pool->overrun_counter() + body_->sink->lost(); }

std::string quoted(std::string_view value) {
  const auto plain = [](char c) {
    return c > ' ' && c != 0x7f && c != '"' && c != '\\' && c != '=';
  };
  // Bytes from 0x80 on are UTF-8 parts where char is signed too.
  const auto is_plain = [&](char c) { return static_cast<unsigned char>(c) >= 0x80 || plain(c); };
  if (!value.empty() && std::ranges::all_of(value, is_plain)) {
    return std::string(value);
  }
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

}  // namespace spillway::observe
