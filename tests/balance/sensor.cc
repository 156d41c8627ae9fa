#include "balance/sensor.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <thread>

#include <poll.h>

#include "balance/control_group.h"

namespace spillway::balance {

namespace {

namespace fs = std::filesystem;

}  // namespace

Sensor::Sensor(const ControlGroup& group, const fs::path& root) : group_(group), root_(root) {
  if (group.v2()) {
    error_ = "a lying sensor needs control groups of version 1";
    return;
  }
  fs::create_directories(root / "lies" / group.usage_folder().filename());
  fs::create_directory_symlink(group.quota_folder().parent_path(), root / "cpu");
  fs::create_directory_symlink(group.usage_folder().parent_path(), root / "cpuacct");
}

Sensor::~Sensor() { stop(); }

void Sensor::point_to(const fs::path& folder) const {
  fs::create_directory_symlink(folder, root_ / "next");
  fs::rename(root_ / "next", root_ / "cpuacct");
}

void Sensor::write_usage() const {
  const auto now_ns = group_.used().count();
  const auto shown_ns =
      from_ns_ + static_cast<int64_t>(share_ * static_cast<double>(now_ns - from_ns_));
  const auto folder = root_ / "lies" / group_.usage_folder().filename();
  std::ofstream(folder / "next") << shown_ns << "\n";
  fs::rename(folder / "next", folder / "cpuacct.usage");
}

void Sensor::show(double share) {
  stop();
  from_ns_ = group_.used().count();
  share_ = share;
  write_usage();
  point_to(root_ / "lies");
  lying_ = true;
  thread_ = std::thread([this] {
    while (lying_) {
      write_usage();
      ::poll(nullptr, 0, 50);
    }
  });
}

void Sensor::be_honest() {
  stop();
  point_to(group_.usage_folder().parent_path());
}

void Sensor::stop() {
  lying_ = false;
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace spillway::balance
