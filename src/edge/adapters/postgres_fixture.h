#pragma once

// For tests alone: a PostgreSQL server of one's own, in a private folder, on a Unix socket.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spillway::adapters::testing {

/// Started at construction, stopped by its process id at destruction, its folder deleted. Nothing
/// is served on a network. error() says why it is not there: not installed, or its last words.
class PostgresServer {
 public:
  static constexpr std::string_view kPrograms = "/usr/lib/postgresql/15/bin/";

  PostgresServer() {
    if (!installed()) {
      error_ = "PostgreSQL 15 is not installed";
      return;
    }
    std::string folder = (std::filesystem::temp_directory_path() / "spillway_pg_XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
      error_ = "no temporary folder";
      return;
    }
    folder_ = folder;
    give_away();
    const auto made = run({"initdb", "-D", folder_ + "/data", "-U", "spillway", "-A", "trust", "-E",
                           "UTF8", "--locale=C", "--no-sync"},
                          "");
    if (made) {
      start();
    }
  }

  ~PostgresServer() {
    stop();
    std::error_code ignored;
    if (!folder_.empty()) {
      std::filesystem::remove_all(folder_, ignored);
    }
  }

  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  [[nodiscard]] static bool installed() {
    return std::filesystem::exists(std::string(kPrograms) + "postgres");
  }

  /// One for all tests of a program; started at its first use.
  static PostgresServer& shared() {
    static PostgresServer server;
    return server;
  }

  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] pid_t pid() const { return pid_; }

  [[nodiscard]] std::string address(std::string_view database) const {
    return "postgres://spillway@/" + std::string(database) + "?host=" + folder_;
  }

  /// Runs one statement; false when it fails.
  bool run_sql(std::string_view database, const std::string& sql) {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(
        PQconnectdb(address(database).c_str()), PQfinish);
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection.get(), sql.c_str()), PQclear);
    const auto status = PQresultStatus(result.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  }

  /// Starts it again after stop(); waits until it takes connections.
  void start() {
    run({"postgres", "-D", folder_ + "/data", "-k", folder_, "-F", "-c", "listen_addresses=", "-c",
         "shared_buffers=16MB", "-c", "autovacuum=off"},
        "ready to accept connections");
  }

  void stop() {
    if (pid_ > 0) {
      ::kill(pid_, SIGCONT);
      ::kill(pid_, SIGQUIT);  // At once: nothing in it is kept.
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }

 private:
  /// The server refuses to run as root: then it is "postgres", or "nobody".
  static const passwd* other_user() {
    if (::geteuid() != 0) {
      return nullptr;
    }
    // NOLINTBEGIN(concurrency-mt-unsafe): no test asks on two threads.
    const passwd* const user = ::getpwnam("postgres");
    return user != nullptr ? user : ::getpwnam("nobody");
    // NOLINTEND(concurrency-mt-unsafe)
  }

  void give_away() {
    if (const passwd* const user = other_user()) {
      if (::chown(folder_.c_str(), user->pw_uid, user->pw_gid) != 0) {
        error_ = "chown failed";
      }
    }
  }

  /// Runs a program to its end, or until a line of its output has `ready` in it.
  bool run(std::vector<std::string> args, std::string_view ready) {
    const passwd* const user = other_user();
    const std::string program = std::string(kPrograms) + args.front();
    std::vector<char*> argv;
    argv.reserve(args.size() + 1);
    for (std::string& arg : args) {
      argv.push_back(arg.data());
    }
    argv.push_back(nullptr);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      error_ = "no pipe";
      return false;
    }
    const pid_t child = ::fork();
    if (child == 0) {
      if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 ||
                              ::setuid(user->pw_uid) != 0)) {
        ::_exit(126);
      }
      ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      if (::chdir("/") != 0) {
        ::_exit(126);
      }
      ::execv(program.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    if (!ready.empty()) {
      pid_ = child;
    }
    return wait_for(child, ends[0], ready);
  }

  bool wait_for(pid_t child, int fd, std::string_view ready) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::string output;
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
      std::array<char, 4096> bytes{};
      const bool readable =
          TEMP_FAILURE_RETRY(
              ::poll(&entry, 1, static_cast<int>(std::max<int64_t>(0, left.count())))) > 0;
      const auto size = readable ? TEMP_FAILURE_RETRY(::read(fd, bytes.data(), bytes.size())) : 0;
      if (size <= 0) {
        break;
      }
      output.append(bytes.data(), static_cast<size_t>(size));
      if (!ready.empty() && output.contains(ready)) {
        // Left open on purpose: a server whose output nobody can take would end.
        return true;
      }
    }
    ::close(fd);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (child == pid_) {
      pid_ = -1;
    }
    const bool ended_well = ready.empty() && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!ended_well) {
      error_ = output;
    }
    return ended_well;
  }

  std::string folder_;
  std::string error_;
  pid_t pid_ = -1;
};

}  // namespace spillway::adapters::testing
