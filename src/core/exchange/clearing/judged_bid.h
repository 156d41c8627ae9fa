#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "exchange/classify.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/formats.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

/// For tests only: one request with one banner imp, one DSP, and answers to them. Fields are meant
/// to be changed before asking.
struct Scene {
  openrtb::RequestView request;
  DspConfig dsp;
  uint32_t margin_ppm = 0;
  Floor account_floor;
  const Rates* rates = nullptr;
  openrtb::Document document;
  Answer answer;
  AskedFormats formats;

  Scene() {
    formats.reset(asked_, openrtb::kAbsent);
    request.id = "req-1";
    request.currencies.emplace_back();
    openrtb::Imp imp;
    imp.id = "1";
    imp.media = static_cast<uint8_t>(openrtb::MediaType::kBanner);
    imp.sizes = {{.w = 300, .h = 250}, {.w = 728, .h = 90}};
    request.imps.push_back(imp);
    dsp.name = "alpha";
  }

  openrtb::Imp& imp() { return request.imps.front(); }

  /// From here on answers are to this request (one that is valid), and formats are looked at.
  void ask(std::string_view json) {
    asked_text_ = openrtb::Padded(json);
    const bool is_read = asked_.walk(asked_text_.view()).has_value() &&
                         openrtb::read_request(asked_, {}, request).has_value();
    SPILLWAY_ASSERT(is_read);
    formats.reset(asked_, asked_.root());
  }

  AnswerKind read(std::string_view body) {
    text_ = openrtb::Padded(body);
    read_answer(text_.view(), request,
                {.dsp = dsp,
                 .dsp_index = 3,
                 .answer_index = 7,
                 .margin_ppm = margin_ppm,
                 .floor = account_floor,
                 .rates = rates,
                 .formats = &formats},
                document, answer);
    return answer.kind;
  }

  /// The one bid of an answer that has these members, and good ones for what they leave out. Its
  /// loss is kInternal when the answer was no bid.
  const Bid& bid(std::string_view members, std::string_view answer_members = "") {
    std::string body = R"({"id":"req-1",)";
    body += answer_members;
    body += R"("seatbid":[{"seat":"s","bid":[{)";
    body += members;
    const auto add = [&](std::string_view key, std::string_view json) {
      if (!members.contains("\"" + std::string(key) + "\":")) {
        body += body.back() == '{' ? "\"" : ",\"";
        body += key;
        body += "\":";
        body += json;
      }
    };
    add("id", R"("b1")");
    add("impid", R"("1")");
    add("price", "1.25");
    add("adm", R"("<b>ad</b>")");
    body += "}]}]}";
    read(body);
    if (answer.bids.empty()) {
      answer.bids.emplace_back().loss = openrtb::Loss::kInternal;
    }
    return answer.bids.front();
  }

  openrtb::Loss loss(std::string_view members, std::string_view answer_members = "") {
    return bid(members, answer_members).loss;
  }

 private:
  openrtb::Padded text_{""};
  openrtb::Padded asked_text_{""};
  openrtb::Document asked_;
};

}  // namespace spillway::exchange::clearing
