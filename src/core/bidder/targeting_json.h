#pragma once

// A request of the oracle as a caller sends it. Test-side only.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "bidder/naive_targeting.h"
#include "openrtb/document.h"

namespace spillway::bidder {

/// Writes requests; what is not said is left out, or null, or an empty list.
class RequestWriter {
 public:
  explicit RequestWriter(base::Rng& rng) : rng_(rng) {}

  std::string write(const naive::Request& request) {
    out_ = "{";
    text("id", request.id);
    out_ += R"("imp":[)";
    for (size_t i = 0; i < request.imps.size(); ++i) {
      out_ += i == 0 ? "" : ",";
      imp(request.imps[i], i);
    }
    out_ += "],";
    texts("bcat", request.bcat);
    texts("badv", request.badv);
    texts("wlang", request.wlang);
    out_ += R"("device":{)";
    number("devicetype", request.device_type);
    text("os", request.os);
    text("language", request.language);
    // Where the user is may stand in either place.
    const bool in_user = rng_.below(4) == 0;
    if (!in_user) {
      geo(request);
    }
    out_ += R"("dnt":null},)";
    out_ += request.app ? R"("app":{)" : R"("site":{)";
    text("id", request.inventory_id);
    text("domain", request.domain);
    text("bundle", request.bundle);
    texts("cat", request.categories);
    out_ += R"("name":"n"},"user":{)";
    if (in_user) {
      geo(request);
    }
    out_ += R"("data":[{"id":"p","segment":[)";
    for (size_t i = 0; i < request.segments.size(); ++i) {
      const std::string& id = request.segments[i];
      const bool as_number = id[0] >= '1' && id[0] <= '9' && rng_.below(2) == 0;
      out_ += i == 0 ? "" : ",";
      out_ += R"({"id":)" + (as_number ? id : openrtb::json_string(id)) + "}";
    }
    out_ += "]}]}}";
    return out_;
  }

 private:
  void key(std::string_view name) { out_.append("\"").append(name).append("\":"); }

  /// Silence has several spellings.
  void nothing(std::string_view name) {
    if (rng_.below(3) == 0) {
      key(name);
      out_ += "null,";
    }
  }

  void text(std::string_view name, std::string_view value) {
    if (value.empty()) {
      nothing(name);
      return;
    }
    key(name);
    if (rng_.below(8) == 0) {  // One letter in a longer spelling.
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(value[0]);
      out_.append("\"\\u00").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 15U]);
      out_.append(value.substr(1)).append("\",");
      return;
    }
    openrtb::append_json_string(out_, value);
    out_ += ",";
  }

  void number(std::string_view name, int value) {
    if (value == 0) {
      nothing(name);
      return;
    }
    key(name);
    out_ += std::to_string(value) + ",";
  }

  template <typename T>
  void list(std::string_view name, const std::vector<T>& values) {
    if (values.empty() && rng_.below(2) == 0) {
      nothing(name);
      return;
    }
    key(name);
    out_ += "[";
    for (size_t i = 0; i < values.size(); ++i) {
      out_ += i == 0 ? "" : ",";
      if constexpr (std::is_same_v<T, int>) {
        out_ += std::to_string(values[i]);
      } else {
        openrtb::append_json_string(out_, values[i]);
      }
    }
    out_ += "],";
  }

  void texts(std::string_view name, const std::vector<std::string>& values) { list(name, values); }

  void geo(const naive::Request& request) {
    out_ += R"("geo":{)";
    text("country", request.country);
    text("region", request.region);
    text("metro", request.metro);
    text("zip", request.zip);
    if (request.point) {
      out_ += R"("lat":)" + std::to_string(request.point->first) + R"(,"lon":)" +
              std::to_string(request.point->second) + ",";
    }
    out_ += R"("type":2},)";
  }

  void imp(const naive::Imp& imp, size_t index) {
    out_ += "{";
    text("id", std::to_string(index + 1));
    for (size_t m = 0; m < imp.media.size(); ++m) {
      if (imp.media[m].offered) {
        medium(naive::kMediaNames[m], imp.media[m]);
      } else {
        nothing(naive::kMediaNames[m]);
      }
    }
    number("secure", imp.secure ? 1 : 0);
    out_ += R"("pmp":{)";
    number("private_auction", imp.private_auction ? 1 : 0);
    out_ += R"("deals":[)";
    for (size_t i = 0; i < imp.deals.size(); ++i) {
      out_ += i == 0 ? "{" : ",{";
      text("id", imp.deals[i].id);
      texts("wseat", imp.deals[i].wseat);
      texts("wadomain", imp.deals[i].wadomain);
      out_ += R"("at":1})";
    }
    out_ += "]}}";
  }

  void medium(std::string_view name, const naive::Medium& medium) {
    key(name);
    out_ += "{";
    number("w", medium.w);
    number("h", medium.h);
    number("minduration", medium.min_s);
    number("maxduration", medium.max_s);
    list("rqddurs", medium.durations);
    list("mimes", medium.mimes);
    list("protocols", medium.protocols);
    list("api", medium.apis);
    list("battr", medium.battr);
    number("pos", medium.pos);
    out_ += R"("format":[)";
    for (size_t i = 0; i < medium.formats.size(); ++i) {
      out_ += i == 0 ? "" : ",";
      out_ += R"({"w":)" + std::to_string(medium.formats[i].first) + R"(,"h":)" +
              std::to_string(medium.formats[i].second) + "}";
    }
    for (size_t i = 0; i < medium.ratios.size(); ++i) {
      out_ += i + medium.formats.size() == 0 ? "" : ",";
      out_ += R"({"wratio":)" + std::to_string(medium.ratios[i][0]) + R"(,"hratio":)" +
              std::to_string(medium.ratios[i][1]) + R"(,"wmin":)" +
              std::to_string(medium.ratios[i][2]) + "}";
    }
    out_ += "]},";
  }

  base::Rng& rng_;
  std::string out_;
};

}  // namespace spillway::bidder
