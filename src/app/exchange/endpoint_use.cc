#include "app/exchange/endpoint_use.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace spillway::app {

uint64_t EndpointUse::begin(std::set<std::string> keys) {
  configured_ = std::move(keys);
  known_.insert(configured_.begin(), configured_.end());
  return ++number_;
}

void EndpointUse::on_held(uint32_t worker, uint64_t number, std::set<std::string> keys) {
  held_[worker] = {.number = number, .keys = std::move(keys)};
  forget_unused();
}

void EndpointUse::post_held(uint32_t worker, uint64_t number, std::set<std::string> keys) {
  control_.post([this, worker, number, held = std::move(keys)]() mutable {
    on_held(worker, number, std::move(held));
  });
}

void EndpointUse::forget_unused() {
  // A configuration under way to a worker may name what that worker does not hold yet.
  if (!std::ranges::all_of(held_, [&](const Held& held) { return held.number == number_; })) {
    return;
  }
  for (auto key = known_.begin(); key != known_.end();) {
    const bool is_used =
        configured_.contains(*key) ||
        std::ranges::any_of(held_, [&](const Held& held) { return held.keys.contains(*key); });
    if (is_used) {
      ++key;
      continue;
    }
    const std::string gone = *key;
    key = known_.erase(key);
    forget_(gone);
  }
}

}  // namespace spillway::app
