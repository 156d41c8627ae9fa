// Workload W1: a thousand requests of one site, by the numbers of a published load test.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "openrtb/document.h"
#include "workload/corpus.h"
#include "workload/request_template.h"

namespace spillway::workload {

namespace {

constexpr uint32_t kRequests = 1000;
constexpr uint32_t kTmaxMs = 120;
constexpr size_t kMetros = 10;
constexpr std::array<int, kMetros> kMetroCodes = {501, 803, 602, 623, 618, 819, 807, 511, 534, 524};
constexpr std::array<std::string_view, 20> kSegments = {
    "auto_intender", "home_improver", "frequent_flyer", "new_parent",    "gamer_console",
    "pet_owner",     "sports_fan",    "online_grocer",  "luxury_buyer",  "student_loans",
    "first_home",    "fitness_class", "green_energy",   "news_reader",   "music_festival",
    "diy_workshop",  "cord_cutter",   "credit_seeker",  "garden_season", "early_adopter"};

/// x -> 1664525 x + 1013904223 mod 2^32.
class Congruential {
 public:
  double uniform() {
    constexpr uint32_t kMultiplier = 1664525;
    constexpr uint32_t kIncrement = 1013904223;
    state_ = state_ * kMultiplier + kIncrement;
    return static_cast<double>(state_) * 0x1.0p-32;
  }

  size_t below(size_t bound) { return static_cast<size_t>(uniform() * static_cast<double>(bound)); }

 private:
  uint32_t state_ = 0xC0FFEE;
};

/// 5 to 15 different ones, the first in the list more often; the first four of full weight.
std::string segments(Congruential& draw) {
  constexpr size_t kFull = 4;
  const size_t count = 5 + draw.below(11);
  std::vector<size_t> chosen;
  while (chosen.size() < count) {
    const double u = draw.uniform();
    const auto index = static_cast<size_t>(20 * u * u);
    if (std::find(chosen.begin(), chosen.end(), index) == chosen.end()) {
      chosen.push_back(index);
    }
  }
  std::string out;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const std::string_view name = kSegments.at(chosen[i]);
    std::string value = "1";
    if (i >= kFull) {
      const size_t cents = 50 + draw.below(51);
      value = cents == 100 ? "1.00" : "0." + std::to_string(cents);
    }
    out.append(i == 0 ? "" : ",").append(R"({"id":"seg:)").append(name);
    out.append(R"(","name":")").append(name).append(R"(","value":")").append(value);
    out += R"("})";
  }
  return out;
}

/// 80 % are few and often, the rest of a hundred million.
uint64_t user(Congruential& draw) {
  constexpr double kHot = 50'000;
  constexpr double kAll = 100'000'000;
  const bool hot = draw.uniform() < 0.8;
  const double u = draw.uniform();
  return static_cast<uint64_t>(hot ? std::pow(kHot, u) : 1 + u * kAll);
}

int device_type(Congruential& draw) {
  const double u = draw.uniform();
  if (u < 0.728) {
    return 2;
  }
  return u < 0.903 ? 1 : 4;
}

/// Every ten requests in a row have every metro once, so that any stretch has their shares.
std::vector<int> metros(Congruential& draw) {
  std::vector<int> out;
  while (out.size() < kRequests) {
    std::array<int, kMetros> deck = kMetroCodes;
    for (size_t i = deck.size(); i > 1; --i) {
      std::swap(deck.at(i - 1), deck.at(draw.below(i)));
    }
    out.insert(out.end(), deck.begin(), deck.end());
  }
  return out;
}

std::string text_of(Congruential& draw, int metro) {
  const std::string id = std::to_string(user(draw));
  std::string out =
      R"({"id":"","imp":[{"id":"1","video":{"mimes":["video/mp4","video/webm","video/x-ms-wmv"],)"
      R"("minduration":5,"maxduration":30,"protocols":[2,3],"w":640,"h":480,"linearity":1,)"
      R"("startdelay":0,"pos":1,"battr":[13,14],"companionad":[{"id":"c1","w":300,"h":250,"pos":1,)"
      R"("battr":[13,14]},{"id":"c2","w":728,"h":90,"pos":1,"battr":[13,14]}],)"
      R"("companiontype":[1,2]},"bidfloor":0.03,"bidfloorcur":"USD","tagid":"watch-page-player"},)"
      R"({"id":"2","banner":{"w":300,"h":250,"pos":1,"battr":[13,14]},"bidfloor":0.03,)"
      R"("bidfloorcur":"USD","tagid":"watch-page-side"}],"site":{"id":"site-1345135123",)"
      R"("name":"Example Clips","domain":"clips.example","cat":["IAB2-1","IAB2-2"],)"
      R"("page":"https://clips.example/watch/1234567/","ref":"https://search.example/find?q=clips",)"
      R"("publisher":{"id":"pub-12345","name":"Example Media","domain":"media.example"},)"
      R"("content":{"id":"1234567","series":"All About Cars","season":"2","episode":23,)"
      R"("title":"Car Show","cat":["IAB2-2"],"keywords":"cars,shows,test drives","len":1450,)"
      R"("language":"en"}},"device":{"ua":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 )"
      R"((KHTML, like Gecko) Example/120.0","ip":"192.0.2.)";
  out += std::to_string(draw.below(255)) + R"(","devicetype":)" +
         std::to_string(device_type(draw)) +
         R"(,"os":"Linux","language":"en","js":1,"geo":{"country":"USA","metro":")" +
         std::to_string(metro) + R"(","type":2}},"user":{"id":")" + id + R"(","buyeruid":"b-)" +
         id + R"(","data":[{"id":"6","name":"Data Provider 1","segment":[)";
  return out + segments(draw) + R"(]}]},"at":2,"tmax":)" + std::to_string(kTmaxMs) +
         R"(,"cur":["USD"]})";
}

}  // namespace

Corpus Corpus::parity_bidder() {
  Congruential draw;
  openrtb::Document document;
  const std::vector<int> deck = metros(draw);
  std::vector<Item> items;
  items.reserve(kRequests);
  for (uint32_t i = 0; i < kRequests; ++i) {
    items.push_back({.request = RequestTemplate(text_of(draw, deck[i]), document, {}),
                     .tmax_ms = kTmaxMs,
                     .media = Media::kVideo});
  }
  return {std::move(items), {}, 0};
}

}  // namespace spillway::workload
