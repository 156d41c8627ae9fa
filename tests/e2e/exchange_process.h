#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "e2e/sockets.h"

namespace spillway::e2e {

/// What a program that ended said.
struct Finished {
  int exit_code = -1;
  std::string out, err;
};

/// Runs a program to its end.
[[nodiscard]] Finished run_program(const std::vector<std::string>& command);

/// A file of the test's own, removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text = "");
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view text) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A running server program of ours; killed at the end when it was not stopped. It is asked to go
/// before others (nice -10, where permitted): what is tested is the server, not the neighbours.
class ServerProcess {
 public:
  /// `part`: "exchange", "bidder"; its section of the configuration, `listen` and `admin` on free
  /// ports, is put before `config`.
  ServerProcess(std::string_view part, std::string_view config, std::string_view section_keys);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  [[nodiscard]] bool started() const { return listen_port_ != 0; }

  [[nodiscard]] uint16_t port() const { return listen_port_; }

  [[nodiscard]] Caller caller() const { return {.port = listen_port_, .extra_headers = ""}; }

  [[nodiscard]] Caller admin() const { return {.port = admin_port_, .extra_headers = ""}; }

  /// Rewrites the file that a reload reads.
  void rewrite(std::string_view config, std::string_view admin_keys = "") const;
  void signal(int number) const;

  /// Waits for a log line with all of `parts`; "" when there is none in time.
  std::string wait_for_event(const std::vector<std::string_view>& parts,
                             std::chrono::milliseconds patience);

  /// Whole log lines that nobody has read yet; waits up to `patience` for the first.
  [[nodiscard]] std::vector<std::string> new_events(std::chrono::milliseconds patience);

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Value of one series of /metrics, labels as written there; 0 when it is not there.
  [[nodiscard]] std::map<std::string, double> metrics() const;

  /// SIGTERM, and what came of it; -1 when it had to be killed.
  int stop();

 private:
  int wait(std::chrono::milliseconds patience);

  std::string part_;
  std::string section_keys_;
  TemporaryFile config_;
  pid_t pid_ = -1;
  Fd out_, err_;
  std::string log_;
  size_t log_read_ = 0;
  uint16_t listen_port_ = 0;
  uint16_t admin_port_ = 0;
};

/// A running `spillway exchange`.
class ExchangeProcess : public ServerProcess {
 public:
  explicit ExchangeProcess(std::string_view config, std::string_view exchange_keys = "")
      : ServerProcess("exchange", config, exchange_keys) {}

  [[nodiscard]] Caller auction() const { return caller(); }

  [[nodiscard]] Message bid_request(std::string_view body) const {
    return auction().post("/openrtb2/auction", body);
  }
};

}  // namespace spillway::e2e
