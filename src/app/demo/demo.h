#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/demo/child_process.h"
#include "app/demo/demo_plan.h"
#include "app/demo/demo_state.h"

namespace spillway::app {

/// Where a run shows itself.
enum class DemoView : uint8_t { kScreen, kLines };

/// Runs exchange, farm and load as processes of their own on free ports, with configurations in a
/// folder of its own, makes one DSP slow, watches, and ends and removes everything it made.
class Demo {
 public:
  /// `programs`: folder with spillway-exchange, spillway-dsp and spillway-load.
  Demo(DemoPlan plan, std::string programs, DemoView view);
  ~Demo();
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

  /// Runs to the end of the load, or until SIGINT or SIGTERM. "" or why it could not.
  [[nodiscard]] std::string run();

  [[nodiscard]] const DemoState& state() const { return state_; }

  [[nodiscard]] const std::string& farm_json() const { return farm_json_; }

 private:
  using Output = ChildProcess::Output;

  [[nodiscard]] std::string start_farm();
  [[nodiscard]] std::string start_exchange();
  [[nodiscard]] std::string start_load();
  [[nodiscard]] std::string watch();
  [[nodiscard]] std::string wait_for_start(ChildProcess& child, const bool& started);
  [[nodiscard]] std::string write_file(std::string_view name, std::string_view text,
                                       std::string& path);

  void on_farm_line(Output output, std::string_view line);
  void on_exchange_line(Output output, std::string_view line);
  void on_load_line(Output output, std::string_view line);
  void keep_last(std::string& tail, std::string_view line) const;
  bool wait_for_output(std::chrono::milliseconds most);
  void change_fault();
  void look();
  void show();
  [[nodiscard]] double elapsed_s() const;

  DemoPlan plan_;
  std::string programs_;
  DemoView view_;
  DemoState state_;
  std::string folder_;
  int signal_fd_ = -1;
  std::vector<DemoPlan::DspAddress> dsps_;
  uint16_t farm_admin_port_ = 0;
  uint16_t exchange_port_ = 0;
  uint16_t exchange_admin_port_ = 0;
  bool farm_started_ = false;
  bool exchange_started_ = false;
  bool load_ended_ = false;
  bool slow_announced_ = false;
  bool recovery_announced_ = false;
  std::string farm_json_;
  std::string last_errors_;
  std::chrono::steady_clock::time_point load_started_{};
  double last_line_s_ = -100;
  std::unique_ptr<ChildProcess> farm_;  // ended last
  std::unique_ptr<ChildProcess> exchange_;
  std::unique_ptr<ChildProcess> load_;  // ended first
};

}  // namespace spillway::app
