#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "app/demo/child_process.h"
#include "balance/control_group.h"

namespace spillway::balance {

/// One back end: its size, and what a request costs there. Both make its capacity.
struct BackendPlan {
  std::string name;
  double cores = 0.1;
  double work_us = 300;  ///< Of CPU a request, without the server's own.
  std::string zone = "a";
  std::string server_class{};  ///< Empty: a class of its own.
};

/// Five that are unlike in size (1 to 4) and in speed (1 to 2), 1.04 cores together: some 6 to 1 in
/// requests a second.
[[nodiscard]] std::vector<BackendPlan> five_unlike();

/// The five, and `b6`, which is like `b3` in all, of its class too: one that joins.
[[nodiscard]] std::vector<BackendPlan> five_and_a_newcomer();

/// Six in three zones, unlike in each; the zones can do about as much as each other.
[[nodiscard]] std::vector<BackendPlan> three_zones();

/// A running `balance_backend` in a control group of its own; ended by its id.
class Backend {
 public:
  /// Quotas are by this much time: longer stalls, and larger slices, with longer ones.
  static constexpr std::chrono::microseconds kPeriod{20'000};

  explicit Backend(BackendPlan plan);

  /// Empty when it serves.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] const BackendPlan& plan() const { return plan_; }

  [[nodiscard]] const std::string& server_class() const {
    return plan_.server_class.empty() ? plan_.name : plan_.server_class;
  }

  [[nodiscard]] const ControlGroup& group() const { return group_; }

  [[nodiscard]] uint16_t port() const { return port_; }

  [[nodiscard]] uint16_t admin_port() const { return admin_port_; }

  [[nodiscard]] pid_t pid() const { return process_ ? process_->pid() : -1; }

  /// From now on it fails every request at once, without the work.
  [[nodiscard]] bool fail_fast(bool failing) const;

  /// Ends it as a machine that goes away does.
  void kill();

 private:
  void start();

  BackendPlan plan_;
  ControlGroup group_;
  std::string error_;
  uint16_t port_ = 0, admin_port_ = 0;
  std::unique_ptr<app::ChildProcess> process_;
};

using Farm = std::vector<std::unique_ptr<Backend>>;

/// Starts them all. `why`: empty, or why not all serve.
[[nodiscard]] Farm start_farm(const std::vector<BackendPlan>& plans, std::string& why);

/// "" or why this machine cannot run a farm: control groups, root and HAProxy are needed.
[[nodiscard]] std::string missing_here();

/// Requests a second the whole farm can answer, by its plan.
[[nodiscard]] double capacity_of(const std::vector<BackendPlan>& plans);

}  // namespace spillway::balance
