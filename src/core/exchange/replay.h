#pragma once

#include <string_view>

#include "exchange/auction.h"
#include "exchange/record.h"
#include "exchange/snapshot.h"

namespace spillway::exchange {

/// Feeds a record's inputs to `auction` and leaves it ended, to be looked into.
/// `padded_request` is the record's request with Document::kPadding readable bytes behind it; it
/// must outlive what is asked of the auction. Inputs that do not fit the snapshot (another
/// configuration's) are ignored: candidates without a verdict count as shed.
void run_again(const Snapshot& snapshot, const Record& record, std::string_view padded_request,
               Auction& auction);

}  // namespace spillway::exchange
