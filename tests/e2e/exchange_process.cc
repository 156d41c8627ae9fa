#include "e2e/exchange_process.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <ios>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

struct Pipes {
  Fd out, err;
  pid_t pid = -1;
};

// Programs that are tested against deadlines go before others where permitted (see ServerProcess).
constexpr int kServerNiceness = -10;

Pipes spawn(const std::vector<std::string>& command, int niceness = 0) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    return {};
  }
  std::vector<char*> arguments;
  for (const auto& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    (void)::setpriority(PRIO_PROCESS, 0, niceness);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  return {.out = Fd(out[0]), .err = Fd(err[0]), .pid = pid};
}

// Appends what can be read within `patience`; false at the end or when it is out.
bool read_pipe(int fd, std::string& into, std::chrono::milliseconds patience) {
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  if (patience < 0ms ||
      TEMP_FAILURE_RETRY(::poll(&ready, 1, static_cast<int>(patience.count()))) <= 0) {
    return false;
  }
  char chunk[4096];
  const ssize_t count = TEMP_FAILURE_RETRY(::read(fd, chunk, sizeof(chunk)));
  if (count <= 0) {
    return false;
  }
  into.append(chunk, static_cast<size_t>(count));
  return true;
}

uint16_t port_after(const std::string& line, std::string_view name) {
  const size_t at = line.find(name);
  const size_t colon = at == std::string::npos ? at : line.find(':', at);
  return colon == std::string::npos ? uint16_t{0}
                                    : static_cast<uint16_t>(std::atoi(line.c_str() + colon + 1));
}

std::chrono::milliseconds until(Clock::time_point deadline) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
}

}  // namespace

Finished run_program(const std::vector<std::string>& command) {
  Pipes pipes = spawn(command);
  Finished finished;
  while (read_pipe(pipes.out.value(), finished.out, 30s)) {
  }
  while (read_pipe(pipes.err.value(), finished.err, 30s)) {
  }
  int status = 0;
  ::waitpid(pipes.pid, &status, 0);
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return finished;
}

TemporaryFile::TemporaryFile(std::string_view text) {
  char name[] = "/tmp/spillway_e2e_XXXXXX";
  const int fd = ::mkstemp(name);
  ::close(fd);
  path_ = name;
  write(text);
}

TemporaryFile::~TemporaryFile() { ::unlink(path_.c_str()); }

void TemporaryFile::write(std::string_view text) const {
  std::ofstream(path_, std::ios::trunc) << text;
}

ServerProcess::ServerProcess(std::string_view part, std::string_view config,
                             std::string_view section_keys)
    : part_(part), section_keys_(section_keys) {
  rewrite(config);
  Pipes pipes =
      spawn({SPILLWAY_BINARY_DIR "/libexec/spillway-" + part_, "--config", config_.path()},
            kServerNiceness);
  pid_ = pipes.pid;
  out_ = std::move(pipes.out);
  err_ = std::move(pipes.err);
  std::string line;
  const auto deadline = Clock::now() + 20s;
  while (line.find('\n') == std::string::npos && read_pipe(out_.value(), line, until(deadline))) {
  }
  listen_port_ = port_after(line, "listen=");
  admin_port_ = port_after(line, "admin=");
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void ServerProcess::rewrite(std::string_view config, std::string_view admin_keys) const {
  config_.write(
      fmt::format("{}: {{ listen: 127.0.0.1:0, workers: 2{} }}\n"
                  "admin: {{ listen: 127.0.0.1:0{} }}\n{}",
                  part_, section_keys_, admin_keys, config));
}

void ServerProcess::signal(int number) const { ::kill(pid_, number); }

std::string ServerProcess::wait_for_event(const std::vector<std::string_view>& parts,
                                          std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (true) {
    for (size_t end = 0; (end = log_.find('\n', log_read_)) != std::string::npos;) {
      const std::string line = log_.substr(log_read_, end - log_read_);
      log_read_ = end + 1;
      if (std::ranges::all_of(parts, [&](auto part) { return line.find(part) != line.npos; })) {
        return line;
      }
    }
    if (!read_pipe(err_.value(), log_, std::max(until(deadline), 0ms))) {
      return {};
    }
  }
}

std::vector<std::string> ServerProcess::new_events(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (log_.find('\n', log_read_) == std::string::npos &&
         read_pipe(err_.value(), log_, std::max(until(deadline), 0ms))) {
  }
  std::vector<std::string> lines;
  for (size_t end = 0; (end = log_.find('\n', log_read_)) != std::string::npos;) {
    lines.push_back(log_.substr(log_read_, end - log_read_));
    log_read_ = end + 1;
  }
  return lines;
}

std::map<std::string, double> ServerProcess::metrics() const {
  std::istringstream page(admin().call("GET", "/metrics").body);
  std::map<std::string, double> values;
  for (std::string line; std::getline(page, line);) {
    const size_t space = line.rfind(' ');
    if (!line.empty() && line[0] != '#' && space != std::string::npos) {
      values[line.substr(0, space)] = std::strtod(line.c_str() + space + 1, nullptr);
    }
  }
  return values;
}

int ServerProcess::stop() {
  signal(SIGTERM);
  return wait(10s);
}

int ServerProcess::wait(std::chrono::milliseconds patience) {
  const Fd watch(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd ended{.fd = watch.value(), .events = POLLIN, .revents = 0};
  if (TEMP_FAILURE_RETRY(::poll(&ended, 1, static_cast<int>(patience.count()))) <= 0) {
    return -1;
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace spillway::e2e
