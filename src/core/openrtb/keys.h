#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Every OpenRTB member name that Spillway reads, once. Sorted; one word a name, as on the wire.
// clang-format off
#define SPILLWAY_OPENRTB_KEYS(X)                                                                  \
  X(acat) X(accuracy) X(adid) X(adm) X(adomain) X(adrender) X(adserver) X(album) X(allimps)       \
  X(api) X(apis) X(app) X(aqid) X(architecture) X(artist) X(asi) X(assets) X(assetsurl) X(at)     \
  X(attr) X(atype) X(audio) X(badv) X(banner) X(bapp) X(battr) X(bcat) X(behalf) X(bid)           \
  X(bidder) X(bidfloor) X(bidfloorcur) X(bidid) X(bids) X(bitness) X(blocklist) X(boxingallowed)  \
  X(browsers) X(bseat) X(btype) X(bundle) X(burl) X(buyeruid) X(buyeruids) X(carrier) X(cat)      \
  X(cattax) X(channel) X(cid) X(city) X(clickbrowser) X(companionad) X(companiontype)             \
  X(complete) X(connectiontype) X(consent) X(content) X(contentrating) X(context)                 \
  X(contextsubtype) X(coppa) X(country) X(crid) X(cur) X(customdata) X(data) X(dcourl) X(dealid)  \
  X(deals) X(debug) X(delivery) X(device) X(devicetype) X(didmd5) X(didsha1) X(displaymanager)    \
  X(dnt) X(domain) X(dooh) X(dpidmd5) X(dpidsha1) X(dsa) X(dsarequired) X(dt) X(dur)              \
  X(durfloors) X(eids) X(embeddable) X(episode) X(event) X(eventtrackers) X(exp) X(expdir)        \
  X(ext) X(feed) X(fixed) X(flashver) X(format) X(gdpr) X(gender) X(genre) X(genres) X(geo)       \
  X(geofetch) X(gpid) X(gpp) X(gpp_sid) X(group) X(gtax) X(guar) X(h) X(hmax) X(hmin) X(house)    \
  X(hp) X(hratio) X(hwv) X(id) X(ifa) X(iframebuster) X(img) X(imp) X(impid) X(inserter)          \
  X(instl) X(ip) X(ipservice) X(ipv6) X(isrc) X(iurl) X(js) X(keywords) X(kwarray) X(langb)       \
  X(language) X(lastfix) X(lat) X(len) X(linearity) X(link) X(livestream) X(lmt) X(lon) X(lurl)   \
  X(macmd5) X(macsha1) X(make) X(maxbitrate) X(maxdur) X(maxduration) X(maxseq) X(mccmnc)         \
  X(methods) X(metric) X(metro) X(mimes) X(minbitrate) X(mincpmpersec) X(mincpms) X(mindur)       \
  X(minduration) X(minint) X(mobile) X(mobileversion) X(model) X(mtype) X(multiplier) X(name)     \
  X(native) X(nbr) X(network) X(nodes) X(nurl) X(nvol) X(os) X(osv) X(page) X(pagecat) X(paid)    \
  X(pchain) X(pf) X(placement) X(platform) X(playbackend) X(playbackmethod) X(playmethod)         \
  X(plcmt) X(plcmttype) X(pmp) X(poddur) X(podid) X(pos) X(ppi) X(prebid) X(price)                \
  X(privacypolicy) X(private_auction) X(prodq) X(producer) X(protocol) X(protocols) X(publisher)  \
  X(pubrender) X(pxratio) X(qagmediarating) X(qty) X(rating) X(ref) X(refresh) X(refsettings)     \
  X(reftype) X(region) X(regionfips104) X(regs) X(request) X(required) X(rid) X(rqddurs) X(rwdd)  \
  X(schain) X(search) X(season) X(seat) X(seatbid) X(seatnonbid) X(sectioncat) X(secure)          \
  X(segment) X(sequence) X(series) X(sid) X(site) X(skip) X(skipafter) X(skipmin) X(slotinpod)    \
  X(source) X(sourcetype) X(ssai) X(startdelay) X(stitched) X(storeurl) X(sua) X(tagid) X(test)   \
  X(text) X(tid) X(title) X(tmax) X(topframe) X(topics) X(type) X(ua) X(uids) X(url)              \
  X(us_privacy) X(user) X(userrating) X(utcoffset) X(value) X(vcm) X(vendor) X(venuetype) X(ver)  \
  X(version) X(video) X(videoquality) X(w) X(wadomain) X(wlang) X(wlangb) X(wmax) X(wmin)         \
  X(wratio) X(wseat) X(yob) X(zip)
// clang-format on

namespace spillway::openrtb {

/// A member name as a number, so that looking for a member compares no text. kOther is every name
/// not in the list; kNone is "has no name" (array elements, the root).
enum class Key : uint16_t {
  kNone,
  kOther,
// NOLINTBEGIN(readability-identifier-naming): spelt as on the wire.
#define SPILLWAY_KEY(name) name,
  SPILLWAY_OPENRTB_KEYS(SPILLWAY_KEY)
#undef SPILLWAY_KEY
  // NOLINTEND(readability-identifier-naming)
  kCount
};

/// Bytes of the longest name that has a number. Longer ones are kOther.
inline constexpr size_t kLongestKey = 15;

/// The number of a decoded member name. One hash, one compare.
[[nodiscard]] Key key_of(std::string_view name);

/// The name; "" for kNone and kOther.
[[nodiscard]] std::string_view name_of(Key key);

}  // namespace spillway::openrtb
