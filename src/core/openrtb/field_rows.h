// What the members of a bid request must be, as fields.cc looks them up. Source: OpenRTB 2.6, 3.2.
#pragma once

#include <array>
#include <cstdint>

#include "openrtb/keys.h"

namespace spillway::openrtb::fields {

/// The object a member stands in. kOpaque is an object nothing is known about.
enum class In : uint8_t {
  kOpaque,
  kRequest,
  kImp,
  kMetric,
  kQty,
  kBanner,
  kFormat,
  kVideo,
  kAudio,
  kNative,
  kPmp,
  kDeal,
  kSite,
  kApp,
  kDooh,
  kPublisher,
  kContent,
  kNetwork,
  kDevice,
  kSua,
  kGeo,
  kUser,
  kUserExt,
  kEid,
  kUid,
  kData,
  kSegment,
  kRegs,
  kRegsExt,
  kSource,
  kSourceExt,
  kSchain,
  kNode,
  kCount
};

enum class Type : uint8_t {
  kAny,
  kString,
  kInteger,
  kNonNegative,  ///< An integer, from 0 to 2^31 - 1.
  kFlag,         ///< 0 or 1.
  kNumber,
  kFloor,
  kObject,
  kStrings,
  kIntegers,
  kObjects,
};

struct Rule {
  Type type = Type::kAny;
  In child = In::kOpaque;
};

struct Row {
  In in;
  Type type;
  std::array<Key, 24> keys;
  In child = In::kOpaque;
};

// A table reads better without its column names in every row.
// NOLINTBEGIN(modernize-use-designated-initializers, readability-function-size)
inline constexpr auto kRows = [] {
  using enum Key;
  using enum Type;
  return std::to_array<Row>({
      {In::kRequest, kString, {id}},
      {In::kRequest, kInteger, {test, at, allimps, cattax}},
      {In::kRequest, kNumber, {tmax}},
      {In::kRequest, kStrings, {wseat, bseat, cur, wlang, wlangb, acat, bcat, badv, bapp}},
      {In::kRequest, kObjects, {imp}, In::kImp},
      {In::kRequest, kObject, {site}, In::kSite},
      {In::kRequest, kObject, {app}, In::kApp},
      {In::kRequest, kObject, {dooh}, In::kDooh},
      {In::kRequest, kObject, {device}, In::kDevice},
      {In::kRequest, kObject, {user}, In::kUser},
      {In::kRequest, kObject, {source}, In::kSource},
      {In::kRequest, kObject, {regs}, In::kRegs},

      {In::kImp, kString, {id, displaymanager, tagid, bidfloorcur}},
      {In::kImp, kInteger, {instl, clickbrowser, secure, rwdd, ssai, exp}},
      {In::kImp, kNumber, {dt}},
      {In::kImp, kFloor, {bidfloor}},
      {In::kImp, kStrings, {iframebuster}},
      {In::kImp, kObjects, {metric}, In::kMetric},
      {In::kImp, kObject, {banner}, In::kBanner},
      {In::kImp, kObject, {video}, In::kVideo},
      {In::kImp, kObject, {audio}, In::kAudio},
      {In::kImp, kObject, {native}, In::kNative},
      {In::kImp, kObject, {pmp}, In::kPmp},
      {In::kImp, kObject, {qty}, In::kQty},
      {In::kImp, kObject, {refresh}},
      {In::kMetric, kString, {type, vendor}},
      {In::kMetric, kNumber, {value}},
      {In::kQty, kString, {vendor}},
      {In::kQty, kNumber, {multiplier}},
      {In::kQty, kInteger, {sourcetype}},

      {In::kBanner, kString, {id}},
      {In::kBanner, kNonNegative, {w, h}},
      {In::kBanner, kInteger, {pos, topframe, vcm, wmin, wmax, hmin, hmax}},
      {In::kBanner, kIntegers, {btype, battr, expdir, api}},
      {In::kBanner, kStrings, {mimes}},
      {In::kBanner, kObjects, {format}, In::kFormat},
      {In::kFormat, kNonNegative, {w, h, wratio, hratio, wmin}},
      {In::kVideo, kStrings, {mimes}},
      {In::kVideo, kNonNegative, {w, h, minbitrate, maxbitrate}},
      {In::kVideo,
       kInteger,
       {minduration, maxduration, startdelay, maxseq, poddur, protocol, slotinpod, placement, plcmt,
        linearity, skip, skipmin, skipafter, sequence, boxingallowed, playbackend, pos}},
      {In::kVideo, kNumber, {mincpmpersec}},
      {In::kVideo,
       kIntegers,
       {protocols, rqddurs, battr, playbackmethod, delivery, api, companiontype}},
      {In::kVideo, kObjects, {companionad}, In::kBanner},
      {In::kAudio, kStrings, {mimes}},
      {In::kAudio, kNonNegative, {sequence, maxseq, minbitrate, maxbitrate}},
      {In::kAudio,
       kInteger,
       {minduration, maxduration, startdelay, poddur, slotinpod, feed, stitched, nvol}},
      {In::kAudio, kNumber, {mincpmpersec}},
      {In::kAudio, kIntegers, {protocols, rqddurs, battr, delivery, api, companiontype}},
      {In::kAudio, kObjects, {companionad}, In::kBanner},
      {In::kNative, kString, {request, ver}},
      {In::kNative, kIntegers, {api, battr}},
      {In::kPmp, kInteger, {private_auction}},
      {In::kPmp, kObjects, {deals}, In::kDeal},
      {In::kDeal, kString, {id, bidfloorcur}},
      {In::kDeal, kFloor, {bidfloor}},
      {In::kDeal, kInteger, {at, guar}},
      {In::kDeal, kNumber, {mincpmpersec}},
      {In::kDeal, kStrings, {wseat, wadomain}},

      {In::kSite, kString, {id, name, domain, page, ref, search, keywords}},
      {In::kSite, kStrings, {cat, sectioncat, pagecat, kwarray}},
      {In::kSite, kInteger, {cattax, mobile, privacypolicy}},
      {In::kSite, kObject, {publisher}, In::kPublisher},
      {In::kSite, kObject, {content}, In::kContent},
      {In::kApp, kString, {id, name, bundle, domain, storeurl, ver, keywords}},
      {In::kApp, kStrings, {cat, sectioncat, pagecat, kwarray}},
      {In::kApp, kInteger, {cattax, privacypolicy, paid}},
      {In::kApp, kObject, {publisher}, In::kPublisher},
      {In::kApp, kObject, {content}, In::kContent},
      {In::kDooh, kString, {id, name, domain, keywords}},
      {In::kDooh, kStrings, {venuetype, kwarray}},
      {In::kDooh, kObject, {publisher}, In::kPublisher},
      {In::kDooh, kObject, {content}, In::kContent},
      {In::kPublisher, kString, {id, name, domain}},
      {In::kPublisher, kStrings, {cat}},
      {In::kPublisher, kInteger, {cattax}},
      {In::kContent,
       kString,
       {id, title, series, season, artist, genre, album, isrc, url, contentrating, userrating,
        keywords, language, langb}},
      {In::kContent, kStrings, {cat, kwarray}},
      {In::kContent,
       kInteger,
       {episode, cattax, prodq, videoquality, context, qagmediarating, livestream, len, embeddable,
        gtax}},
      {In::kContent, kIntegers, {genres}},
      {In::kContent, kObject, {producer}, In::kPublisher},
      {In::kContent, kObject, {network, channel}, In::kNetwork},
      {In::kContent, kObjects, {data}, In::kData},
      {In::kNetwork, kString, {id, name, domain}},

      {In::kDevice, kString, {ua,      ip,       ipv6,     make,    model,   os,     osv,
                              hwv,     flashver, language, langb,   carrier, mccmnc, ifa,
                              didsha1, didmd5,   dpidsha1, dpidmd5, macsha1, macmd5}},
      {In::kDevice, kNonNegative, {w, h, ppi}},
      {In::kDevice, kNumber, {pxratio}},
      {In::kDevice, kInteger, {dnt, lmt, devicetype, js, geofetch, connectiontype}},
      {In::kDevice, kObject, {geo}, In::kGeo},
      {In::kDevice, kObject, {sua}, In::kSua},
      {In::kSua, kString, {architecture, bitness, model}},
      {In::kSua, kInteger, {mobile, source}},
      {In::kSua, kObject, {platform}},
      {In::kSua, kObjects, {browsers}},
      {In::kGeo, kString, {country, region, regionfips104, metro, city, zip}},
      {In::kGeo, kNumber, {lat, lon}},
      {In::kGeo, kNonNegative, {accuracy}},
      {In::kGeo, kInteger, {type, lastfix, ipservice, utcoffset}},

      {In::kUser, kString, {id, buyeruid, gender, keywords, customdata, consent}},
      {In::kUser, kStrings, {kwarray}},
      {In::kUser, kInteger, {yob}},
      {In::kUser, kObject, {geo}, In::kGeo},
      {In::kUser, kObjects, {data}, In::kData},
      {In::kUser, kObjects, {eids}, In::kEid},
      {In::kUser, kObject, {ext}, In::kUserExt},
      {In::kUserExt, kString, {consent}},
      {In::kUserExt, kObjects, {eids}, In::kEid},
      {In::kEid, kString, {inserter, source}},
      {In::kEid, kObjects, {uids}, In::kUid},
      {In::kUid, kString, {id}},
      {In::kUid, kInteger, {atype}},
      {In::kData, kString, {id, name}},
      {In::kData, kObjects, {segment}, In::kSegment},
      {In::kSegment, kString, {id, name, value}},

      {In::kRegs, kInteger, {coppa}},
      {In::kRegs, kFlag, {gdpr}},
      {In::kRegs, kString, {us_privacy, gpp}},
      {In::kRegs, kIntegers, {gpp_sid}},
      {In::kRegs, kObject, {ext}, In::kRegsExt},
      {In::kRegsExt, kFlag, {gdpr}},
      {In::kRegsExt, kString, {us_privacy, gpp}},
      {In::kRegsExt, kIntegers, {gpp_sid}},
      {In::kSource, kString, {tid, pchain}},
      {In::kSource, kObject, {schain}, In::kSchain},
      {In::kSource, kObject, {ext}, In::kSourceExt},
      {In::kSourceExt, kObject, {schain}, In::kSchain},
      {In::kSchain, kInteger, {complete}},
      {In::kSchain, kString, {ver}},
      {In::kSchain, kObjects, {nodes}, In::kNode},
      {In::kNode, kString, {asi, sid, rid, name, domain}},
      {In::kNode, kInteger, {hp}},
  });
}();

// NOLINTEND(modernize-use-designated-initializers, readability-function-size)

}  // namespace spillway::openrtb::fields
