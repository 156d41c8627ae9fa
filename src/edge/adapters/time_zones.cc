#include "adapters/time_zones.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <date/date.h>
#include <date/tz.h>

#include "bidder/model.h"
#include "bidder/time_zone.h"

namespace spillway::adapters {

namespace {

constexpr std::chrono::hours kBefore{2 * 366 * 24};
constexpr std::chrono::hours kAfter{10 * 366 * 24};

const date::time_zone* find(std::string_view name) {
  try {
    return date::locate_zone(std::string(name));
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

}  // namespace

std::optional<bidder::TimeZone> time_zone(std::string_view name, int64_t now_s) {
  const date::time_zone* const zone = find(name);
  if (zone == nullptr) {
    return std::nullopt;
  }
  bidder::TimeZone out{.name = std::string(name), .changes = {}};
  const date::sys_seconds now{std::chrono::seconds(now_s)};
  for (date::sys_seconds at = now - kBefore; at < now + kAfter;) {
    const date::sys_info info = zone->get_info(at);
    const auto offset_s = static_cast<int32_t>(info.offset.count());
    if (out.changes.empty() || out.changes.back().offset_s != offset_s) {
      out.changes.push_back({.from_unix_s = at.time_since_epoch().count(), .offset_s = offset_s});
    }
    if (info.end <= at) {
      break;
    }
    at = info.end;
  }
  return out;
}

std::vector<bidder::TimeZone> time_zones_of(const bidder::CatalogRows& rows, int64_t now_s) {
  std::set<std::string_view> names;
  for (const bidder::Advertiser& advertiser : rows.advertisers) {
    names.insert(advertiser.time_zone);
  }
  std::vector<bidder::TimeZone> out;
  for (const std::string_view name : names) {
    if (auto zone = time_zone(name, now_s)) {
      out.push_back(std::move(*zone));
    }
  }
  return out;
}

}  // namespace spillway::adapters
