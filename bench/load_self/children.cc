#include "load_self/children.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spillway::load_self {

namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

}  // namespace

Child::Child(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return;
  }
  std::vector<char*> argv;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(null, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
}

Child::~Child() {
  if (output_ >= 0) {
    ::close(output_);
  }
  if (pid_ > 0) {
    ::kill(pid_, SIGCONT);
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
}

std::string Child::read_to_end(int& status) {
  std::string text;
  std::array<char, 4096> bytes{};
  while (true) {
    const ssize_t got = ::read(output_, bytes.data(), bytes.size());
    if (got <= 0) {
      break;
    }
    text.append(bytes.data(), static_cast<size_t>(got));
  }
  int state = 0;
  ::waitpid(pid_, &state, 0);
  pid_ = -1;
  status = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  return text;
}

Nginx::Nginx() : port_(free_port()) {
  std::string name = (std::filesystem::temp_directory_path() / "load_self_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return;
  }
  folder_ = name;
  std::string paths;
  for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
    paths += fmt::format("{}_temp_path {}/{};\n", kind, name, kind);
  }
  std::ofstream(folder_ / "nginx.conf") << fmt::format(
      "daemon off; master_process off; worker_processes 1; pid {}/pid; error_log stderr crit;\n"
      "events {{ worker_connections 4096; }}\nhttp {{ access_log off; keepalive_requests "
      "100000000; "
      "default_type application/json;\n{}server {{ listen 127.0.0.1:{}; location / {{ return 200 "
      "'{{\"id\":\"1\",\"seatbid\":[]}}'; }} }} }}\n",
      name, paths, port_);
  child_ = std::make_unique<Child>(std::vector<std::string>{"/usr/sbin/nginx", "-e", "stderr", "-c",
                                                            (folder_ / "nginx.conf").string()});
}

Nginx::~Nginx() {
  child_.reset();
  if (!folder_.empty()) {
    std::filesystem::remove_all(folder_);
  }
}

bool Nginx::up() const {
  constexpr int kTries = 500;
  for (int i = 0; i < kTries && child_ != nullptr; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port_);
    const bool connected =
        ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (connected) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string Nginx::url() const { return fmt::format("http://127.0.0.1:{}/bid", port_); }

void Nginx::stop_for(double seconds) const {
  ::kill(child_->pid(), SIGSTOP);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  ::kill(child_->pid(), SIGCONT);
}

}  // namespace spillway::load_self
