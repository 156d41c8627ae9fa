#include "resilience/hierarchy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/proof.h"
#include "resilience/sentence.h"
#include "resilience/settings.h"
#include "resilience/trip.h"
#include "resilience/window.h"

namespace spillway::resilience {

namespace {

constexpr double kBadLeaf = 0.5;
constexpr size_t kLeastLeaves = 2;
constexpr double kBadLeaves = 0.6;

}  // namespace

std::string_view dependency_of(std::string_view key) { return key.substr(0, key.find('/')); }

std::string_view region_of(std::string_view key) { return key.substr(0, key.rfind('/')); }

bool lies_under(std::string_view key, std::string_view node) {
  return key.starts_with(node) && (key.size() == node.size() || key[node.size()] == '/');
}

Settings settings_of(std::string_view key, const Settings& defaults, const Patches& patches) {
  Settings settings = defaults;
  for (size_t end = key.find('/');; end = key.find('/', end + 1)) {
    if (const auto said = patches.find(key.substr(0, end)); said != patches.end()) {
      settings = apply(settings, said->second);
    }
    if (end == std::string_view::npos) {
      return settings;
    }
  }
}

Region::Region(std::string key, base::Instant now) : key_(std::move(key)), now_(now) {}

void Region::add(Guard& leaf, std::vector<Transition>& out) {
  children_.push_back({.leaf = &leaf});
  if (open_) {
    leaf.open_with_parent(now_, {}, why_open_, out);
  }
}

void Region::remove(const Guard& leaf) {
  std::erase_if(children_, [&](const Child& child) { return child.leaf == &leaf; });
}

void Region::pool() {
  fast_.advance(now_);
  const Tally gone = slow_.advance(now_);
  if (!open_) {
    usual_.learn(now_, gone);
  }
  Tally pooled;
  for (Child& child : children_) {
    const Tally& tally = child.leaf->folded();
    child.window.advance(now_);
    child.window.add(tally);
    // What several leaves met at one time is one burst.
    const Tally both{.burst = pooled.burst + tally.burst,
                     .reset_burst = pooled.reset_burst + tally.reset_burst};
    pooled.add(tally);
    pooled.burst = both.burst;
    pooled.reset_burst = both.reset_burst;
  }
  fast_.add(pooled);
  slow_.add(pooled);
}

void Region::tick(base::Instant now, std::vector<Transition>& out) {
  now_ = std::max(now_, now);
  if (children_.size() < kLeastLeaves) {
    return;
  }
  pool();
  if (open_) {
    if (recovered()) {
      move_to(State::kClosed, "leaf_recovered", "a leaf came back through its own probes", {}, out);
    }
    return;
  }
  const double threshold = usual_.threshold();
  const Evidence fast = evidence_of(fast_.sum());
  const Evidence slow = evidence_of(slow_.sum());
  const bool by_fast = r1_fast(fast, threshold);
  if ((by_fast || r2_slow(slow, threshold)) && (most_leaves_are_bad() || SPILLWAY_PLANTED(8))) {
    open(by_fast ? fast : slow, by_fast ? "r1_fast" : "r2_slow", out);
  }
}

bool Region::most_leaves_are_bad() const {
  size_t asked = 0;
  size_t bad = 0;
  for (const Child& child : children_) {
    const Evidence seen = evidence_of(child.window.sum());
    asked += seen.calls >= kSlowCalls ? 1 : 0;
    bad += seen.calls >= kSlowCalls && seen.bad_ratio() >= kBadLeaf ? 1 : 0;
  }
  return asked >= kLeastLeaves &&
         static_cast<double>(bad) >= kBadLeaves * static_cast<double>(asked);
}

/// A leaf that the parent opened is past its probes; or no leaf obeys any more.
bool Region::recovered() const {
  bool any = false;
  for (const Child& child : children_) {
    const Peek seen = child.leaf->peek();
    const bool obeys = seen.mode == Mode::kEnforce || seen.mode == Mode::kShadow;
    if (obeys && (seen.state == State::kClosed || seen.state == State::kRamping)) {
      return true;
    }
    any = any || obeys;
  }
  return !any;
}

void Region::open(const Evidence& seen, std::string_view rule, std::vector<Transition>& out) {
  why_open_ = Sentence()
                  .number(seen.bad)
                  .text(" of ")
                  .number(seen.calls)
                  .text(" calls of ")
                  .text(key_)
                  .text(" bad")
                  .str();
  move_to(State::kOpen, rule, why_open_, seen, out);
  for (const Child& child : children_) {
    child.leaf->open_with_parent(now_, seen, why_open_, out);
  }
}

void Region::move_to(State state, std::string_view rule, std::string reason, const Evidence& seen,
                     std::vector<Transition>& out) {
  out.push_back(Transition{.key = key_,
                           .at = now_,
                           .from_state = this->state(),
                           .to_state = state,
                           .epoch = ++epoch_,
                           .rule = rule,
                           .reason = std::move(reason),
                           .calls = static_cast<uint32_t>(seen.calls),
                           .bad = static_cast<uint32_t>(seen.bad)});
  open_ = state == State::kOpen;
  fast_.clear();
  slow_.clear();
  for (Child& child : children_) {
    child.window.clear();
  }
}

}  // namespace spillway::resilience
