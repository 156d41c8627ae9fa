#include "observe/supervisor.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/time.h"
#include "net/stream.h"

namespace spillway::observe {
namespace {

int64_t microseconds(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

SupervisorSettings supervisor_of_environment() {
  SupervisorSettings settings{.address = std::string(variable("NOTIFY_SOCKET"))};
  const auto interval = number(variable("WATCHDOG_USEC"));
  const auto pid = variable("WATCHDOG_PID");
  if (interval && *interval > 0 && (pid.empty() || number(pid) == int64_t{::getpid()})) {
    settings.watchdog = std::chrono::microseconds(*interval);
  }
  return settings;
}

Supervisor::Supervisor(const SupervisorSettings& settings) : watchdog_(settings.watchdog) {
  const std::string& name = settings.address;
  if (name.empty()) {
    return;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if ((name[0] != '/' && name[0] != '@') || name.size() >= sizeof address.sun_path) {
    error_ = fmt::format("\"{}\" is no path and no abstract name of a socket", name);
    return;
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') {
    address.sun_path[0] = '\0';
  }
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_ || ::connect(socket_.fd(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    error_ = fmt::format("cannot tell \"{}\": {}", name, std::generic_category().message(errno));
    socket_.reset();
  }
}

void Supervisor::tell(std::string_view message) {
  if (socket_) {
    (void)::send(socket_.fd(), message.data(), message.size(), MSG_NOSIGNAL);
  }
}

void Supervisor::ready() { tell("READY=1\nSTATUS=serving"); }

void Supervisor::reloading(base::Instant now) {
  tell(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reloading",
                   microseconds(now.time_since_epoch())));
}

void Supervisor::stopping(base::Duration patience) {
  tell(fmt::format("STOPPING=1\nSTATUS=answering what is in flight\nEXTEND_TIMEOUT_USEC={}",
                   microseconds(patience)));
}

void Supervisor::alive(base::Instant now) {
  if (watchdog_ > base::Duration::zero() && now >= next_alive_) {
    next_alive_ = now + watchdog_ / 2;
    tell("WATCHDOG=1");
  }
}

std::optional<base::Duration> Supervisor::watchdog() const {
  return socket_ && watchdog_ > base::Duration::zero() ? std::optional(watchdog_) : std::nullopt;
}

}  // namespace spillway::observe
