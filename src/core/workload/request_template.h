#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "openrtb/document.h"

namespace spillway::workload {

/// A request's bytes with places whose values are new in every sending, so that nothing is
/// re-serialised on the way out: the root's `id`, `source.tid`, and every number named `ts` or
/// `timestamp` (in the unit it was in: milliseconds from 10^11 up, else seconds). On demand
/// `user.id` too. What is no JSON object is sent as it is. Immutable, any thread.
class RequestTemplate {
 public:
  static constexpr size_t kHolesMax = 32;

  /// Texts for one sending. A value must be fit for its place: no quotes, digits for times.
  struct Values {
    std::string_view id;
    std::string_view tid;
    std::string_view seconds;
    std::string_view millis;
    std::string_view user;
  };

  struct Options {
    bool renew_user = false;
  };

  /// `document` is scratch memory.
  RequestTemplate(std::string text, openrtb::Document& document, Options options);

  /// Appends the request in pieces: views into the template and the values.
  void append_parts(const Values& values, std::vector<std::string_view>& out) const;

  /// The request whole, for people and tests.
  [[nodiscard]] std::string bytes(const Values& values) const;

  [[nodiscard]] size_t size() const { return text_.size(); }

  /// Whether it is one JSON object.
  [[nodiscard]] bool well_formed() const { return well_formed_; }

 private:
  enum class Hole : uint8_t { kId, kTid, kSeconds, kMillis, kUser };

  struct Place {
    uint32_t begin = 0;
    uint32_t end = 0;
    Hole hole = Hole::kId;
  };

  void add_string(const openrtb::Document& document, openrtb::NodeId node, Hole hole);
  void add_times(const openrtb::Document& document);

  std::string text_;
  std::vector<Place> places_;  ///< By position.
  bool well_formed_ = false;
};

}  // namespace spillway::workload
