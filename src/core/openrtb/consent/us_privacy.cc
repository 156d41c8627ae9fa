#include "openrtb/consent/us_privacy.h"

#include <string_view>

namespace spillway::openrtb::consent {

OptOut us_privacy_opt_out(std::string_view text) {
  const bool sound = text.size() == 4 && text.front() == '1' &&
                     text.find_first_not_of("YyNn-", 1) == std::string_view::npos;
  if (!sound) {
    return OptOut::kUnreadable;
  }
  return text[2] == 'Y' || text[2] == 'y' ? OptOut::kYes : OptOut::kNo;
}

}  // namespace spillway::openrtb::consent
