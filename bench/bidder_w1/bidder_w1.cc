// Workload W1 against the bidder: that it is the workload it stands for, shown by the old system's
// rules and figures; what finding the twenty best of each imp costs; and what a whole request costs
// from its bytes to the answer's: segments and counts known at once, bids made and paid.
//
//     bidder_w1 [--smoke] [--rounds N]
//     bidder_w1 --whole N    N whole requests and nothing else, for a profile of them:
//     valgrind --tool=callgrind --toggle-collect='*measured_request*' bidder_w1 --whole 5000
//
// The last line is JSON. Exit status 1 when the bid rate is not that of the workload, or a bar is
// not held (--smoke measures no time).
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bidder/caps/segments.h"
#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/generate/catalogs.h"
#include "bidder/generate/users.h"
#include "bidder/model.h"
#include "bidder/retrieval.h"
#include "bidder_w1/cpu_time.h"
#include "bidder_w1/old_rules.h"
#include "bidder_w1/whole_bidder.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"
#include "workload/corpus.h"

namespace spillway::bench {
namespace {

using bidder::Candidate;
using bidder::Catalog;
using bidder::Media;
using bidder::RequestFacts;
using bidder::Retrieval;

constexpr int64_t kWednesdayNoonS = 1'791'979'200;  // 14 October 2026, 12:00 UTC.
constexpr size_t kNoon = 2 * 24 + 12;
constexpr size_t kNight = 2 * 24 + 7;
constexpr size_t kBest = 20;
constexpr double kBidRate = 0.700;
constexpr double kBidRateSlack = 0.001;
constexpr double kBarUs = 15;
constexpr double kWholeBarUs = 40;

struct Plan {
  int rounds = 5;
  bool smoke = false;
  size_t whole = 0;  ///< Requests; 0: all the rest.
};

/// One request of the corpus, walked, with the user's segments as the store has them.
struct Asked {
  std::unique_ptr<openrtb::Padded> text;
  openrtb::Document document;
  std::vector<uint32_t> segments;
  std::string segment_text;  ///< As a store gives them.
  bool known = false;
};

std::vector<Asked> read_corpus() {
  const workload::Corpus corpus = workload::Corpus::parity_bidder();
  const auto users = bidder::generate::Users::parity();
  std::vector<Asked> out(corpus.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const std::string id = "w1-" + std::to_string(i);
    out[i].text = std::make_unique<openrtb::Padded>(corpus.bytes(i, id));
    RequestFacts facts;
    if (!out[i].document.walk(out[i].text->view())) {
      std::abort();
    }
    facts.read(out[i].document);
    const uint64_t user = std::strtoull(std::string(facts.user_id).c_str(), nullptr, 10);
    out[i].known = users.segments(user, out[i].segments);
    for (const uint32_t segment : out[i].segments) {
      out[i].segment_text += std::to_string(segment) + "\n";
    }
  }
  return out;
}

void read(const Asked& asked, RequestFacts& facts) {
  facts.read(asked.document);
  for (const uint32_t segment : asked.segments) {
    facts.add_segment(segment);
  }
  facts.segment_state =
      asked.known ? bidder::SegmentState::kKnown : bidder::SegmentState::kUnknownUser;
}

struct Figures {
  double bid_rate = 0;
  double eligible_an_imp = 0;
  size_t eligible_most = 0;
  double pairs_a_request = 0;  ///< Candidates after the limit, of both imps.
};

/// The old rules over the corpus.
Figures old_figures(const OldRules& rules, const std::vector<Asked>& corpus, size_t hour) {
  Figures out;
  size_t bids = 0;
  size_t eligible = 0;
  size_t pairs = 0;
  for (const Asked& asked : corpus) {
    const openrtb::Document& document = asked.document;
    using openrtb::Key;
    const auto geo = document.path(document.root(), Key::device, Key::geo);
    const OldRules::Asked old{
        .country = document.string(document.find(geo, Key::country)),
        .metro = document.string(document.find(geo, Key::metro)),
        .device_type = static_cast<int32_t>(
            document.integer(document.path(document.root(), Key::device, Key::devicetype))
                .value_or(0)),
        .known = asked.known,
        .segments = asked.segments,
        .hour = hour};
    bool bid = false;
    for (const Media medium : {Media::kVideo, Media::kBanner}) {
      const size_t found = rules.eligible(old, medium).size();
      eligible += found;
      out.eligible_most = std::max(out.eligible_most, found);
      pairs += std::min(found, kBest);
      bid = bid || found > 0;
    }
    bids += bid ? 1 : 0;
  }
  const auto requests = static_cast<double>(corpus.size());
  out.bid_rate = static_cast<double>(bids) / requests;
  out.eligible_an_imp = static_cast<double>(eligible) / 2 / requests;
  out.pairs_a_request = static_cast<double>(pairs) / requests;
  return out;
}

/// The rules of model.h over the corpus: all candidates, not only the best.
Figures our_figures(const Catalog& catalog, const std::vector<Asked>& corpus) {
  Figures out;
  Retrieval retrieval;
  RequestFacts facts;
  std::vector<Candidate> all(catalog.items().size());
  size_t bids = 0;
  size_t eligible = 0;
  size_t pairs = 0;
  for (const Asked& asked : corpus) {
    read(asked, facts);
    retrieval.begin(catalog, facts, kWednesdayNoonS);
    bool bid = false;
    for (size_t imp = 0; imp < facts.imps().size(); ++imp) {
      retrieval.begin_imp(imp);
      const size_t found = retrieval.next(all);
      eligible += found;
      out.eligible_most = std::max(out.eligible_most, found);
      pairs += std::min(found, kBest);
      bid = bid || found > 0;
    }
    bids += bid ? 1 : 0;
  }
  const auto requests = static_cast<double>(corpus.size());
  out.bid_rate = static_cast<double>(bids) / requests;
  out.eligible_an_imp = static_cast<double>(eligible) / 2 / requests;
  out.pairs_a_request = static_cast<double>(pairs) / requests;
  return out;
}

/// CPU time a request of `work` over the corpus: the least of the rounds, so that what else runs
/// here counts as little as it can.
template <typename Work>
double least_us(const std::vector<Asked>& corpus, int rounds, Work work) {
  double least = 0;
  for (int round = 0; round <= rounds; ++round) {
    const double begin = cpu_us();
    for (const Asked& asked : corpus) {
      work(asked);
    }
    const double each = (cpu_us() - begin) / static_cast<double>(corpus.size());
    // The first round warms up.
    least = round == 1 ? each : std::min(least, each);
  }
  return least;
}

struct Costs {
  double facts_us = 0;
  double retrieval_us = 0;
};

Costs costs(const Catalog& catalog, const std::vector<Asked>& corpus, int rounds) {
  Retrieval retrieval;
  RequestFacts facts;
  std::vector<Candidate> best(kBest);
  Costs out;
  out.facts_us = least_us(corpus, rounds, [&](const Asked& asked) { read(asked, facts); });
  const double both_us = least_us(corpus, rounds, [&](const Asked& asked) {
    read(asked, facts);
    retrieval.begin(catalog, facts, kWednesdayNoonS);
    for (size_t imp = 0; imp < facts.imps().size(); ++imp) {
      retrieval.begin_imp(imp);
      (void)retrieval.next(best);
    }
  });
  out.retrieval_us = both_us - out.facts_us;
  return out;
}

/// One request as the profile of whole ones sees it.
[[gnu::noinline]] size_t measured_request(WholeBidder& bidder, const Asked& asked) {
  using State = bidder::caps::SegmentState;
  return bidder.ask(asked.text->view(), {.state = asked.known ? State::kKnown : State::kNoSuchUser,
                                         .ids = asked.segment_text});
}

/// A bidder whose bids are paid as soon as they are made, and given back after a while.
class Whole {
 public:
  explicit Whole(bidder::CatalogRows rows) : bidder_(asap(rows), {}, kWednesdayNoonS) {
    bidder_.ask_caps();
  }

  void operator()(const Asked& asked) {
    bids_ += measured_request(bidder_, asked);
    if (++requests_ % kBatch == 0) {
      bidder_.pass(std::chrono::milliseconds(100));
    }
  }

  [[nodiscard]] double bids_a_request() const {
    return static_cast<double>(bids_) / static_cast<double>(requests_);
  }

 private:
  static constexpr size_t kBatch = 1'000;

  static bidder::CatalogRows& asap(bidder::CatalogRows& rows) {
    for (auto& campaign : rows.campaigns) {
      campaign.pacing = bidder::Pacing::kAsap;
    }
    return rows;
  }

  WholeBidder bidder_;
  size_t requests_ = 0;
  size_t bids_ = 0;
};

void print(const char* what, const Figures& figures) {
  std::printf("%-34s %9.4f %13.1f %13zu %13.1f\n", what, figures.bid_rate, figures.eligible_an_imp,
              figures.eligible_most, figures.pairs_a_request);
}

int run(const Plan& plan) {
  const std::vector<Asked> corpus = read_corpus();
  const bidder::CatalogRows rows = bidder::generate::parity_catalog({});
  Whole whole(rows);
  if (plan.whole > 0) {
    for (size_t i = 0; i < plan.whole; ++i) {
      whole(corpus[i % corpus.size()]);
    }
    return 0;
  }
  const Catalog catalog(rows, {}, 1);
  const OldRules rules(rows);
  const Figures old = old_figures(rules, corpus, kNoon);
  std::printf("%-34s %9s %13s %13s %13s\n", "W1", "bid rate", "eligible/imp", "most", "pairs/req");
  std::printf("%-34s %9.4f %13.1f %13d %13.1f\n", "as published", kBidRate, 297.5, 730, 25.8);
  print("old rules, Wednesday 12:00 UTC", old);
  print("old rules, 07:00 UTC", old_figures(rules, corpus, kNight));
  print("our rules, Wednesday 12:00 UTC", our_figures(catalog, corpus));
  const bool same = std::abs(old.bid_rate - kBidRate) <= kBidRateSlack;
  if (plan.smoke) {
    std::printf("{\"bench\": \"bidder_w1\", \"bid_rate\": %.4f, \"ok\": null}\n", old.bid_rate);
    return same ? 0 : 1;
  }
  const Costs w1 = costs(catalog, corpus, plan.rounds);
  const Catalog large(bidder::generate::parity_catalog({.campaigns = 163'000}), {}, 2);
  const Costs w1_large = costs(large, corpus, plan.rounds);
  std::printf("\n%-22s %12s %16s\n", "CPU us a request", "facts", "retrieval");
  std::printf("%6zu line items      %12.2f %16.2f\n", catalog.items().size(), w1.facts_us,
              w1.retrieval_us);
  std::printf("%6zu line items      %12.2f %16.2f\n", large.items().size(), w1_large.facts_us,
              w1_large.retrieval_us);
  const double whole_us = least_us(corpus, plan.rounds, [&](const Asked& asked) { whole(asked); });
  std::printf("%6zu line items, the whole request: %.2f; %.2f bids each\n", catalog.items().size(),
              whole_us, whole.bids_a_request());
  const bool held = w1.retrieval_us <= kBarUs && whole_us <= kWholeBarUs;
  std::printf(
      "{\"bench\": \"bidder_w1\", \"bid_rate\": %.4f, \"retrieval_us\": %.2f, "
      "\"retrieval_100k_us\": %.2f, \"facts_us\": %.2f, \"bar_us\": %.0f, \"whole_us\": %.2f, "
      "\"whole_bar_us\": %.0f, \"ok\": %s}\n",
      old.bid_rate, w1.retrieval_us, w1_large.retrieval_us, w1.facts_us, kBarUs, whole_us,
      kWholeBarUs, same && held ? "true" : "false");
  return same && held ? 0 : 1;
}

}  // namespace
}  // namespace spillway::bench

int main(int argc, char** argv) {
  spillway::bench::Plan plan;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--smoke") {
      plan.smoke = true;
    } else if (flag == "--rounds" && i + 1 < argc) {
      plan.rounds = std::max(1, static_cast<int>(std::strtol(argv[++i], nullptr, 10)));
    } else if (flag == "--whole" && i + 1 < argc) {
      plan.whole = std::max(1UL, std::strtoul(argv[++i], nullptr, 10));
    }
  }
  return spillway::bench::run(plan);
}
