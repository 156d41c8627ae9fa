#include "bidder/pipeline.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "base/time.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/window.h"
#include "bidder/explanation.h"
#include "bidder/facts.h"
#include "bidder/response.h"
#include "bidder/scoring/ab_split.h"
#include "bidder/stages.h"

namespace spillway::bidder {

using namespace std::chrono_literals;

PipelineSettings::PipelineSettings() {
  budgets.fill(1ms);
  budgets[static_cast<size_t>(Stage::kEnrich)] = 10ms;
  budgets[static_cast<size_t>(Stage::kCap)] = 10ms;
}

Pipeline::Pipeline(PipelineStats& stats) : stats_(stats) {}

Pipeline::~Pipeline() { release_all(); }

void Pipeline::begin(const World& world, const Start& start) {
  release_all();
  world_ = world;
  start_ = start;
  next_ = Step::kValidate;
  stage_began_ = start.now;
  deadline_ = start.time_zero + world.settings->deadline;
  tmax_at_ = start.time_zero + world.settings->tmax_default;
  running_.reset();
  reason_ = NoBidReason::kNone;
  user_.reset();
  arm_ = Arm::kControl;
  privacy_ = {};
  explains_ = start.debug;
  asking_ = false;
  keys_asked_ = 0;
  contenders_.clear();
  round_begin_ = 0;
  round_ = 0;
  slots_.clear();
  misfits_ = {};
  limits_.clear();
  known_.clear();
  limit_key_.clear();
  allowed_.clear();
  keys_.clear();
  counts_.clear();
  counts_unread_ = false;
  body_.clear();
  explain_.clear();
  stats_.requests.add();
}

Stage Pipeline::stage_of(Step step) {
  switch (step) {
    case Step::kValidate:
      return Stage::kValidate;
    case Step::kShed:
      return Stage::kShed;
    case Step::kEnrich:
    case Step::kEnriched:
      return Stage::kEnrich;
    case Step::kRetrieve:
      return Stage::kRetrieve;
    case Step::kScore:
      return Stage::kScore;
    case Step::kCap:
    case Step::kCapped:
      return Stage::kCap;
    case Step::kPace:
      return Stage::kPace;
    case Step::kPrice:
      return Stage::kPrice;
    case Step::kChoose:
      return Stage::kChoose;
    case Step::kBuild:
    case Step::kDone:
      return Stage::kBuild;
  }
  return Stage::kBuild;
}

void Pipeline::settle_time(base::Instant now) {
  if (!running_ || (next_ != Step::kDone && stage_of(next_) == *running_)) {
    return;
  }
  const auto stage = static_cast<size_t>(*running_);
  const auto took = now - stage_began_;
  stats_.times[stage].record(took);
  stats_.over_budget[stage].add(took > world_.settings->budgets[stage] ? 1 : 0);
  running_.reset();
}

Pipeline::Next Pipeline::step(base::Instant now) {
  settle_time(now);
  if (next_ == Step::kDone) {
    return Next::kDone;
  }
  if (now >= deadline_) {
    stats_.late[static_cast<size_t>(stage_of(next_))].add();
    end(NoBidReason::kDeadline);
    settle_time(now);
    return Next::kDone;
  }
  if (!running_) {
    running_ = stage_of(next_);
    stage_began_ = now;
  }
  run(next_, now);
  return asking_ ? Next::kAsk : Next::kMore;
}

void Pipeline::run(Step step, base::Instant now) {
  switch (step) {
    case Step::kValidate:
      return validate();
    case Step::kShed:
      next_ = Step::kEnrich;
      return start_.shed ? end(NoBidReason::kShed) : void();
    case Step::kEnrich:
      return enrich(now);
    case Step::kEnriched:
      next_ = Step::kRetrieve;
      return stats_.segments[static_cast<size_t>(facts_.segment_state)].add();
    case Step::kRetrieve:
      return retrieve();
    case Step::kScore:
      return score();
    case Step::kCap:
      return cap(now);
    case Step::kCapped:
      return capped();
    case Step::kPace:
      return pace(now);
    case Step::kPrice:
      return price();
    case Step::kChoose:
      return choose(now);
    case Step::kBuild:
      return build(now);
    case Step::kDone:
      return;
  }
}

void Pipeline::on_segments(const caps::Segments& segments) {
  asking_ = false;
  switch (segments.state) {
    case caps::SegmentState::kCouldNotAsk:
      facts_.segment_state = SegmentState::kCouldNotAsk;
      return;
    case caps::SegmentState::kNoSuchUser:
      facts_.segment_state = SegmentState::kUnknownUser;
      return;
    case caps::SegmentState::kKnown:
      facts_.segment_state = segments.ids.empty() ? SegmentState::kNone : SegmentState::kKnown;
      facts_.add_segments(segments.ids);
      return;
  }
}

void Pipeline::on_counts(std::optional<std::span<const caps::CapCounts>> counts) {
  asking_ = false;
  if (!counts || counts->size() != ask_.keys.size()) {
    counts_unread_ = true;
    stats_.caps_unread.add();
    return;
  }
  counts_.insert(counts_.end(), counts->begin(), counts->end());
}

void Pipeline::abandon() {
  if (next_ != Step::kDone) {
    explains_ = false;
    asking_ = false;
    end(NoBidReason::kCallerGone);
    running_.reset();
  }
}

void Pipeline::drop(Contender& contender, DropReason why) {
  contender.drop = why;
  stats_.drops[static_cast<size_t>(why)].add();
}

void Pipeline::end(NoBidReason reason) {
  release_all();
  next_ = Step::kDone;
  reason_ = reason;
  stats_.no_bids[static_cast<size_t>(reason)].add();
  body_.clear();
  if (explains_ && reason != NoBidReason::kInvalid) {
    explain_ = explanation(*this);
    append_no_bid(body_, view_.id, nbr_of(reason), explain_);
  }
}

}  // namespace spillway::bidder
