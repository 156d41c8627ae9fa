#include "adapters/kernel_file.h"

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "net/stream.h"

namespace spillway::adapters {
namespace {

constexpr size_t kFirstBytes = 4096;
constexpr size_t kMostBytes = size_t{1} << 20;

/// From the beginning. These files are read whole when a reading does not fill the buffer.
std::optional<std::string_view> read_whole(int fd, std::string& scratch) {
  if (scratch.size() < kFirstBytes) {
    scratch.resize(kFirstBytes);
  }
  size_t size = 0;
  while (true) {
    const ssize_t got =
        ::pread(fd, scratch.data() + size, scratch.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return std::nullopt;
    }
    size += static_cast<size_t>(got);
    if (got == 0 || size < scratch.size() || size >= kMostBytes) {
      return std::string_view(scratch).substr(0, size);
    }
    scratch.resize(2 * scratch.size());
  }
}

bool is_made_when_read(int fd) {
  struct statfs about{};
  return ::fstatfs(fd, &about) == 0 &&
         (about.f_type == PROC_SUPER_MAGIC || about.f_type == CGROUP_SUPER_MAGIC ||
          about.f_type == CGROUP2_SUPER_MAGIC);
}

}  // namespace

std::optional<std::string_view> KernelFile::read(std::string& scratch) {
  if (kept_) {
    if (const auto text = read_whole(kept_.fd(), scratch)) {
      return text;
    }
    kept_.reset();
  }
  if (path_.empty()) {
    return std::nullopt;
  }
  net::UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return std::nullopt;
  }
  const auto text = read_whole(file.fd(), scratch);
  if (text && is_made_when_read(file.fd())) {
    kept_ = std::move(file);
  }
  return text;
}

}  // namespace spillway::adapters
