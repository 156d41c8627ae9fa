#include "app/bidder/self_check.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/bidder/bidder_config.h"
#include "app/bidder/deployment.h"
#include "base/time.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "bidder/stages.h"
#include "openrtb/document.h"

namespace spillway::app::bidding {
namespace {

constexpr std::string_view kRequest =
    R"({"id":"self-check","test":1,"tmax":10000,"at":1,"site":{"domain":"self-check.example"},)"
    R"("device":{"devicetype":2,"geo":{"country":"USA"}},"imp":[{"id":"1","secure":1,"banner":)"
    R"({"format":[{"w":300,"h":250},{"w":728,"h":90},{"w":320,"h":50}]}},{"id":"2","video":)"
    R"({"mimes":["video/mp4"],"protocols":[2,3,7],"w":1920,"h":1080}}]})";

bool is_decided(bidder::NoBidReason reason) {
  using bidder::NoBidReason;
  switch (reason) {
    case NoBidReason::kInvalid:
    case NoBidReason::kShed:
    case NoBidReason::kDeadline:
    case NoBidReason::kCallerGone:
    case NoBidReason::kUnscored:
      return false;
    default:
      return true;
  }
}

}  // namespace

SelfCheck::SelfCheck(const BidderConfig& config)
    : scratch_(config.pipeline.request.imps_kept * config.pipeline.candidates),
      pacing_(config.pacing) {}

bool SelfCheck::passes(const Deployment& deployment, Shared& shared, const base::Clock& clock,
                       int64_t unix_s) {
  std::string body(kRequest);
  body.append(openrtb::Document::kPadding, ' ');
  bidder::Pacer pacer(pacing_);
  pacer.refresh(deployment.catalog->pacing);
  auto settings = deployment.config->pipeline;
  settings.deadline = std::chrono::seconds(5);
  const base::Instant now = clock.now();
  pipeline_.begin({.settings = &settings,
                   .exchanges = deployment.config->exchanges,
                   .catalog = &deployment.catalog->catalog,
                   .in_flight = {deployment.flights[0].get(), deployment.flights[1].get()},
                   .terms = deployment.catalog->terms,
                   .models = deployment.models.get(),
                   .rates = &deployment.config->rates,
                   .signer = deployment.signer.get(),
                   .caps = &shared.caps,
                   .grant = &shared.grant,
                   .pacer = &pacer,
                   .scratch = &scratch_,
                   .geo = shared.geo,
                   .shading = deployment.shade.hook(),
                   .asks_segments = false,
                   .asks_caps = false},
                  {.now = now,
                   .time_zero = now,
                   .unix_s = unix_s,
                   .bid_key = 0,
                   .shed = false,
                   .debug = false,
                   .exchange = 0,
                   .body = std::string_view(body).substr(0, kRequest.size())});
  while (pipeline_.step(clock.now()) != bidder::Pipeline::Next::kDone) {
  }
  return is_decided(pipeline_.reason());
}

}  // namespace spillway::app::bidding
