// Arbitrary bytes as a consent string and as a GPP string: decoding ends, and what it allows lies
// in the fields' ranges.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "openrtb/consent/gpp.h"
#include "openrtb/consent/tcf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using spillway::openrtb::consent::Tcf;
  const std::string text(data, data + size);
  if (const auto gpp = spillway::openrtb::consent::Gpp::decode(text)) {
    unsigned before = 0;
    for (const auto& section : gpp->sections()) {
      if (section.id <= before) {
        std::abort();
      }
      before = section.id;
      static_cast<void>(spillway::openrtb::consent::us_section_opt_out(section.id, section.text));
    }
  }
  const std::optional<Tcf> tcf = Tcf::decode(text);
  if (!tcf) {
    return 0;
  }
  const bool outside = tcf->vendor_consent(0) || tcf->vendor_interest(0) ||
                       tcf->vendor_consent(65536) || tcf->purpose_consent(0) ||
                       tcf->purpose_consent(25) || tcf->purpose_interest(25) ||
                       tcf->has_basis(25, 1, true) || tcf->has_basis(2, 0, true);
  if (tcf->version() != 2 || outside) {
    std::abort();
  }
  return 0;
}
