#include "exchange/debug_calls.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/call_result.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/call.h"
#include "exchange/conclusion.h"
#include "exchange/explain.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

namespace {

using openrtb::Document;
using openrtb::Key;
using openrtb::NodeId;

constexpr std::string_view kHidden = "redacted";

/// Writes the calls, and keeps count of what was shown of bodies.
class Writer {
 public:
  Writer(std::string& out, const Conclusion& end) : out_(out), end_(end) {}

  void write();

 private:
  void times();
  void call(const Ask& ask);
  void uri(const Endpoint& endpoint);
  void request_body(const Ask& ask);
  void response_body(const Call& call);
  size_t append_bid(const Document& document, NodeId bid, size_t done);
  void body(std::string_view member, std::string_view text);

  [[nodiscard]] const Candidate& candidate_of(const Ask& ask) const {
    return end_.routes->candidates()[ask.candidate];
  }

  [[nodiscard]] const DspConfig& dsp_of(const Ask& ask) const {
    return end_.snapshot->dsps[candidate_of(ask).dsp];
  }

  /// Whether the ask is the first of its DSP: they are in order of DSP.
  [[nodiscard]] bool is_first(size_t ask) const {
    return ask == 0 || candidate_of(end_.asks[ask - 1]).dsp != candidate_of(end_.asks[ask]).dsp;
  }

  std::string& out_;
  const Conclusion& end_;
  std::string text_;
  size_t left_ = kShownBytes;
  bool is_cut_ = false;
};

void Writer::write() {
  times();
  out_ += ",\"debug\":{\"httpcalls\":{";
  for (size_t i = 0; i < end_.asks.size(); ++i) {
    if (is_first(i)) {
      out_ += i == 0 ? "" : "],";
      openrtb::append_json_string(out_, dsp_of(end_.asks[i]).name);
      out_ += ":[";
    } else {
      out_ += ',';
    }
    call(end_.asks[i]);
  }
  out_ += end_.asks.empty() ? "}}" : "]}}";
}

/// Of a DSP that was asked twice, the longer time.
void Writer::times() {
  out_ += ",\"responsetimemillis\":{";
  base::Duration longest{};
  for (size_t i = 0; i < end_.asks.size(); ++i) {
    const Ask& ask = end_.asks[i];
    longest = std::max(is_first(i) ? base::Duration::zero() : longest,
                       end_.calls[ask.candidate]->report.elapsed);
    if (i + 1 < end_.asks.size() && !is_first(i + 1)) {
      continue;
    }
    out_ += out_.back() == '{' ? "" : ",";
    openrtb::append_json_string(out_, dsp_of(ask).name);
    out_ += ':';
    out_ += std::to_string(longest / std::chrono::milliseconds(1));
  }
  out_ += '}';
}

void Writer::call(const Ask& ask) {
  const DspConfig& dsp = dsp_of(ask);
  const Call& call = *end_.calls[ask.candidate];
  is_cut_ = false;
  out_ += '{';
  uri(dsp.endpoints[candidate_of(ask).endpoint]);
  out_ += R"(,"requestheaders":{"Content-Type":["application/json"],"x-openrtb-version":[")";
  out_ += dsp.openrtb;
  out_ += "\"]}";
  request_body(ask);
  out_ += ",\"status\":";
  out_ += std::to_string(call.status);
  response_body(call);
  out_ += ",\"time_ms\":";
  append_ms(out_, call.report.elapsed);
  if (!call.report.answered || call.error != base::CallError::kNone) {
    out_ += ",\"error\":\"";
    out_ += to_string(call.report.answered ? call.report.outcome : resilience::Outcome::kTimeout);
    out_ += '"';
  }
  out_ += is_cut_ ? ",\"cut\":true}" : "}";
}

void Writer::uri(const Endpoint& endpoint) {
  text_ = endpoint.tls ? "https://" : "http://";
  text_ += endpoint.host;
  text_ += ':';
  text_ += std::to_string(endpoint.port);
  const std::string_view target = endpoint.target;
  const size_t query = std::min(target.find('?'), target.size());
  text_ += target.substr(0, query);
  bool is_value = false;
  for (const char c : target.substr(query)) {
    if (!is_value || c == '&') {
      text_ += c;
    }
    if (c == '=' && !is_value) {
      text_ += kHidden;
    }
    is_value = c != '&' && (is_value || c == '=');
  }
  out_ += "\"uri\":";
  openrtb::append_json_string(out_, text_);
}

void Writer::request_body(const Ask& ask) {
  text_.clear();
  for (const std::string_view piece : ask.body) {
    text_ += piece;
    if (text_.size() > kShownBodyBytes) {
      break;
    }
  }
  body("requestbody", text_);
}

void Writer::response_body(const Call& call) {
  const Document& document = call.document;
  if (document.root() == openrtb::kAbsent) {
    // No JSON, perhaps no text at all.
    text_ = std::string_view(call.body).substr(
        0, call.body.size() - std::min(call.body.size(), Document::kPadding));
    std::ranges::replace_if(text_, [](char c) { return c < 0 || c > '~'; }, '?');
    body("responsebody", text_);
    return;
  }
  text_.clear();
  size_t done = 0;
  for (const NodeId seat : document.children(document.find(document.root(), Key::seatbid))) {
    for (const NodeId bid : document.children(document.find(seat, Key::bid))) {
      done = append_bid(document, bid, done);
    }
  }
  text_ += document.text().substr(done);
  body("responsebody", text_);
}

/// The document's text from `done` on, as far as the bid's last notice URL, and those hidden. Where
/// the text goes on.
size_t Writer::append_bid(const Document& document, NodeId bid, size_t done) {
  for (const NodeId member : document.children(bid)) {
    const openrtb::Node& node = document.node(member);
    if (node.key == Key::nurl || node.key == Key::burl || node.key == Key::lurl) {
      text_ += document.text().substr(done, node.begin - done);
      text_ += '"';
      text_ += kHidden;
      text_ += '"';
      done = node.end;
    }
  }
  return done;
}

void Writer::body(std::string_view member, std::string_view text) {
  size_t shown = std::min({text.size(), kShownBodyBytes, left_});
  is_cut_ = is_cut_ || shown < text.size();
  constexpr unsigned char kTail = 0x80;  // of UTF-8: 10xxxxxx
  while (shown > 0 && shown < text.size() &&
         (static_cast<unsigned char>(text[shown]) & 0xc0) == kTail) {
    --shown;
  }
  left_ -= shown;
  out_ += ",\"";
  out_ += member;
  out_ += "\":";
  openrtb::append_json_string(out_, text.substr(0, shown));
}

}  // namespace

void append_debug_calls(std::string& out, const Conclusion& end) { Writer(out, end).write(); }

}  // namespace spillway::exchange
