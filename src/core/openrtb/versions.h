#pragma once

#include <cstdint>

#include "openrtb/document.h"
#include "openrtb/path_edits.h"

namespace spillway::openrtb {

/// Which of the two dialects of OpenRTB 2 a partner reads.
enum class Version : uint8_t { k25, k26 };

/// Members that 2.6 gave a place of their own and 2.5 carries under the same name in `ext`: of
/// regs gdpr, us_privacy, gpp, gpp_sid; of user consent, eids; of source schain; of an imp rwdd.
///
/// Where both places are there the 2.6 one counts, and only it is sent on: no two readers of one
/// request may see different consents. docs/openrtb_policies.md says so to callers.

/// Completes edits of a request so that every such member ends up where `version` has it, and
/// nowhere else; what is there already keeps its bytes. Edits name the places of 2.6 whatever the
/// version: what they set or remove there counts in place of what the document says.
void place_moved(const Document& document, Version version, PathEdits& edits);

/// The same for the edits of one imp; Prebid's ext.prebid.is_rewarded_inventory is its third place.
void place_moved_imp(const Document& document, NodeId imp, Version version, PathEdits& edits);

}  // namespace spillway::openrtb
