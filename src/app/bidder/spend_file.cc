#include "app/bidder/spend_file.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

#include "app/config/config_file.h"
#include "base/hash.h"
#include "base/result.h"
#include "bidder/pacing/local_grant.h"

namespace spillway::app::bidding {
namespace {

constexpr std::string_view kHead = "spillway-spent-1\n";
constexpr std::string_view kEnd = "end ";
constexpr size_t kMostBytes = size_t{1} << 30;

/// Takes numbers off the front of a line, a blank behind each but the last.
template <size_t N>
bool read_numbers(std::string_view line, std::array<int64_t, N>& out) {
  for (size_t i = 0; i < N; ++i) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), out[i]);
    if (error != std::errc() || out[i] < 0) {
      return false;
    }
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    if (i + 1 < N) {
      if (!line.starts_with(' ')) {
        return false;
      }
      line.remove_prefix(1);
    }
  }
  return line.empty();
}

std::string end_of(std::string_view text, size_t rows) {
  return fmt::format("{}{} {:016x}\n", kEnd, rows, base::hash64(text));
}

}  // namespace

std::string spend_text(std::span<const bidder::Spent> spent) {
  std::string text(kHead);
  for (const auto& of : spent) {
    text += fmt::format("{} {} {} {}\n", of.campaign, of.day, of.on_day.nanos, of.ever.nanos);
  }
  text += end_of(text, spent.size());
  return text;
}

base::Result<std::vector<bidder::Spent>, std::string> read_spend_text(std::string_view text) {
  if (!text.starts_with(kHead)) {
    return std::unexpected("does not begin with spillway-spent-1");
  }
  std::vector<bidder::Spent> spent;
  size_t at = kHead.size();
  for (;;) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) {
      return std::unexpected("is not whole: it has no end");
    }
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(kEnd)) {
      if (text.substr(at) != end_of(text.substr(0, at), spent.size())) {
        return std::unexpected("is not what was written: its hash differs");
      }
      return spent;
    }
    std::array<int64_t, 4> numbers{};
    if (!read_numbers(line, numbers) || numbers[0] == 0) {
      return std::unexpected(fmt::format("line {}: is no spend", spent.size() + 2));
    }
    spent.push_back(
        {.campaign = numbers[0], .day = numbers[1], .on_day = {numbers[2]}, .ever = {numbers[3]}});
    at = end + 1;
  }
}

// The file itself cannot bear the lock: each writing puts another in its place.
SpendFile::SpendFile(std::string path, OnChange on_change)
    : path_(std::move(path)),
      on_change_(std::move(on_change)),
      lock_(::open((path_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
      is_anothers_(lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK),
      thread_([this] { run(); }) {}

SpendFile::~SpendFile() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (lock_ >= 0) {
    ::close(lock_);
  }
}

base::Result<std::vector<bidder::Spent>, std::string> SpendFile::read() const {
  if (is_anothers_) {
    return std::unexpected(
        fmt::format("{}: is another process's, which still runs: each needs its own", path_));
  }
  if (::access(path_.c_str(), F_OK) != 0 && errno == ENOENT) {
    return std::vector<bidder::Spent>();
  }
  constexpr const char* kWayOut =
      "; without it everything counts as unspent: move it away for that";
  const auto text = read_whole_file(path_, kMostBytes);
  if (!text) {
    return std::unexpected(text.error() + kWayOut);
  }
  auto spent = read_spend_text(*text);
  if (!spent) {
    return std::unexpected(fmt::format("{}: {}{}", path_, spent.error(), kWayOut));
  }
  return spent;
}

void SpendFile::write(std::vector<bidder::Spent> spent) {
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(spent);
  }
  wake_.notify_one();
}

void SpendFile::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || next_; });
    if (!next_) {
      return;
    }
    const auto spent = std::exchange(next_, std::nullopt).value_or(std::vector<bidder::Spent>{});
    lock.unlock();
    note(put_in_place(spend_text(spent)));
    lock.lock();
  }
}

void SpendFile::note(int error) {
  const bool failed = error != 0;
  if (failed != std::exchange(fails_, failed) && on_change_) {
    on_change_(error);
  }
  (failed ? failures_ : written_).add();
}

// 0, or why not, as errno says it.
int SpendFile::put_in_place(std::string_view text) const {
  const std::string beside = path_ + ".new";
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) {
    return errno;
  }
  int error = 0;
  while (error == 0 && !text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      error = count == 0 ? EIO : errno;
    }
  }
  if (error == 0 && ::fdatasync(file) != 0) {
    error = errno;
  }
  if (::close(file) != 0 && error == 0) {
    error = errno;
  }
  return error == 0 && std::rename(beside.c_str(), path_.c_str()) != 0 ? errno : error;
}

}  // namespace spillway::app::bidding
