#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "openrtb/consent/gpp.h"
#include "openrtb/consent/privacy.h"
#include "openrtb/consent/tcf.h"
#include "openrtb/consent/us_privacy.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::openrtb::consent {

namespace {

using openrtb::Document;
using openrtb::Key;
using openrtb::NodeId;
using openrtb::consent::Gpp;
using openrtb::consent::OptOut;
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

/// Takes the signals of one request together.
class Reader {
 public:
  explicit Reader(const Document& document)
      : document_(document),
        regs_(document.find(document.root(), Key::regs)),
        regs_ext_(document.find(regs_, Key::ext)),
        user_(document.find(document.root(), Key::user)),
        device_(document.find(document.root(), Key::device)) {}

  PrivacySignals read() {
    read_flags();
    read_us_privacy();
    read_nosale();
    read_gpp();
    add_consent(document_.find(user_, Key::consent));
    add_consent(document_.path(user_, Key::ext, Key::consent));
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
      const std::string text = document_.string(document_.find(place, Key::us_privacy));
      out_.us_privacy =
          out_.us_privacy ||
          (!text.empty() && openrtb::consent::us_privacy_opt_out(text) != OptOut::kNo);
    }
  }

  void read_nosale() {
    if (!out_.us_privacy) {
      return;
    }
    const NodeId prebid = document_.path(document_.root(), Key::ext, Key::prebid);
    for (const NodeId dsp : document_.children(document_.find(prebid, "nosale"))) {
      out_.nosale_all = out_.nosale_all || document_.equals(dsp, "*");
      out_.nosale.push_back(document_.string(dsp));
    }
  }

  /// Sections of the strings in both places; without gpp_sid every section of a string applies.
  void read_gpp() {
    for (const NodeId place : {regs_, regs_ext_}) {
      const NodeId sids = document_.find(place, Key::gpp_sid);
      const std::string text = document_.string(document_.find(place, Key::gpp));
      if (text.empty() && sids == openrtb::kAbsent) {
        continue;
      }
      const std::optional<Gpp> gpp = Gpp::decode(text);
      if (sids == openrtb::kAbsent) {
        add_if(!gpp, PrivacyReason::kGppUnreadable);
        for (const Gpp::Section& section : gpp ? gpp->sections() : std::vector<Gpp::Section>{}) {
          apply_section(section.id, &section.text);
        }
        continue;
      }
      for (const NodeId sid : document_.children(sids)) {
        const int64_t id = document_.integer(sid).value_or(Gpp::kMaxSectionId + 1);
        if (id > 0) {  // 0 and -1: unknown, none applies.
          const auto number = static_cast<unsigned>(std::min<int64_t>(id, Gpp::kMaxSectionId + 1));
          names_tcf_ = names_tcf_ || number == openrtb::consent::kGppTcfEu;
          apply_section(number, gpp ? gpp->find(number) : nullptr);
        }
      }
    }
  }

  void apply_section(unsigned id, const std::string* text) {
    constexpr unsigned kHeader = 3;
    if (id == kHeader) {
      return;
    }
    if (id == openrtb::consent::kGppTcfEu) {
      add_consent(text == nullptr ? std::string_view{} : *text);
      return;
    }
    const OptOut opt_out =
        text == nullptr ? OptOut::kUnreadable : openrtb::consent::us_section_opt_out(id, *text);
    add_if(opt_out == OptOut::kYes, PrivacyReason::kGppOptOut);
    add_if(opt_out == OptOut::kUnreadable, PrivacyReason::kGppUnreadable);
  }

  void add_consent(NodeId value) { add_consent(std::string_view(document_.string(value))); }

  void add_consent(std::string_view text) {
    if (text.empty()) {
      return;
    }
    std::optional<openrtb::consent::Tcf> tcf = openrtb::consent::Tcf::decode(text);
    out_.bad_consent = out_.bad_consent || !tcf;
    if (tcf) {
      out_.consents.push_back(std::move(*tcf));
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
      yes = yes || (!no && (out_.bad_consent || !out_.consents.empty()));
    }
    out_.gdpr = yes ? Gdpr::kYes : no ? Gdpr::kNo : Gdpr::kUnknown;
  }

  bool in_tcf_country() {
    bool found = false;
    for (const NodeId owner : {device_, user_}) {
      std::string country = document_.string(document_.path(owner, Key::geo, Key::country));
      for (char& c : country) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      }
      country_known_ = country_known_ || !country.empty();
      found = found || std::ranges::binary_search(kTcfCountries, std::string_view(country)) ||
              std::ranges::binary_search(kTcfCountries2, std::string_view(country));
    }
    return found;
  }

  const Document& document_;
  NodeId regs_, regs_ext_, user_, device_;
  bool names_tcf_ = false;
  bool country_known_ = false;
  PrivacySignals out_;
};

}  // namespace

PrivacySignals read_privacy(const openrtb::Document& document) { return Reader(document).read(); }

}  // namespace spillway::openrtb::consent
