#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/hierarchy.h"
#include "resilience/rate.h"
#include "resilience/settings.h"

namespace spillway::resilience {

namespace {

constexpr size_t kMaxOverflowLeaves = 256;

/// How much an override keeps away.
int strictness(Mode mode) {
  switch (mode) {
    case Mode::kForcedOpen:
      return 3;
    case Mode::kShadow:
      return 2;
    case Mode::kDisabled:
      return 1;
    case Mode::kEnforce:
      break;
  }
  return 0;
}

}  // namespace

/// One contract and the guards that draw on it.
struct Registry::Contract {
  alignas(64) QpsContract qps;
  std::vector<Guard*> guards;
};

Registry::Registry(uint32_t workers, uint64_t seed) : workers_(workers), seed_(seed) {}

Registry::~Registry() = default;

Guard& Registry::make(std::string_view key, const Settings& settings, base::Instant now) {
  auto& contract = contracts_[std::string(dependency_of(key))];
  if (contract == nullptr) {
    contract = std::make_unique<Contract>();
  }
  guards_.push_back(
      std::make_unique<Guard>(std::string(key), settings, workers_, seed_, now, &contract->qps));
  Guard& made = *guards_.back();
  contract->guards.push_back(&made);
  by_key_.emplace(std::string(key), &made);
  auto& region = regions_[std::string(region_of(key))];
  if (region == nullptr) {
    region = std::make_unique<Region>(std::string(region_of(key)), now);
  }
  region->add(made, unsaid_);
  if (const Override* held = strictest(key)) {
    made.set_mode(now, held->mode, held->until, held->why, unsaid_);
  }
  return made;
}

Guard& Registry::at(std::string_view key, const Settings& settings, base::Instant now) {
  if (Guard* known = find(key)) {
    return *known;
  }
  if (guards_.size() - overflow_leaves_ < kMaxLeaves) {
    return make(key, settings, now);
  }
  const std::string shared = std::string(dependency_of(key)) + "/*/*";
  if (Guard* known = find(shared)) {
    return *known;
  }
  if (overflow_leaves_ < kMaxOverflowLeaves) {
    ++overflow_leaves_;
    return make(shared, settings, now);
  }
  if (Guard* known = find("*/*/*")) {
    return *known;
  }
  ++overflow_leaves_;
  return make("*/*/*", settings, now);
}

void Registry::forget(std::string_view key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || key.ends_with("/*/*")) {
    return;
  }
  const Guard* const leaf = found->second;
  const auto region = regions_.find(region_of(key));
  region->second->remove(*leaf);
  if (region->second->empty()) {
    regions_.erase(region);
  }
  const auto contract = contracts_.find(dependency_of(key));
  std::erase(contract->second->guards, leaf);
  const bool is_last = contract->second->guards.empty();
  by_key_.erase(found);
  std::erase_if(guards_, [leaf](const auto& guard) { return guard.get() == leaf; });
  if (is_last) {  // after the guard, which draws on it
    contracts_.erase(contract);
  }
}

void Registry::set_contract(std::string_view dependency, uint32_t qps) {
  const auto found = contracts_.find(dependency);
  if (found == contracts_.end()) {
    return;
  }
  found->second->qps.set_qps(qps);
  for (Guard* guard : found->second->guards) {
    guard->contract_changed();
  }
}

Guard* Registry::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

const Registry::Override* Registry::strictest(std::string_view key) const {
  const Override* strict = nullptr;
  for (const auto& [node, held] : overrides_) {
    if (!lies_under(key, node)) {
      continue;
    }
    const int more = strict == nullptr ? 1 : strictness(held.mode) - strictness(strict->mode);
    if (more > 0 || (more == 0 && held.until > strict->until)) {
      strict = &held;
    }
  }
  return strict;
}

void Registry::follow_overrides(Guard& leaf, base::Instant now, std::string_view why,
                                std::vector<Transition>& out) {
  if (const Override* held = strictest(leaf.key())) {
    leaf.set_mode(now, held->mode, held->until, held->why, out);
  } else {
    leaf.set_mode(now, Mode::kEnforce, base::kNever, why, out);
  }
}

bool Registry::set_mode(std::string_view key, base::Instant now, Mode mode, base::Instant until,
                        std::string_view why, std::vector<Transition>& out) {
  const bool region = regions_.contains(key);
  if (find(key) == nullptr && !region && !contracts_.contains(key)) {
    return false;
  }
  if (mode == Mode::kEnforce) {
    if (const auto held = overrides_.find(key); held != overrides_.end()) {
      overrides_.erase(held);
    }
  } else {
    overrides_.insert_or_assign(std::string(key),
                                Override{.mode = mode, .until = until, .why = std::string(why)});
  }
  for (const auto& guard : guards_) {
    if (lies_under(guard->key(), key)) {
      follow_overrides(*guard, now, why, out);
    }
  }
  return true;
}

/// A leaf on which nothing else holds ends its override in its own tick, at the same time.
void Registry::expire_overrides(base::Instant now, std::vector<Transition>& out) {
  if (std::erase_if(overrides_, [&](const auto& held) { return held.second.until <= now; }) == 0) {
    return;
  }
  for (const auto& guard : guards_) {
    if (const Override* held = strictest(guard->key())) {
      guard->set_mode(now, held->mode, held->until, held->why, out);
    }
  }
}

std::vector<Registry::Node> Registry::nodes() const {
  std::map<std::string, Node, std::less<>> nodes;
  for (const auto& guard : guards_) {
    const bool closed = guard->peek().state == State::kClosed;
    for (const std::string_view key : {dependency_of(guard->key()), region_of(guard->key())}) {
      Node& node = nodes[std::string(key)];
      node.key = key;
      ++node.leaves;
      node.closed_leaves += closed ? 1 : 0;
    }
  }
  std::vector<Node> out;
  for (auto& [key, node] : nodes) {
    const auto region = regions_.find(key);
    node.state = region == regions_.end() ? State::kClosed : region->second->state();
    const auto held = overrides_.find(key);
    node.override = held == overrides_.end() ? Mode::kEnforce : held->second.mode;
    out.push_back(std::move(node));
  }
  return out;
}

void Registry::tick(base::Instant now, std::vector<Transition>& out) {
  out.insert(out.end(), unsaid_.begin(), unsaid_.end());
  unsaid_.clear();
  expire_overrides(now, out);
  for (const auto& guard : guards_) {
    guard->tick(now, out);
  }
  for (const auto& [key, region] : regions_) {
    region->tick(now, out);
  }
}

}  // namespace spillway::resilience
