#include "relay_floor/process.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relay_floor/wire.h"

namespace spillway::relay_floor {

namespace {

constexpr int kStartMs = 60'000;
constexpr int kStopMs = 20'000;

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

[[noreturn]] void become(const std::vector<std::string>& command, int output,
                         const std::string& error_file) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(output, STDOUT_FILENO);
  const int errors = ::open(error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ::dup2(errors, STDERR_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& part : command) {
    arguments.push_back(const_cast<char*>(part.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

/// The port of `event=started listen=HOST:PORT` in what `output` says; 0 when it ends or is late.
uint16_t started_port(int output) {
  std::string text;
  for (pollfd ready{.fd = output, .events = POLLIN, .revents = 0};
       ::poll(&ready, 1, kStartMs) > 0;) {
    std::array<char, 4096> part{};
    const ssize_t got = ::read(output, part.data(), part.size());
    if (got <= 0) {
      return 0;
    }
    text.append(part.data(), static_cast<size_t>(got));
    const size_t line = text.find("event=started ");
    const size_t end = line == std::string::npos ? line : text.find('\n', line);
    const size_t listen = line == std::string::npos ? line : text.find("listen=", line);
    if (end != std::string::npos && listen < end) {
      const std::string_view value =
          std::string_view(text).substr(listen, text.find_first_of(" \n", listen) - listen);
      uint16_t port = 0;
      const std::string_view digits = value.substr(value.rfind(':') + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), port);
      return port;
    }
  }
  return 0;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const std::string& error_file) {
  std::array<int, 2> pipe{};
  require(::pipe2(pipe.data(), O_CLOEXEC) == 0, "no pipe");
  process_ = ::fork();
  require(process_ >= 0, "cannot fork");
  if (process_ == 0) {
    become(command, pipe[1], error_file);
  }
  ::close(pipe[1]);
  output_ = pipe[0];
  port_ = started_port(output_);
  if (port_ == 0) {
    stop();
    require(false, fmt::format("{} did not start: {}", command[0], file_text(error_file)));
  }
}

Process::~Process() { stop(); }

double Process::cpu_us() const {
  double total_us = 0;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process_), gone)) {
    std::ifstream file(task.path() / "schedstat");
    double ran_ns = 0;
    file >> ran_ns;
    total_us += ran_ns / 1e3;
  }
  return total_us;
}

void Process::stop() {
  if (process_ < 0) {
    return;
  }
  ::kill(process_, SIGTERM);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(kStopMs);
  // The output's end is the child's: nothing to poll for by time.
  std::array<char, 4096> rest{};
  for (pollfd ended{.fd = output_, .events = POLLIN, .revents = 0};;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        limit - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(&ended, 1, static_cast<int>(left.count())) <= 0) {
      ::kill(process_, SIGKILL);
      break;
    }
    if (::read(output_, rest.data(), rest.size()) <= 0) {
      break;
    }
  }
  ::waitpid(process_, nullptr, 0);
  ::close(output_);
  process_ = -1;
}

std::vector<double> callgrind_instructions(const std::string& file) {
  constexpr std::string_view kTotals = "\ntotals: ";
  std::vector<double> threads;
  while (true) {
    const std::string text = file_text(fmt::format("{}-{:02}", file, threads.size() + 1));
    const size_t at = text.rfind(kTotals);
    if (at == std::string::npos) {
      break;
    }
    threads.push_back(std::strtod(text.c_str() + at + kTotals.size(), nullptr));
  }
  require(!threads.empty(), "callgrind left no totals in " + file);
  return threads;
}

std::map<std::string, double> strace_counts(const std::string& summary) {
  std::map<std::string, double> counts;
  std::istringstream lines(summary);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    double count = 0;
    if (std::string name; words >> count >> name && name != "total") {
      counts[name] = count;
    }
  }
  require(!counts.empty(), "strace counted nothing");
  return counts;
}

NamedPipe::NamedPipe(const std::string& path) : path_(path) {
  require(::mkfifo(path.c_str(), 0600) == 0, path);
  fd_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // waits for no writer
  require(fd_ >= 0, path);
  ::fcntl(fd_, F_SETFL, 0);
}

NamedPipe::~NamedPipe() {
  ::close(fd_);
  ::unlink(path_.c_str());
}

std::string NamedPipe::text() const {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(fd_, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<size_t>(got));
  }
  return text;
}

}  // namespace spillway::relay_floor
