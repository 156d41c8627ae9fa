#pragma once

#include <cstddef>
#include <string>

#include "app/load/generator.h"

namespace spillway::app {

/// What this machine gives a generator.
struct LoadMeans {
  size_t descriptors = 1024;  ///< Files a process may have open.
  size_t ports = 28'000;      ///< Ephemeral ports: connections to one address.
  size_t processors = 1;

  /// As the system says; raises the soft limit of descriptors to the hard one.
  [[nodiscard]] static LoadMeans of_this_machine();
};

/// What a run needs at worst beside what it has, before it starts. Source: Little's law.
struct LoadPlan {
  size_t connections_needed = 0;  ///< Peak rate times the longest a request can take.
  size_t connections_had = 0;     ///< The cap, by whatever bounds it first.
  size_t workers_needed = 0;      ///< At best: kWorkerRateMax each.
  size_t workers_had = 0;
  std::string text;     ///< Both, for people.
  std::string refusal;  ///< "" or why the run cannot be carried.
};

/// What a worker is taken to do at most: a guess on the high side, so that a plan refuses only what
/// is out of reach; what it does is watched during the run.
inline constexpr double kWorkerRateMax = 150'000;

inline constexpr size_t kConnectionsMax = 60'000;

/// The cap a schedule asks for: twice the room for every answer taking the whole timeout, at most
/// kConnectionsMax.
[[nodiscard]] size_t connections_for(const LoadSettings& settings);

[[nodiscard]] LoadPlan plan_of(const LoadSettings& settings, size_t workers,
                               const LoadMeans& means);

}  // namespace spillway::app
