#include "app/config/config_file.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/result.h"

namespace spillway::app {

namespace {

/// How long a pipe may keep a reader waiting; a process substitution writes at once.
constexpr int kPipeWaitMs = 2000;

struct Descriptor {
  explicit Descriptor(int value) : fd(value) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (fd >= 0) {
      ::close(fd);
    }
  }

  const int fd;
};

/// Bytes read into `chunk`, 0 at the end, -1 with errno. Waits for a pipe, but not for ever.
ssize_t read_some(int fd, std::span<char> chunk) {
  for (;;) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count >= 0 || (errno != EAGAIN && errno != EINTR)) {
      return count;
    }
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    if (errno == EAGAIN && ::poll(&readable, 1, kPipeWaitMs) == 0) {
      errno = ETIMEDOUT;
      return -1;
    }
  }
}

}  // namespace

base::Result<std::string, std::string> read_whole_file(const std::string& path,
                                                       size_t limit_bytes) {
  const auto problem = [&path](std::string_view what) {
    return std::unexpected(
        fmt::format("{}: cannot be {}: {}", path, what, std::generic_category().message(errno)));
  };
  // Without O_NONBLOCK, opening a pipe nobody writes to would hold the thread for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.fd < 0) {
    return problem("opened");
  }
  std::string text;
  std::array<char, 65536> chunk{};
  ssize_t count = 0;
  while ((count = read_some(file.fd, chunk)) > 0) {
    text.append(chunk.data(), static_cast<size_t>(count));
    if (text.size() > limit_bytes) {
      return std::unexpected(fmt::format("{}: is larger than {} bytes", path, limit_bytes));
    }
  }
  if (count < 0) {
    return problem("read");
  }
  return text;
}

bool ends_within_a_line(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat about{};
  if (file.fd < 0 || ::fstat(file.fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    return false;
  }
  char last = '\n';
  return about.st_size > 0 && ::pread(file.fd, &last, 1, about.st_size - 1) == 1 && last != '\n';
}

base::Result<std::string, std::string> read_config_file(const std::string& path) {
  constexpr size_t kLimitBytes = size_t{16} << 20;
  return read_whole_file(path, kLimitBytes);
}

}  // namespace spillway::app
