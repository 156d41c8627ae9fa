#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/settings.h"

namespace spillway::resilience {

namespace {

constexpr size_t kMaxOverflowLeaves = 256;

}  // namespace

Registry::Registry(uint32_t workers, uint64_t seed) : workers_(workers), seed_(seed) {}

Registry::~Registry() = default;

Guard& Registry::make(std::string_view key, const Settings& settings, base::Instant now) {
  guards_.push_back(std::make_unique<Guard>(std::string(key), settings, workers_, seed_, now));
  Guard& made = *guards_.back();
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
