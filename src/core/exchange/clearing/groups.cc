#include "exchange/clearing/groups.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"

namespace spillway::exchange::clearing {

namespace {

class Search {
 public:
  explicit Search(std::span<const Group> groups) : groups_(groups) {
    for (size_t i = groups.size(); i-- > 0;) {
      rest_[i] = rest_[i + 1] + groups[i].gain;
    }
  }

  uint64_t run() {
    visit(0, {});
    return best_.chosen;
  }

 private:
  struct Choice {
    uint64_t chosen = 0;
    uint64_t imps = 0;
    Worth gain = 0;
  };

  /// As deep as there are groups. Taking a group is tried before leaving it, and only more gain
  /// replaces a choice, so that equal ones keep their order.
  void visit(size_t at, Choice so_far) {  // NOLINT(misc-no-recursion)
    if (so_far.gain > best_.gain) {
      best_ = so_far;
    }
    if (at == groups_.size() || so_far.gain + rest_[at] <= best_.gain) {
      return;
    }
    const Group& group = groups_[at];
    if ((so_far.imps & group.imps) == 0) {
      visit(at + 1, {.chosen = so_far.chosen | uint64_t{1} << at,
                     .imps = so_far.imps | group.imps,
                     .gain = so_far.gain + group.gain});
    }
    visit(at + 1, so_far);
  }

  std::span<const Group> groups_;
  std::array<Worth, kExactGroups + 1> rest_{};  ///< What the groups from here on could add.
  Choice best_;
};

}  // namespace

uint64_t best_subset(std::span<const Group> groups) {
  SPILLWAY_ASSERT(groups.size() <= kExactGroups);
  return Search(groups).run();
}

}  // namespace spillway::exchange::clearing
