// ISO 3166-1: the alpha-2 and alpha-3 codes of countries.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "bidder/canonical.h"

namespace spillway::bidder {

namespace {

// By alpha-2 code; each entry is that code and the alpha-3 one.
constexpr std::string_view kCountries[] = {
    "ADAND", "AEARE", "AFAFG", "AGATG", "AIAIA", "ALALB", "AMARM", "AOAGO", "AQATA", "ARARG",
    "ASASM", "ATAUT", "AUAUS", "AWABW", "AXALA", "AZAZE", "BABIH", "BBBRB", "BDBGD", "BEBEL",
    "BFBFA", "BGBGR", "BHBHR", "BIBDI", "BJBEN", "BLBLM", "BMBMU", "BNBRN", "BOBOL", "BQBES",
    "BRBRA", "BSBHS", "BTBTN", "BVBVT", "BWBWA", "BYBLR", "BZBLZ", "CACAN", "CCCCK", "CDCOD",
    "CFCAF", "CGCOG", "CHCHE", "CICIV", "CKCOK", "CLCHL", "CMCMR", "CNCHN", "COCOL", "CRCRI",
    "CUCUB", "CVCPV", "CWCUW", "CXCXR", "CYCYP", "CZCZE", "DEDEU", "DJDJI", "DKDNK", "DMDMA",
    "DODOM", "DZDZA", "ECECU", "EEEST", "EGEGY", "EHESH", "ERERI", "ESESP", "ETETH", "FIFIN",
    "FJFJI", "FKFLK", "FMFSM", "FOFRO", "FRFRA", "GAGAB", "GBGBR", "GDGRD", "GEGEO", "GFGUF",
    "GGGGY", "GHGHA", "GIGIB", "GLGRL", "GMGMB", "GNGIN", "GPGLP", "GQGNQ", "GRGRC", "GSSGS",
    "GTGTM", "GUGUM", "GWGNB", "GYGUY", "HKHKG", "HMHMD", "HNHND", "HRHRV", "HTHTI", "HUHUN",
    "IDIDN", "IEIRL", "ILISR", "IMIMN", "ININD", "IOIOT", "IQIRQ", "IRIRN", "ISISL", "ITITA",
    "JEJEY", "JMJAM", "JOJOR", "JPJPN", "KEKEN", "KGKGZ", "KHKHM", "KIKIR", "KMCOM", "KNKNA",
    "KPPRK", "KRKOR", "KWKWT", "KYCYM", "KZKAZ", "LALAO", "LBLBN", "LCLCA", "LILIE", "LKLKA",
    "LRLBR", "LSLSO", "LTLTU", "LULUX", "LVLVA", "LYLBY", "MAMAR", "MCMCO", "MDMDA", "MEMNE",
    "MFMAF", "MGMDG", "MHMHL", "MKMKD", "MLMLI", "MMMMR", "MNMNG", "MOMAC", "MPMNP", "MQMTQ",
    "MRMRT", "MSMSR", "MTMLT", "MUMUS", "MVMDV", "MWMWI", "MXMEX", "MYMYS", "MZMOZ", "NANAM",
    "NCNCL", "NENER", "NFNFK", "NGNGA", "NINIC", "NLNLD", "NONOR", "NPNPL", "NRNRU", "NUNIU",
    "NZNZL", "OMOMN", "PAPAN", "PEPER", "PFPYF", "PGPNG", "PHPHL", "PKPAK", "PLPOL", "PMSPM",
    "PNPCN", "PRPRI", "PSPSE", "PTPRT", "PWPLW", "PYPRY", "QAQAT", "REREU", "ROROU", "RSSRB",
    "RURUS", "RWRWA", "SASAU", "SBSLB", "SCSYC", "SDSDN", "SESWE", "SGSGP", "SHSHN", "SISVN",
    "SJSJM", "SKSVK", "SLSLE", "SMSMR", "SNSEN", "SOSOM", "SRSUR", "SSSSD", "STSTP", "SVSLV",
    "SXSXM", "SYSYR", "SZSWZ", "TCTCA", "TDTCD", "TFATF", "TGTGO", "THTHA", "TJTJK", "TKTKL",
    "TLTLS", "TMTKM", "TNTUN", "TOTON", "TRTUR", "TTTTO", "TVTUV", "TWTWN", "TZTZA", "UAUKR",
    "UGUGA", "UMUMI", "USUSA", "UYURY", "UZUZB", "VAVAT", "VCVCT", "VEVEN", "VGVGB", "VIVIR",
    "VNVNM", "VUVUT", "WFWLF", "WSWSM", "YEYEM", "YTMYT", "ZAZAF", "ZMZMB", "ZWZWE"};

constexpr std::string_view alpha2_of(std::string_view entry) { return entry.substr(0, 2); }

constexpr std::string_view alpha3_of(std::string_view entry) { return entry.substr(2); }

consteval auto by_alpha3() {
  std::array<std::string_view, std::size(kCountries)> out{};
  std::ranges::copy(kCountries, out.begin());
  std::ranges::sort(out, {}, alpha3_of);
  return out;
}

constexpr auto kByAlpha3 = by_alpha3();

static_assert(std::size(kCountries) == 249);
static_assert(std::ranges::is_sorted(kCountries, {}, alpha2_of));

}  // namespace

std::string_view country_alpha2(std::string_view code) {
  constexpr size_t kLongest = 3;
  if (code.size() != 2 && code.size() != kLongest) {
    return {};
  }
  std::array<char, kLongest> upper{};
  std::ranges::transform(code, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const std::string_view wanted(upper.data(), code.size());
  if (code.size() == 2) {
    const auto* const at = std::ranges::lower_bound(kCountries, wanted, {}, alpha2_of);
    return at != std::end(kCountries) && alpha2_of(*at) == wanted ? alpha2_of(*at)
                                                                  : std::string_view{};
  }
  const auto* const at = std::ranges::lower_bound(kByAlpha3, wanted, {}, alpha3_of);
  return at != kByAlpha3.end() && alpha3_of(*at) == wanted ? alpha2_of(*at) : std::string_view{};
}

}  // namespace spillway::bidder
