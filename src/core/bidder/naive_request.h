#pragma once

// A request as the oracle of the tests takes it. Test-side only.

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bidder/facts.h"

namespace spillway::bidder::naive {

struct Medium {
  bool offered = false;
  int w = 0, h = 0;
  int min_s = 0, max_s = 0;
  std::vector<int> durations;
  std::vector<std::string> mimes;
  std::vector<int> protocols, apis, battr;
  int pos = 0;
  std::vector<std::pair<int, int>> formats;  ///< Of the banner.
  std::vector<std::array<int, 3>> ratios;    ///< wratio, hratio, wmin.
};

struct Deal {
  std::string id;
  std::vector<std::string> wseat, wadomain;
};

struct Imp {
  std::array<Medium, 4> media;
  bool secure = false, private_auction = false;
  std::vector<Deal> deals;
};

/// A request as its author means it; "" and 0 are left out of what is sent.
struct Request {
  std::string id;
  std::string country, region, metro, zip;
  std::optional<std::pair<double, double>> point;
  int device_type = 0;
  std::string os, language;
  bool app = false;
  std::string inventory_id, domain, bundle;
  std::vector<std::string> categories, segments, bcat, badv, wlang;
  SegmentState state = SegmentState::kUnknownUser;
  std::vector<Imp> imps;
  std::string seat;
};

inline std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

inline std::string size_text(int w, int h) { return std::to_string(w) + "x" + std::to_string(h); }

constexpr const char* kMediaNames[] = {"banner", "video", "audio", "native"};

template <typename List, typename Value>
bool has(const List& list, const Value& value) {
  return std::ranges::any_of(list, [&](const auto& v) { return v == value; });
}

}  // namespace spillway::bidder::naive
