#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "exchange/clearing/rates.h"
#include "exchange/privacy.h"
#include "openrtb/signed_url.h"
#include "openrtb/validate.h"
#include "resilience/settings.h"
#include "resilience/shedder.h"

namespace spillway::exchange {

/// How strictly a rule on bids is kept.
enum class Check : uint8_t { kSkip, kWarn, kEnforce };

/// Rules for the bids of one DSP; defaults are what any DSP can meet.
struct BidChecks {
  Check size = Check::kEnforce;    ///< w and h among the imp's sizes or ratios (loss 203).
  Check secure = Check::kEnforce;  ///< No http: resource in a secure imp (207).
  Check badv = Check::kEnforce;    ///< 205
  Check bcat = Check::kEnforce;    ///< 209
  Check acat = Check::kEnforce;    ///< 209
  Check battr = Check::kEnforce;   ///< 210
  Check markup = Check::kEnforce;  ///< adm there (7).
  Check deal = Check::kEnforce;    ///< dealid offered in the imp (4); private auctions (213).
  Check vast = Check::kWarn;       ///< Video and audio markup is VAST or DAAST (204).
  Check mime = Check::kWarn;       ///< A media file of it is of a type the imp plays (204).
  Check duration = Check::kWarn;   ///< In minduration to maxduration, or one of rqddurs (204).
  Check protocol = Check::kWarn;  ///< Its version is among `protocols`, its APIs among `api` (204).
  Check video_size = Check::kWarn;      ///< No larger than the player (203).
  Check native = Check::kWarn;          ///< The assets the imp's native asks for (204).
  Check btype = Check::kEnforce;        ///< No banner of a blocked type, as its markup tells (211).
  Check language = Check::kWarn;        ///< Among wlang or wlangb, when it says one (208).
  Check expiry = Check::kWarn;          ///< It waits as long as the imp may take to show (2).
  Check bapp = Check::kEnforce;         ///< The advertised app is not blocked (206).
  Check dsa = Check::kEnforce;          ///< Transparency where the request demands it (529).
  bool allow_nurl_only = false;         ///< Without adm: nurl (win notice) or adid (preloaded) do.
  bool require_crid = false;            ///< 8
  bool require_mtype = false;           ///< 204
  bool require_response_id = false;     ///< response.id equals request.id (3).
  bool allow_duplicate_bid_id = false;  ///< Else the second bid with an id is refused (302).
  bool currency_from_request_only = true;  ///< response.cur must be in request.cur (526).
                                           ///< Off: or have a rate to its first currency.
  base::Cpm price_cap{1'000'000'000};      ///< Above: loss 527. 1 000 units by default.
  openrtb::Size banner_size_max = {};      ///< Wider or higher banners: loss 203. 0x0: no bound.
  uint32_t bids_per_answer = 200;          ///< Further ones are dropped, counted.
  uint32_t bids_per_seat_and_imp = 2;      ///< The best are kept.
  uint32_t adm_bytes = 256 * 1024;         ///< Larger markup: loss 200.
};

/// Where calls of one class of imps go.
struct Endpoint {
  std::string region = "default";
  std::string path = "display";  ///< Class of endpoint; the guard's key ends with it.
  uint8_t media = 0xf;           ///< Set of openrtb::MediaType it takes.
  std::string host;
  uint16_t port = 80;
  std::vector<std::string> addresses;  ///< Literals to use instead of looking up `host`.
  bool tls = false;                    ///< https.
  std::string target = "/";            ///< Path and query of the URL.
  std::string guard_key;               ///< dsp/region/path
  resilience::Settings guard;          ///< Inherited settings, flattened.
};

/// Which auctions a DSP is asked in. Empty lists allow all.
struct Routing {
  std::vector<std::string> countries;  ///< Upper case, as in device.geo.country.
  std::vector<openrtb::Size> sizes;    ///< At least one size of the imp must be among them.
  std::vector<std::string> publishers_allow, publishers_deny;
  double share_ratio = 1.0;  ///< Share of the auctions it qualifies for.
};

/// What calls over TLS to a DSP need beside its name: PEM files.
struct DspTls {
  std::string ca_file;              ///< Who may sign its certificate; empty: the system's store.
  std::string cert_file, key_file;  ///< Ours, for a DSP that asks; both or none.
};

/// A price in some currency below which nothing is sold; zero: none.
struct Floor {
  base::Cpm price = {};
  base::Currency currency = {};
  bool operator==(const Floor&) const = default;
};

struct DspConfig {
  std::string name;
  std::string seat;                 ///< For answers without a seat; the name by default.
  std::string openrtb = "2.6";      ///< "2.5" or "2.6": version header.
  std::vector<Endpoint> endpoints;  ///< At least one.
  DspTls tls;                       ///< Of its https endpoints.
  uint32_t qps = 0;  ///< Contracted calls/s of the process over all endpoints; 0: no contract.
  Routing routing;
  BidChecks checks;
  uint32_t gvl_id = 0;                  ///< Id of the global vendor list; 0: none. See privacy.h.
  bool legitimate_interest = false;     ///< Claimed there for purposes 2 and 7.
  uint32_t adjustment_ppm = 1'000'000;  ///< What of a bid's price counts, but on deals: (0, 1].
  uint32_t max_connections = 256;       ///< Of the process.
  uint32_t max_handshakes = 8;
  uint32_t answer_bytes = 1024 * 1024;
  base::Duration idle_timeout = std::chrono::seconds(30);
  bool gzip = false;  ///< Requests from 1 KiB on are sent compressed, answers may be.
  Floor floor = {};   ///< No bid of this DSP is taken below it, but on deals.
  bool own_request_id =
      false;  ///< Sent an id of its own for every request, instead of the caller's.
};

/// What the caller gets when nobody can serve.
enum class Fallback : uint8_t { kPass, kHouse };

/// Whose connection is the user's device, so that address and User-Agent are the device's.
enum class FillDevice : uint8_t { kNever, kBrowser, kAlways };

/// The exchange's node in supply chains. Empty `asi`: none is added.
struct Seller {
  std::string asi;               ///< The exchange's canonical domain.
  std::string sid;               ///< The seller's account with it, as in its sellers.json.
  bool begins_complete = false;  ///< What a chain that begins here says of itself.
};

struct Account {
  std::string publisher;  ///< site/app/dooh .publisher.id; "" is the default account.
  Fallback on_no_bid = Fallback::kPass;
  Fallback on_degraded = Fallback::kHouse;
  Fallback on_shed = Fallback::kHouse;
  /// What it is worth when not all can be served. Larger classes are shed first.
  resilience::Criticality criticality = resilience::Criticality::kCritical;
  bool no_bid_as_200 = false;  ///< Else 204.
  int auction = 1;             ///< 1 first price, 2 second price, when the request says none.
  int64_t second_price_increment_micros = 10'000;
  /// The exchange's share of a bid's price, in parts per million; none is taken on deals. Not to be
  /// confused with response_margin, which is time. [0, clearing::kMarginMaxPpm].
  uint32_t price_margin_ppm = 0;
  Floor floor = {};  ///< No bid is taken below it, but on deals.
  PrivacyPolicy privacy = {};
  base::Duration response_margin = std::chrono::milliseconds(5);
  /// Whether a bid that wins here has won: its nurl is sent at once. Else when it is reported won.
  bool auction_is_final = true;
  bool shows_calls = false;     ///< test=1 and ext.debug are answered with the calls to DSPs.
  bool billing_on_win = false;  ///< The burl is sent with the win, not when the ad is shown.
  FillDevice fill_device = FillDevice::kBrowser;
  bool source_tid = true;  ///< Requests without source.tid get one.
  bool secure = false;     ///< What an imp that does not say is taken for.
  Seller seller;
};

/// A local ad that needs no partner. Obeys bcat, acat and badv, never billable.
struct HouseAd {
  openrtb::MediaType type = openrtb::MediaType::kBanner;
  int32_t w = 0, h = 0;
  std::string adm;
  std::vector<std::string> adomain, cat;
  int64_t cattax = 1;  ///< Of `cat`.
};

struct Timing {
  base::Duration tmax_default = std::chrono::milliseconds(150);
  base::Duration tmax_max = std::chrono::milliseconds(1000);
  base::Duration ask_min = std::chrono::milliseconds(10);  ///< Less left: nobody is asked (nbr 15).
};

/// What answers need for event URLs of ours (docs/notices.md); without a signer they have none.
struct EventUrls {
  std::shared_ptr<const openrtb::EventSigner> signer;
  std::string instance = "1";                       ///< Whose table the bid's own URLs wait in.
  base::Duration lifetime = std::chrono::hours(1);  ///< Of such a URL, and of what waits for it.
};

/// One validated configuration, immutable, shared by all auctions that began under it.
struct Snapshot {
  std::vector<DspConfig> dsps;    ///< In order of name.
  std::vector<Account> accounts;  ///< The default account first.
  std::vector<HouseAd> house_ads;
  openrtb::RequestPolicy request_policy;
  Timing timing;
  EventUrls events;
  clearing::Rates rates;  ///< Empty: bids and floors in several currencies do not meet.
  std::string house_seat = "house";
  std::string text;   ///< The configuration file's bytes, for the recorder.
  uint64_t hash = 0;  ///< Of `text`.

  /// The account of a publisher id; the default when there is none of its own.
  [[nodiscard]] const Account& account_of(std::string_view publisher) const;
};

}  // namespace spillway::exchange
