#include "openrtb/validate.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/money.h"
#include "base/result.h"
#include "openrtb/document.h"
#include "openrtb/fields.h"
#include "openrtb/imp_reader.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {

namespace {

constexpr int64_t kLongestTmaxMs = 86'400'000;

using Error = std::optional<FieldError>;

void fold(std::string& text, char from, char offset) {
  for (char& c : text) {
    if (c >= from && c < from + 26) {
      c = static_cast<char>(c + offset);
    }
  }
}

class RequestReader {
 public:
  RequestReader(const Document& document, const RequestPolicy& policy, Keep keep, RequestView& out)
      : document_(document), policy_(policy), keep_(keep), out_(out), root_(document.root()) {}

  Error read() {
    if (const auto fault = find_fault(document_)) {
      return error(fault->node, std::string(fault->what));
    }
    out_.id.clear();
    document_.append_string(document_.find(root_, Key::id), out_.id);
    if (out_.id.empty()) {
      return FieldError{.path = "id", .what = "must be there"};
    }
    for (const auto step :
         {&RequestReader::timeout, &RequestReader::auction_type, &RequestReader::currencies,
          &RequestReader::inventory, &RequestReader::imps}) {
      if (Error problem = (this->*step)()) {
        return problem;
      }
    }
    flags();
    if (keep_ == Keep::kAll) {
      lists();
      country();
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] FieldError error(NodeId node, std::string what) const {
    return {.path = document_.path_of(node), .what = std::move(what)};
  }

  Error timeout();
  Error auction_type();
  Error currencies();
  Error inventory();
  Error imps();
  Error distinct_imp_ids(const std::vector<std::string>& dropped);
  [[nodiscard]] FieldError repeated_imp_id(std::string_view id) const;
  void flags();
  void lists();
  void strings(Key key, std::vector<std::string>& to);
  void country();

  const Document& document_;
  const RequestPolicy& policy_;
  Keep keep_;
  RequestView& out_;
  NodeId root_;
};

Error RequestReader::timeout() {
  out_.tmax = {};
  const NodeId id = document_.find(root_, Key::tmax);
  if (id == kAbsent) {
    return std::nullopt;
  }
  const auto micros = base::parse_micros(document_.raw(id), base::Rounding::kDown);
  if (!micros) {
    return error(id, "is out of range");
  }
  if (*micros < 0) {
    return error(id, "must not be negative");
  }
  out_.tmax = std::chrono::milliseconds(std::min(*micros / 1'000'000, kLongestTmaxMs));
  return std::nullopt;
}

Error RequestReader::auction_type() {
  const NodeId id = document_.find(root_, Key::at);
  const int64_t type = document_.integer(id).value_or(0);
  if (type < 0 || type > 2) {
    return error(id, "must be 1 or 2");
  }
  out_.at = static_cast<int>(type);
  return std::nullopt;
}

Error RequestReader::currencies() {
  out_.currencies.clear();
  bool unknown = false;
  const NodeId list = document_.find(root_, Key::cur);
  for (const NodeId id : document_.children(list)) {
    const std::optional<base::Currency> currency = currency_of(document_, id);
    unknown = unknown || !currency;
    if (currency && std::ranges::find(out_.currencies, *currency) == out_.currencies.end()) {
      out_.currencies.push_back(*currency);
    }
  }
  out_.currencies_given = !out_.currencies.empty();
  if (!out_.currencies_given) {
    if (document_.first_child(list) != kAbsent) {
      return error(list, "has no known currency");
    }
    out_.currencies.emplace_back();
  }
  if (unknown && keep_ == Keep::kAll) {
    out_.warnings.emplace_back("cur: unknown currencies are ignored");
  }
  return std::nullopt;
}

Error RequestReader::inventory() {
  using Inventory = RequestView::Inventory;
  out_.inventory = Inventory::kNone;
  out_.publisher_id.clear();
  NodeId found = kAbsent;
  for (const auto& [key, kind] :
       {std::pair(Key::site, Inventory::kSite), std::pair(Key::app, Inventory::kApp),
        std::pair(Key::dooh, Inventory::kDooh)}) {
    const NodeId id = document_.find(root_, key);
    if (id == kAbsent) {
      continue;
    }
    if (found != kAbsent) {
      return error(id, "must not stand beside another of site, app, dooh");
    }
    found = id;
    out_.inventory = kind;
  }
  if (policy_.require_inventory && found == kAbsent) {
    return FieldError{.path = "site", .what = "must be there, or app, or dooh"};
  }
  if (policy_.require_site_id_or_page && found != kAbsent && out_.inventory != Inventory::kApp) {
    const bool site = out_.inventory == Inventory::kSite;
    const NodeId other = document_.find(found, site ? Key::page : Key::venuetype);
    const bool named =
        site ? !document_.raw_string(other).empty() : document_.first_child(other) != kAbsent;
    if (!named && document_.raw_string(document_.find(found, Key::id)).empty()) {
      return error(found, site ? "must have id or page" : "must have id or venuetype");
    }
  }
  document_.append_string(document_.path(found, Key::publisher, Key::id), out_.publisher_id);
  return std::nullopt;
}

Error RequestReader::imps() {
  out_.imp_array = document_.find(root_, Key::imp);
  const size_t count = out_.imp_array == kAbsent ? 0 : document_.node(out_.imp_array).children;
  if (count == 0) {
    return FieldError{.path = "imp", .what = "must have at least one element"};
  }
  if (count > policy_.imps_max) {
    return FieldError{
        .path = "imp",
        .what = "must have at most " + std::to_string(policy_.imps_max) + " elements"};
  }
  Imp beyond;
  std::vector<std::string> dropped;
  for (const NodeId id : document_.children(out_.imp_array)) {
    const bool kept = out_.imps.size() < policy_.imps_kept;
    if (kept && !out_.spare_imps.empty()) {
      out_.imps.push_back(std::move(out_.spare_imps.back()));
      out_.spare_imps.pop_back();
    } else if (kept) {
      out_.imps.emplace_back();
    }
    if (Error problem = read_imp(document_, id, policy_, keep_, kept ? out_.imps.back() : beyond)) {
      return problem;
    }
    if (!kept) {
      dropped.push_back(beyond.id);
    }
  }
  out_.imps_dropped = dropped.size();
  if (!dropped.empty()) {
    out_.warnings.push_back("imp: the last " + std::to_string(dropped.size()) + " of " +
                            std::to_string(count) + " are ignored");
  }
  return distinct_imp_ids(dropped);
}

Error RequestReader::distinct_imp_ids(const std::vector<std::string>& dropped) {
  constexpr size_t kFew = 16;
  const size_t count = out_.imps.size() + dropped.size();
  if (count <= kFew && dropped.empty()) {
    for (auto imp = out_.imps.begin(); imp != out_.imps.end(); ++imp) {
      if (std::ranges::find(out_.imps.begin(), imp, imp->id, &Imp::id) != imp) {
        return repeated_imp_id(imp->id);
      }
    }
    return std::nullopt;
  }
  std::vector<std::string_view> ids(dropped.begin(), dropped.end());
  for (const Imp& imp : out_.imps) {
    ids.emplace_back(imp.id);
  }
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  return twice == ids.end() ? std::nullopt : Error(repeated_imp_id(*twice));
}

/// Names the last imp that has this id.
FieldError RequestReader::repeated_imp_id(std::string_view id) const {
  NodeId last = kAbsent;
  for (const NodeId imp : document_.children(out_.imp_array)) {
    const NodeId node = document_.find(imp, Key::id);
    last = document_.equals(node, id) ? node : last;
  }
  return error(last, "is the id of another imp too");
}

/// Decoded strings into slots that are there already, so that their memory serves again.
void RequestReader::strings(Key key, std::vector<std::string>& to) {
  size_t count = 0;
  for (const NodeId id : document_.children(document_.find(root_, key))) {
    if (count == to.size()) {
      to.emplace_back();
    }
    to[count].clear();
    document_.append_string(id, to[count++]);
  }
  to.resize(count);
}

void RequestReader::flags() {
  out_.test = document_.integer(document_.find(root_, Key::test)) == 1;
  out_.debug = false;
  const NodeId ext = document_.find(root_, Key::ext);
  for (const NodeId place : {ext, document_.find(ext, Key::prebid)}) {
    const NodeId debug = document_.find(place, Key::debug);
    out_.debug = out_.debug || document_.is(debug, Kind::kTrue) || document_.integer(debug) == 1;
  }
  out_.cattax = document_.integer(document_.find(root_, Key::cattax)).value_or(1);
}

void RequestReader::lists() {
  strings(Key::badv, out_.badv);
  for (std::string& domain : out_.badv) {
    fold(domain, 'A', 'a' - 'A');
    if (domain.starts_with("www.")) {
      domain.erase(0, 4);
    }
  }
  strings(Key::bcat, out_.bcat);
  strings(Key::acat, out_.acat);
  strings(Key::wseat, out_.wseat);
  strings(Key::bseat, out_.bseat);
}

void RequestReader::country() {
  out_.country.clear();
  for (const Key key : {Key::device, Key::user}) {
    document_.append_string(document_.path(root_, key, Key::geo, Key::country), out_.country);
    if (!out_.country.empty()) {
      break;
    }
  }
  fold(out_.country, 'a', 'A' - 'a');
}

/// Moves the imps of the last request to where the next one takes them from.
void retire_imps(RequestView& view) {
  while (!view.imps.empty()) {
    view.spare_imps.push_back(std::move(view.imps.back()));
    view.imps.pop_back();
  }
}

}  // namespace

void RequestView::clear() {
  retire_imps(*this);
  id.clear();
  imp_array = kAbsent;
  imps_dropped = 0;
  tmax = {};
  at = 0;
  test = debug = false;
  currencies.clear();
  currencies_given = false;
  badv.clear();
  bcat.clear();
  acat.clear();
  cattax = 1;
  wseat.clear();
  bseat.clear();
  inventory = Inventory::kNone;
  publisher_id.clear();
  country.clear();
  warnings.clear();
}

namespace {

base::Result<void, FieldError> read(const Document& document, const RequestPolicy& policy,
                                    Keep keep, RequestView& out) {
  retire_imps(out);
  out.warnings.clear();
  if (Error problem = RequestReader(document, policy, keep, out).read()) {
    return std::unexpected(std::move(*problem));
  }
  return {};
}

}  // namespace

base::Result<void, FieldError> read_request(const Document& document, const RequestPolicy& policy,
                                            RequestView& out) {
  return read(document, policy, Keep::kAll, out);
}

base::Result<void, FieldError> check_request(const Document& document, const RequestPolicy& policy,
                                             RequestView& out) {
  return read(document, policy, Keep::kHead, out);
}

FieldError field_error(const Document& document, WalkErrc error) {
  std::string what(to_string(error));
  if (error != WalkErrc::kEmpty && error != WalkErrc::kUtf8) {
    what += " (near byte " + std::to_string(document.failed_at()) + ")";
  }
  return {.path = "", .what = std::move(what)};
}

std::string error_json(const FieldError& error) {
  std::string out = R"({"error":{"field":)";
  append_json_string(out, error.path);
  out += R"(,"what":)";
  append_json_string(out, error.what);
  out += "}}";
  return out;
}

}  // namespace spillway::openrtb
