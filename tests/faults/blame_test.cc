#include <cstdint>
#include <cstdio>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "faults/virtual_dsp.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "workload/bidding.h"
#include "workload/fault.h"
#include "workload/partner.h"

// Who is blamed and who is not, over whole exchanges of bytes: default settings, virtual time.

namespace spillway::faults {
namespace {

using resilience::Outcome;
using resilience::State;
using workload::FaultKind;

workload::PartnerSettings of_latency(base::Duration median, double sigma) {
  workload::PartnerSettings partner;
  partner.latency = workload::Latency::lognormal(median, sigma);
  return partner;
}

VirtualDsp::Offered always(base::Duration budget) {
  return [budget](base::Rng&) { return budget; };
}

TEST(Blame, AHangOpensWhateverTheUsualLatency) {
  std::printf("usual ms  sigma  asks/s  opens in s\n");
  for (const auto median : {3ms, 25ms, 60ms, 120ms, 180ms, 240ms, 280ms, 400ms, 900ms}) {
    for (const double sigma : {0.1, 0.5}) {
      for (const double rate : {5.0, 50.0}) {
        VirtualDsp dsp(21, of_latency(median, sigma));
        dsp.run(5min, rate, {}, always(295ms));
        dsp.inject({.kind = FaultKind::kHang});
        // Where the remaining-time rule keeps calls away already, explorers have to find out.
        const auto limit = median > 295ms ? 300s : 5s;
        const auto opened = dsp.until(State::kOpen, limit, rate, always(295ms));
        EXPECT_TRUE(opened.has_value())
            << base::to_ms(median) << " ms, sigma " << sigma << " at " << rate << "/s";
        std::printf("%8.0f %6.1f %7.0f %11.1f\n", base::to_ms(median), sigma, rate,
                    opened ? base::to_ms(*opened) / 1000 : -1);
      }
    }
  }
}

TEST(Blame, AHangOfASlowDspOpensForTheTrafficThatHasTheTime) {
  for (const auto median : {400ms, 700ms}) {
    for (const double rate : {5.0, 50.0}) {
      VirtualDsp dsp(27, of_latency(median, 0.1));
      const VirtualDsp::Offered mixed = [](base::Rng& rng) {
        return base::Duration(rng.uniform() < 0.5 ? 95ms : 995ms);
      };
      // Slow by any measure: the ceiling must not hide the hang behind slowness.
      dsp.run(5min, rate, {}, mixed);
      dsp.inject({.kind = FaultKind::kHang});
      EXPECT_TRUE(dsp.until(State::kOpen, 30s, rate, mixed).has_value())
          << base::to_ms(median) << " ms at " << rate << "/s";
    }
  }
}

TEST(Blame, AHangFromTheVeryFirstCallOpens) {
  for (const auto budget : {15ms, 60ms, 95ms, 295ms}) {
    VirtualDsp dsp(22);
    dsp.inject({.kind = FaultKind::kHang});
    EXPECT_TRUE(dsp.until(State::kOpen, 30s, 20, always(budget)).has_value())
        << base::to_ms(budget) << " ms";
  }
}

TEST(Blame, TrafficWithTmax20NeverOpensA60MsDspForTrafficWithTmax300) {
  for (const double hasty : {0.2, 0.5, 0.9}) {
    for (const double rate : {10.0, 100.0}) {
      VirtualDsp dsp(23, of_latency(60ms, 0.15));
      uint64_t patient = 0;
      const VirtualDsp::Offered mixed = [&](base::Rng& rng) {
        const bool is_hasty = rng.uniform() < hasty;
        patient += is_hasty ? 0 : 1;
        return base::Duration(is_hasty ? 15ms : 295ms);
      };
      dsp.run(1h, rate, {}, mixed);
      EXPECT_EQ(dsp.opened(), 0) << hasty << " at " << rate << "/s: " << dsp.log.front().reason;
      EXPECT_GE(dsp.outcomes(Outcome::kOk), patient * 99 / 100) << hasty << " at " << rate << "/s";
    }
  }
}

TEST(Blame, ADspThatOnlySays204IsNeverOpened) {
  for (const auto& spelling : workload::nobid_names()) {
    workload::PartnerSettings partner = VirtualDsp::healthy();
    partner.style.bid_ratio = 0;
    const auto names = workload::nobid_names();
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == spelling) {
        partner.style.nobid = static_cast<workload::NoBidSpelling>(i);
      }
    }
    VirtualDsp dsp(24, partner);
    dsp.run(1h, 50);
    EXPECT_EQ(dsp.opened(), 0) << spelling;
    EXPECT_TRUE(dsp.alert_log.empty()) << spelling;
    EXPECT_GE(dsp.outcomes(Outcome::kOk) + 10, dsp.admitted) << spelling;
  }
}

TEST(Blame, OneBurstOfConnectionResetsIsOneEvent) {
  for (const double rate : {5.0, 20.0, 200.0, 1000.0}) {
    VirtualDsp dsp(25);
    dsp.run(3min, rate);
    for (int burst = 0; burst < 10; ++burst) {
      dsp.inject({.kind = FaultKind::kReset}, 150ms);
      dsp.run(30s, rate);
    }
    EXPECT_EQ(dsp.opened(), 0) << rate << "/s: " << dsp.log.front().reason;
    EXPECT_GT(dsp.outcomes(Outcome::kReset), static_cast<uint64_t>(rate)) << rate << "/s";
  }
}

}  // namespace
}  // namespace spillway::faults
