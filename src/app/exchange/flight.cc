#include "app/exchange/flight.h"

#include <cstddef>
#include <string_view>

#include "openrtb/document.h"

namespace spillway::app {

std::string_view Flight::keep_body(std::string_view body) {
  body_.clear();
  body_.reserve(body.size() + openrtb::Document::kPadding);
  body_.append(body);
  body_.append(openrtb::Document::kPadding, '\0');
  return std::string_view(body_).substr(0, body.size());
}

void Flight::reset() {
  constexpr size_t kKeptBytes = 64 * 1024;  // one big request must not hold its size for good
  cancel();
  auction.reset();
  route.reset();
  reply = net::Reply();
  origin.clear();
  record.reset();
  admissions.clear();
  verdicts.clear();
  call_slots.clear();
  calls_open = 0;
  shed = false;
  answered = false;
  pinned = false;
  counted = false;
  if (body_.capacity() > kKeptBytes) {
    body_ = std::string();
  }
}

}  // namespace spillway::app
