#include "bidder/model_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bidder/model.h"

namespace spillway::bidder {

namespace {

// In the order of the enumerators.
template <typename Enum>
constexpr std::array<std::string_view, 0> kNames{};
template <>
constexpr std::array<std::string_view, 3> kNames<Status>{"active", "paused", "archived"};
template <>
constexpr std::array<std::string_view, 3> kNames<Goal>{"cpm", "cpc", "cpa"};
template <>
constexpr std::array<std::string_view, 3> kNames<Pacing>{"even", "front_loaded", "asap"};
template <>
constexpr std::array<std::string_view, 2> kNames<CapFailure>{"strict", "open"};
template <>
constexpr std::array<std::string_view, 3> kNames<CapScope>{"campaign", "creative", "advertiser"};
template <>
constexpr std::array<std::string_view, 4> kNames<CapWindow>{"hour", "day", "week", "lifetime"};
template <>
constexpr std::array<std::string_view, 2> kNames<CapKind>{"calendar", "sliding"};
template <>
constexpr std::array<std::string_view, 4> kNames<Media>{"banner", "video", "audio", "native"};
template <>
constexpr std::array<std::string_view, kDimensions> kNames<Dimension>{
    "segment", "country",  "region",   "metro",    "zip", "device_type",
    "os",      "media",    "size",     "site",     "app", "domain",
    "bundle",  "category", "language", "position", "deal"};

}  // namespace

template <typename Enum>
std::string_view name_of(Enum value) {
  return kNames<Enum>.at(static_cast<size_t>(value));
}

template <typename Enum>
std::optional<Enum> parse_name(std::string_view name) {
  const auto found = std::ranges::find(kNames<Enum>, name);
  if (found == kNames<Enum>.end()) {
    return std::nullopt;
  }
  return static_cast<Enum>(found - kNames<Enum>.begin());
}

template <typename Enum>
std::string names_of() {
  std::string out;
  for (const std::string_view name : kNames<Enum>) {
    out.append(out.empty() ? "" : ", ").append(name);
  }
  return out;
}

template std::string_view name_of(Status);
template std::string_view name_of(Goal);
template std::string_view name_of(Pacing);
template std::string_view name_of(CapFailure);
template std::string_view name_of(CapScope);
template std::string_view name_of(CapWindow);
template std::string_view name_of(CapKind);
template std::string_view name_of(Media);
template std::string_view name_of(Dimension);

template std::optional<Status> parse_name(std::string_view);
template std::optional<Goal> parse_name(std::string_view);
template std::optional<Pacing> parse_name(std::string_view);
template std::optional<CapFailure> parse_name(std::string_view);
template std::optional<CapScope> parse_name(std::string_view);
template std::optional<CapWindow> parse_name(std::string_view);
template std::optional<CapKind> parse_name(std::string_view);
template std::optional<Media> parse_name(std::string_view);
template std::optional<Dimension> parse_name(std::string_view);

template std::string names_of<Status>();
template std::string names_of<Goal>();
template std::string names_of<Pacing>();
template std::string names_of<CapFailure>();
template std::string names_of<CapScope>();
template std::string names_of<CapWindow>();
template std::string names_of<CapKind>();
template std::string names_of<Media>();
template std::string names_of<Dimension>();

}  // namespace spillway::bidder
