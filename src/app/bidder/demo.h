#pragma once

#include <string>

#include "bidder/model.h"

namespace spillway::app::bidding {

/// The configuration of `spillway bidder --demo`: loopback, one exchange "demo", nothing beside
/// this process but the catalog's file, whose address the caller puts in.
[[nodiscard]] std::string demo_config();

/// A file for the demo's catalog: made here, and deleted with this object, SQLite's files beside it
/// too. What stands at its path already is neither written nor deleted.
class DemoFile {
 public:
  /// Empty: a name of its own in /tmp.
  explicit DemoFile(std::string path);
  ~DemoFile();
  DemoFile(const DemoFile&) = delete;
  DemoFile& operator=(const DemoFile&) = delete;

  /// Why there is none, as a sentence; empty: there is one.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string error_;
};

/// The catalog of the demo: three advertisers, banners of common sizes, a video, one native, caps,
/// budgets and targeting of each kind that is easily seen at work.
[[nodiscard]] bidder::CatalogRows demo_catalog();

/// Writes that catalog to the store at `address`; empty, or what went wrong.
[[nodiscard]] std::string write_demo_catalog(const std::string& address, int64_t now_s);

}  // namespace spillway::app::bidding
