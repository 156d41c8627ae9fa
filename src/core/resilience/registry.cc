#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/rate.h"
#include "resilience/settings.h"

namespace spillway::resilience {

namespace {

constexpr size_t kMaxOverflowLeaves = 256;

}  // namespace

/// One contract and the guards that draw on it.
struct Registry::Contract {
  alignas(64) QpsContract qps;
  std::vector<Guard*> guards;
};

Registry::Registry(uint32_t workers, uint64_t seed) : workers_(workers), seed_(seed) {}

Registry::~Registry() = default;

Guard& Registry::make(std::string_view key, const Settings& settings, base::Instant now) {
  auto& contract = contracts_[std::string(key.substr(0, key.find('/')))];
  if (contract == nullptr) {
    contract = std::make_unique<Contract>();
  }
  guards_.push_back(
      std::make_unique<Guard>(std::string(key), settings, workers_, seed_, now, &contract->qps));
  Guard& made = *guards_.back();
  contract->guards.push_back(&made);
  by_key_.emplace(std::string(key), &made);
  return made;
}

Guard& Registry::at(std::string_view key, const Settings& settings, base::Instant now) {
  if (Guard* known = find(key)) {
    return *known;
  }
  if (guards_.size() - overflow_leaves_ < kMaxLeaves) {
    return make(key, settings, now);
  }
  const std::string shared = std::string(key.substr(0, key.find('/'))) + "/*/*";
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

void Registry::tick(base::Instant now, std::vector<Transition>& out) {
  for (const auto& guard : guards_) {
    guard->tick(now, out);
  }
}

}  // namespace spillway::resilience
