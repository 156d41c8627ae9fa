#pragma once

#include <string_view>

#include "app/bidder/deployment.h"
#include "base/time.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "bidder/stages.h"

namespace spillway::app::bidding {

/// Whether a deployment can serve: one request of our own, marked as a test, is run through the
/// whole pipeline with what requests are served with, short of stores that would have to be waited
/// for. It passes when it is decided: a bid, or a no-bid for a reason of the market. One thread.
class SelfCheck {
 public:
  explicit SelfCheck(const BidderConfig& config);

  /// The reason that it was decided by, or why it was not in `failure`. `clock` times the stages.
  [[nodiscard]] bool passes(const Deployment& deployment, Shared& shared, const base::Clock& clock,
                            int64_t unix_s);

  /// Of the last check.
  [[nodiscard]] bidder::NoBidReason reason() const { return pipeline_.reason(); }

 private:
  bidder::PipelineStats stats_;
  bidder::Scratch scratch_;
  bidder::Pipeline pipeline_{stats_};
  bidder::PacerSettings pacing_;
};

}  // namespace spillway::app::bidding
