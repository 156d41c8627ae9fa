#pragma once

#include <cstdint>

#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/retrieval.h"
#include "bidder/scoring/features.h"

namespace spillway::bidder {

/// Fills rows: what the request says once, what the imp says once an imp, and the candidate's own.
/// One thread owns it; it allocates nothing. About 20 ns a row.
class FeatureRows {
 public:
  /// Begins a request. `facts` must live until the next begin().
  void begin(const RequestFacts& facts, int64_t now_unix_s);

  /// Begins an imp of it.
  void begin_imp(const ImpFacts& imp);

  /// Every feature of a candidate on that imp.
  void fill(const Catalog& catalog, const Candidate& candidate, FeatureRow& row) const;

 private:
  const RequestFacts* facts_ = nullptr;
  const ImpFacts* imp_ = nullptr;
  FeatureRow request_{};
};

}  // namespace spillway::bidder
