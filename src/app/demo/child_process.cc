#include "app/demo/child_process.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spillway::app {

namespace {

constexpr size_t kLineMax = size_t{1} << 20;

/// In the child, up to exec: only what is safe between fork and exec.
[[noreturn]] void become(char* const* argv, int niceness, int out, int err) {
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  setpriority(PRIO_PROCESS, 0, niceness);
  execv(argv[0], argv);
  _exit(127);
}

}  // namespace

ChildProcess::ChildProcess(Command command, OnLine on_line)
    : command_(std::move(command)), on_line_(std::move(on_line)) {
  const std::string& program = command_.program;
  std::array<int, 2> out{-1, -1};
  std::array<int, 2> err{-1, -1};
  if (::access(program.c_str(), X_OK) != 0 || pipe2(out.data(), O_CLOEXEC) != 0 ||
      pipe2(err.data(), O_CLOEXEC) != 0) {
    error_ = program + ": " + std::generic_category().message(errno);
    return;
  }
  std::vector<std::string> words{program};
  words.insert(words.end(), command_.args.begin(), command_.args.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    become(argv.data(), command_.niceness, out[1], err[1]);
  }
  if (pid_ < 0) {
    error_ = program + ": " + std::generic_category().message(errno);
  }
  ::close(out[1]);
  ::close(err[1]);
  pipes_[0].fd = out[0];
  pipes_[1].fd = err[0];
  for (const auto& pipe : pipes_) {
    ::fcntl(pipe.fd, F_SETFL, O_NONBLOCK);
  }
}

ChildProcess::~ChildProcess() {
  end(std::chrono::seconds(2));
  for (const auto& pipe : pipes_) {
    if (pipe.fd >= 0) {
      ::close(pipe.fd);
    }
  }
}

void ChildProcess::read_lines() {
  read_pipe(Output::kStdout);
  read_pipe(Output::kStderr);
}

void ChildProcess::read_pipe(Output output) {
  Pipe& pipe = pipes_[static_cast<size_t>(output)];
  std::array<char, 16 * 1024> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (pipe.fd >= 0) {
    const ssize_t got = TEMP_FAILURE_RETRY(::read(pipe.fd, bytes.data(), bytes.size()));
    if (got < 0) {
      return;
    }
    if (got == 0) {
      ::close(pipe.fd);
      pipe.fd = -1;
      return;
    }
    pipe.partial.append(bytes.data(), static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = 0; (end = pipe.partial.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      on_line_(output, std::string_view(pipe.partial).substr(begin, end - begin));
    }
    pipe.partial.erase(0, begin);
    if (pipe.partial.size() > kLineMax) {
      pipe.partial.clear();
    }
  }
}

std::optional<int> ChildProcess::poll_exit() {
  int status = 0;
  if (!exit_ && pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return exit_;
}

int ChildProcess::end(std::chrono::milliseconds patience) {
  if (pid_ <= 0) {
    return -1;
  }
  if (!poll_exit()) {
    ::kill(pid_, SIGTERM);
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!poll_exit() && std::chrono::steady_clock::now() < until) {
    read_lines();
    ::poll(nullptr, 0, 10);
  }
  if (!poll_exit()) {
    int status = 0;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
    exit_ = 128 + SIGKILL;
  }
  read_lines();
  return exit_.value_or(-1);
}

}  // namespace spillway::app
