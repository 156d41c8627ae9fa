#include "balance/haproxy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>

#include "app/demo/child_process.h"
#include "balance/control_group.h"
#include "net/stream.h"

namespace spillway::balance {

namespace {

using namespace std::chrono_literals;

constexpr const char* kProgram = "/usr/sbin/haproxy";

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) {
    fields.push_back(field);
  }
  return fields;
}

uint64_t number(const std::string& text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "spillway-balance-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("no temporary folder");
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

uint16_t free_port() {
  const net::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd.fd(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

Haproxy::Haproxy(const std::filesystem::path& folder, const std::string& name, Settings settings,
                 const ControlGroup& group)
    : configuration_(folder / (name + ".cfg")),
      socket_(folder / (name + ".sock")),
      settings_(std::move(settings)),
      group_(group),
      port_(free_port()) {
  write_configuration();
  if (!start({})) {
    error_ = "haproxy did not start: " + said_;
  }
}

Haproxy::~Haproxy() = default;

void Haproxy::write_configuration() const {
  std::ofstream file(configuration_);
  file << "global\n    nbthread 1\n    stats socket " << socket_.string()
       << " mode 600 level admin expose-fd listeners\n"
          "defaults\n    mode http\n    timeout connect 1s\n    timeout client 30s\n"
          "    timeout server 30s\n    timeout check 800ms\n    option redispatch 1\n"
          "    retries 2\n    default-server weight 100 check inter 1s fall 2 rise 1\n"
          "listen farm\n    bind 127.0.0.1:"
       << port_ << "\n    balance " << settings_.balance << "\n";
  for (const ProxiedServer& server : settings_.servers) {
    file << "    server " << server.name << " 127.0.0.1:" << server.port;
    if (server.agent_port != 0) {
      file << " agent-check agent-inter " << settings_.agent_interval
           << " agent-send \"agent/1\\n\" agent-port " << server.agent_port;
    }
    file << (server.disabled ? " disabled\n" : "\n");
  }
}

bool Haproxy::start(std::vector<std::string> more) {
  said_.clear();
  std::vector<std::string> args{"-db", "-f", configuration_.string()};
  args.insert(args.end(), more.begin(), more.end());
  auto next = std::make_unique<app::ChildProcess>(
      app::ChildProcess::Command{.name = "haproxy", .program = kProgram, .args = std::move(args)},
      [this](app::ChildProcess::Output, std::string_view line) {
        said_.append(line.substr(0, 200)).append(" | ");
        said_.erase(0, said_.size() > 4000 ? said_.size() - 4000 : 0);
      });
  if (!next->error().empty()) {
    said_ = next->error();
    return false;
  }
  old_ = std::move(process_);
  process_ = std::move(next);
  (void)group_.take_in(process_->pid());
  const auto pid_line = fmt::format("Pid: {}\n", process_->pid());
  for (int i = 0; i < 500; ++i) {
    process_->read_lines();
    if (process_->poll_exit()) {
      return false;
    }
    if (command("show info").contains(pid_line)) {
      return true;
    }
    ::poll(nullptr, 0, 10);
  }
  return false;
}

std::string Haproxy::command(std::string_view text) const {
  const net::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket_.string();
  std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(fd.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const std::string line = std::string(text) + "\n";
  if (::connect(fd.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      TEMP_FAILURE_RETRY(::send(fd.fd(), line.data(), line.size(), MSG_NOSIGNAL)) < 0) {
    return "";
  }
  std::string answer;
  std::array<char, 16 * 1024> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (ssize_t got = 0;
       (got = TEMP_FAILURE_RETRY(::recv(fd.fd(), bytes.data(), bytes.size(), 0))) > 0;) {
    answer.append(bytes.data(), static_cast<size_t>(got));
  }
  return answer;
}

std::vector<ServerStatistics> Haproxy::statistics() const {
  std::istringstream in(command("show stat farm 4 -1"));
  std::string line;
  std::getline(in, line);
  line.erase(0, std::min<size_t>(2, line.size()));
  const auto names = split(line);
  std::vector<ServerStatistics> servers;
  while (std::getline(in, line)) {
    const auto fields = split(line);
    const auto field = [&](std::string_view name) -> std::string {
      const auto at = static_cast<size_t>(std::ranges::find(names, name) - names.begin());
      return at < fields.size() ? fields[at] : "";
    };
    if (fields.size() > 2) {
      servers.push_back({.name = field("svname"),
                         .status = field("status"),
                         .weight = static_cast<uint32_t>(number(field("weight"))),
                         .chosen = number(field("lbtot")),
                         .answers_5xx = number(field("hrsp_5xx"))});
    }
  }
  return servers;
}

bool Haproxy::reload() {
  const auto old = std::to_string(pid());
  return start({"-x", socket_.string(), "-sf", old});
}

bool Haproxy::restart() {
  process_->end(0ms);
  return start({});
}

void Haproxy::change(Settings settings) {
  settings_ = std::move(settings);
  write_configuration();
}

}  // namespace spillway::balance
