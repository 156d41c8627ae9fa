#pragma once

#include <cstdint>
#include <string_view>

// Every OpenRTB member name that Spillway reads, once. Sorted; one word a name, as on the wire.
#define SPILLWAY_OPENRTB_KEYS(X)                                                                   \
  X(accuracy)                                                                                      \
  X(acat) X(adid) X(adm) X(adomain) X(adserver) X(allimps) X(api) X(app) X(apis) X(assets) X(      \
      at) X(attr) X(audio) X(badv) X(banner) X(bapp) X(battr) X(bcat) X(bid) X(bidder) X(bidfloor) \
      X(bidfloorcur) X(bidid) X(bids) X(blocklist) X(bseat) X(btype) X(bundle) X(burl) X(buyeruid) \
          X(buyeruids) X(cat) X(cattax) X(channel) X(cid) X(city) X(complete) X(consent) X(        \
              content) X(coppa) X(country) X(crid) X(cur) X(customdata) X(data) X(dealid) X(deals) \
              X(debug) X(device) X(devicetype) X(dnt) X(domain) X(dooh) X(dsa) X(dt) X(dur)        \
                  X(eids) X(ext) X(exp) X(format) X(gdpr) X(geo) X(gpid) X(gpp) X(gpp_sid) X(      \
                      group) X(h) X(hmax) X(hmin) X(house) X(hratio) X(id) X(ifa) X(imp)           \
                      X(impid) X(inserter) X(instl) X(                                             \
                          ip) X(ipv6) X(iurl) X(keywords) X(language) X(lat) X(len) X(lmt)         \
                          X(lon) X(lurl) X(make) X(maxbitrate) X(maxduration) X(maxseq) X(metric)  \
                              X(mimes) X(minbitrate) X(minduration) X(model)                       \
                                  X(mtype) X(name) X(native) X(nbr) X(nodes) X(nurl) X(os) X(      \
                                      osv) X(page) X(pchain) X(placement) X(plcmt) X(pmp)          \
                                      X(podid) X(poddur) X(pos) X(ppi) X(prebid) X(price) X(       \
                                          private_auction) X(protocol) X(protocols) X(publisher)   \
                                          X(qagmediarating) X(ref) X(regs) X(region) X(request)    \
                                              X(rqddurs) X(rwdd) X(schain) X(seat)                 \
                                                  X(seatbid) X(seatnonbid) X(secure) X(            \
                                                      segment) X(sequence) X(sid) X(site) X(skip)  \
                                                      X(source) X(ssai) X(sua) X(tagid) X(test)    \
                                                          X(tid) X(tmax) X(topframe) X(type) X(ua) \
                                                              X(uids) X(user) X(us_privacy)        \
                                                                  X(utcoffset) X(venuetype) X(ver) \
                                                                      X(version) X(video) X(w)     \
                                                                          X(wadomain) X(wlang)     \
                                                                              X(wlangb) X(wmax) X( \
                                                                                  wmin) X(wratio)  \
                                                                                  X(wseat) X(yob)  \
                                                                                      X(zip)

namespace spillway::openrtb {

/// A member name as a number, so that looking for a member compares no text. kOther is every name
/// not in the list; kNone is "has no name" (array elements, the root).
enum class Key : uint16_t {
  kNone,
  kOther,
#define SPILLWAY_KEY(name) name,
  SPILLWAY_OPENRTB_KEYS(SPILLWAY_KEY)
#undef SPILLWAY_KEY
      kCount
};

/// The number of a decoded member name. One hash, one compare.
[[nodiscard]] Key key_of(std::string_view name);

/// The name; "" for kNone and kOther.
[[nodiscard]] std::string_view name_of(Key key);

}  // namespace spillway::openrtb
