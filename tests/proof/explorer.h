#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::interleave {

/// What a scenario starts from, who acts in it, and what must hold when all are done. Made anew for
/// each schedule; the same each time.
class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  /// Each acts once, as if on a thread of its own.
  std::vector<std::function<void()>> actors;

  /// Called while the actors run or after them: what was broken, in a word; the first counts.
  void broken(std::string_view what) {
    if (wrong_.empty()) {
      wrong_ = what;
    }
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }

  /// After all actors.
  virtual void check() = 0;

 private:
  std::string wrong_;
};

struct Explored {
  uint64_t schedules = 0;
  uint64_t broken = 0;
  std::string first;  ///< What was broken first, and the schedule: one actor's number a step.
};

/// Runs the actors in every order of their steps: operations on the guards' shared atomics
/// (proof.h; sequentially consistent, other code runs with the step before it). One fiber an actor.
/// With `counts`, operations on the workers' counters are steps as well: many more orders.
Explored explore(const std::function<std::unique_ptr<World>()>& make, bool counts);

}  // namespace spillway::interleave
