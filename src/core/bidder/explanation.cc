#include "bidder/explanation.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/decimal.h"
#include "bidder/creative_fit.h"
#include "bidder/facts.h"
#include "bidder/pipeline.h"
#include "bidder/scoring/ab_split.h"
#include "bidder/stages.h"
#include "openrtb/consent/privacy.h"
#include "openrtb/document.h"

namespace spillway::bidder {
namespace {

constexpr size_t kMostOfImp = 64;

std::string_view name_of(SegmentState state) {
  constexpr std::array<std::string_view, 4> kNames{"unknown_user", "known", "none",
                                                   "could_not_ask"};
  return kNames.at(static_cast<size_t>(state));
}

}  // namespace

/// Writes what only a Pipeline's friend can see.
class ExplanationWriter {
 public:
  explicit ExplanationWriter(const Pipeline& pipeline) : pipeline_(pipeline) {}

  std::string text() {
    out_ += R"({"reason":")";
    out_ += to_string(pipeline_.reason_);
    out_ += R"(","privacy":")";
    out_ += to_string(pipeline_.privacy_.copy);
    out_ += '"';
    if (!pipeline_.privacy_.reasons.empty()) {
      member("privacy_reasons", to_string(pipeline_.privacy_.reasons));
    }
    member("segments", name_of(pipeline_.facts_.segment_state));
    out_ += R"(,"user":)";
    out_ += pipeline_.user_ ? "true" : "false";
    member("arm", to_string(pipeline_.arm_));
    out_ += R"(,"rounds":)";
    out_ += std::to_string(pipeline_.round_);
    misfits();
    imps();
    out_ += '}';
    return std::move(out_);
  }

 private:
  void member(std::string_view name, std::string_view text) {
    out_ += ",\"";
    out_ += name;
    out_ += "\":\"";
    out_ += text;
    out_ += '"';
  }

  void number(std::string_view name, int64_t value) {
    out_ += ",\"";
    out_ += name;
    out_ += "\":";
    out_ += std::to_string(value);
  }

  void misfits() {
    out_ += R"(,"unfit":{)";
    std::string_view comma;
    for (size_t i = 0; i < kMisfits; ++i) {
      if (pipeline_.misfits_[i] > 0) {
        out_ += comma;
        comma = ",";
        out_ += '"';
        out_ += to_string(static_cast<Misfit>(i));
        out_ += "\":";
        out_ += std::to_string(pipeline_.misfits_[i]);
      }
    }
    out_ += '}';
  }

  void imps() {
    out_ += R"(,"imps":[)";
    for (uint32_t imp = 0; imp < pipeline_.slots_.size(); ++imp) {
      out_ += imp == 0 ? "{" : ",{";
      out_ += R"("id":)";
      openrtb::append_json_string(out_, pipeline_.view_.imps[imp].id);
      number("looked_at", pipeline_.slots_[imp].looked_at);
      out_ += R"(,"contenders":[)";
      size_t count = 0;
      for (const auto& contender : pipeline_.contenders_) {
        if (contender.imp == imp && count < kMostOfImp) {
          out_ += count++ == 0 ? "" : ",";
          one(contender);
        }
      }
      out_ += "]}";
    }
    out_ += ']';
  }

  void one(const Contender& contender) {
    const auto& catalog = *pipeline_.world_.catalog;
    const auto& item = catalog.items()[contender.candidate.item];
    out_ += R"({"line_item":)";
    out_ += std::to_string(item.id);
    number("campaign", catalog.campaign_of(item).id);
    number("creative", catalog.creatives()[contender.candidate.creative].id);
    out_ += R"(,"value":)";
    base::append_micros(out_, contender.worth.micros);
    if (contender.price.bid.micros > 0) {
      out_ += R"(,"price":)";
      base::append_micros(out_, contender.price.bid.micros);
    }
    if (contender.drop != DropReason::kNone) {
      member("stage", to_string(stage_of(contender.drop)));
      member("dropped", to_string(contender.drop));
    } else if (pipeline_.reason_ == NoBidReason::kNone) {
      out_ += R"(,"chosen":true)";
    }
    if (contender.skipped) {
      member("caps_skipped", *contender.skipped == CapSkip::kUnread ? "unread" : "no_user");
    }
    out_ += '}';
  }

  const Pipeline& pipeline_;
  std::string out_;
};

std::string explanation(const Pipeline& pipeline) { return ExplanationWriter(pipeline).text(); }

}  // namespace spillway::bidder
