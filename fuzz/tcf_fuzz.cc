// Arbitrary bytes as a consent string: decoding ends, and what it allows lies in the field's
// ranges.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "openrtb/consent/tcf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using spillway::openrtb::consent::Tcf;
  const std::string text(data, data + size);
  const std::optional<Tcf> tcf = Tcf::decode(text);
  if (!tcf) {
    return 0;
  }
  const bool outside = tcf->vendor_consent(0) || tcf->vendor_interest(0) ||
                       tcf->vendor_consent(65536) || tcf->purpose_consent(0) ||
                       tcf->purpose_consent(25) || tcf->purpose_interest(25);
  if (tcf->version() != 2 || outside) {
    std::abort();
  }
  return 0;
}
