#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "openrtb/consent/gpp.h"
#include "openrtb/consent/privacy.h"
#include "openrtb/consent/tcf.h"
#include "openrtb/consent/us_privacy.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::openrtb::consent {

namespace {

using Gdpr = PrivacySignals::Gdpr;

/// Where the framework is used (EU with outermost regions, EEA, United Kingdom with islands,
/// Switzerland): ISO 3166-1 alpha-3, sorted.
constexpr auto kTcfCountries = std::to_array<std::string_view>(
    {"ALA", "AUT", "BEL", "BGR", "BLM", "CHE", "CYP", "CZE", "DEU", "DNK", "ESP", "EST",
     "FIN", "FRA", "GBR", "GGY", "GIB", "GLP", "GRC", "GUF", "HRV", "HUN", "IMN", "IRL",
     "ISL", "ITA", "JEY", "LIE", "LTU", "LUX", "LVA", "MAF", "MLT", "MTQ", "MYT", "NLD",
     "NOR", "POL", "PRT", "REU", "ROU", "SPM", "SVK", "SVN", "SWE"});

/// The same in alpha-2, which some callers send.
constexpr auto kTcfCountries2 = std::to_array<std::string_view>(
    {"AT", "AX", "BE", "BG", "BL", "CH", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GB",
     "GF", "GG", "GI", "GP", "GR", "HR", "HU", "IE", "IM", "IS", "IT", "JE", "LI", "LT", "LU",
     "LV", "MF", "MQ", "MT", "NL", "NO", "PL", "PM", "PT", "RE", "RO", "SE", "SI", "SK", "YT"});

static_assert(std::ranges::is_sorted(kTcfCountries) && std::ranges::is_sorted(kTcfCountries2));
static_assert(kTcfCountries.size() == kTcfCountries2.size());

}  // namespace

/// Takes the signals of one request together.
class SignalsReader {
 public:
  explicit SignalsReader(const Document& document)
      : document_(document),
        regs_(document.find(document.root(), Key::regs)),
        regs_ext_(document.find(regs_, Key::ext)),
        user_(document.find(document.root(), Key::user)),
        device_(document.find(document.root(), Key::device)) {
    out_.document_ = &document;
  }

  PrivacySignals read() {
    read_flags();
    read_us_privacy();
    read_nosale();
    for (const NodeId place : {regs_, regs_ext_}) {
      read_gpp(place);
    }
    add_consent(text(document_.find(user_, Key::consent)));
    add_consent(text(document_.path(user_, Key::ext, Key::consent)));
    settle_gdpr();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_one(NodeId value) const {
    return document_.integer(value) == 1 || document_.equals(value, "1");
  }

  void add_if(bool holds, PrivacyReason reason) {
    if (holds) {
      out_.reasons.add(reason);
    }
  }

  /// A string where it stands; one with escapes is decoded and kept with the signals.
  std::string_view text(NodeId id) {
    if (!document_.is(id, openrtb::Kind::kString) || !document_.node(id).escaped) {
      return document_.raw_string(id);
    }
    return out_.unescaped_.emplace_front(document_.string(id));
  }

  void read_flags() {
    add_if(
        is_one(document_.find(regs_, Key::coppa)) || is_one(document_.find(regs_ext_, Key::coppa)),
        PrivacyReason::kCoppa);
    add_if(is_one(document_.find(device_, Key::lmt)), PrivacyReason::kLmt);
    add_if(is_one(document_.find(device_, Key::dnt)), PrivacyReason::kDnt);
    add_if(is_one(document_.find(regs_ext_, "gpc")), PrivacyReason::kGpc);
  }

  void read_us_privacy() {
    for (const NodeId place : {regs_, regs_ext_}) {
      const std::string_view said = text(document_.find(place, Key::us_privacy));
      out_.us_privacy =
          out_.us_privacy || (!said.empty() && us_privacy_opt_out(said) != OptOut::kNo);
    }
  }

  void read_nosale() {
    if (!out_.us_privacy) {
      return;
    }
    const NodeId prebid = document_.path(document_.root(), Key::ext, Key::prebid);
    out_.nosale = document_.find(prebid, "nosale");
    for (const NodeId dsp : document_.children(out_.nosale)) {
      out_.nosale_all = out_.nosale_all || document_.equals(dsp, "*");
    }
  }

  /// Sections of the string in one place; without gpp_sid every section of it applies.
  void read_gpp(NodeId place) {
    const NodeId sids = document_.find(place, Key::gpp_sid);
    const std::string_view said = text(document_.find(place, Key::gpp));
    if (said.empty() && sids == openrtb::kAbsent) {
      return;
    }
    const std::optional<Gpp> gpp = Gpp::decode(said);
    if (sids == openrtb::kAbsent) {
      add_if(!gpp, PrivacyReason::kGppUnreadable);
      for (const Gpp::Section& section : gpp ? gpp->sections() : std::span<const Gpp::Section>{}) {
        apply_section(section.id, &section.text);
      }
      return;
    }
    constexpr unsigned kNoSection = Gpp::kMaxSectionId + 1;
    std::bitset<kNoSection + 1> seen;  // However often a list repeats itself.
    for (const NodeId sid : document_.children(sids)) {
      const int64_t id = document_.integer(sid).value_or(kNoSection);
      if (id <= 0) {  // 0 and -1: unknown, none applies.
        continue;
      }
      const auto number = static_cast<unsigned>(std::min<int64_t>(id, kNoSection));
      names_tcf_ = names_tcf_ || number == kGppTcfEu;
      if (!seen.test(number)) {
        seen.set(number);
        apply_section(number, gpp ? gpp->find(number) : nullptr);
      }
    }
  }

  void apply_section(unsigned id, const std::string_view* said) {
    constexpr unsigned kHeader = 3;
    if (id == kHeader) {
      return;
    }
    if (id == kGppTcfEu) {
      add_consent(said == nullptr ? std::string_view{} : *said);
      return;
    }
    const OptOut opt_out = said == nullptr ? OptOut::kUnreadable : us_section_opt_out(id, *said);
    add_if(opt_out == OptOut::kYes, PrivacyReason::kGppOptOut);
    add_if(opt_out == OptOut::kUnreadable, PrivacyReason::kGppUnreadable);
  }

  void add_consent(std::string_view said) {
    if (said.empty()) {
      return;
    }
    const std::optional<Tcf> tcf = Tcf::decode(said);
    out_.bad_consent = out_.bad_consent || !tcf;
    if (tcf) {
      SPILLWAY_ASSERT(out_.count_ < out_.list_.size());  // Each place is read once.
      out_.list_[out_.count_++] = *tcf;
    }
  }

  void settle_gdpr() {
    bool yes = names_tcf_;
    bool no = false;
    for (const NodeId place : {regs_, regs_ext_}) {
      const std::optional<int64_t> flag = document_.integer(document_.find(place, Key::gdpr));
      yes = yes || flag == 1;
      no = no || flag == 0;
    }
    if (!yes && !no) {
      yes = in_tcf_country();
      no = !yes && country_known_;
      yes = yes || (!no && (out_.bad_consent || out_.count_ > 0));
    }
    out_.gdpr = yes ? Gdpr::kYes : no ? Gdpr::kNo : Gdpr::kUnknown;
  }

  bool in_tcf_country() {
    constexpr size_t kLetters = 3;
    bool found = false;
    for (const NodeId owner : {device_, user_}) {
      const std::string_view country = text(document_.path(owner, Key::geo, Key::country));
      country_known_ = country_known_ || !country.empty();
      if (country.size() > kLetters) {
        continue;
      }
      std::array<char, kLetters> room{};
      std::ranges::transform(country, room.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      });
      const std::string_view code(room.data(), country.size());
      found = found || std::ranges::binary_search(kTcfCountries, code) ||
              std::ranges::binary_search(kTcfCountries2, code);
    }
    return found;
  }

  const Document& document_;
  NodeId regs_, regs_ext_, user_, device_;
  bool names_tcf_ = false;
  bool country_known_ = false;
  PrivacySignals out_;
};

bool PrivacySignals::opts_out_of_sale(std::string_view dsp) const {
  if (!us_privacy || nosale_all) {
    return false;
  }
  for (const NodeId excepted : document_->children(nosale)) {
    if (document_->equals(excepted, dsp)) {
      return false;
    }
  }
  return true;
}

PrivacySignals read_privacy(const Document& document) { return SignalsReader(document).read(); }

}  // namespace spillway::openrtb::consent
