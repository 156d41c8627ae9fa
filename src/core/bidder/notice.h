#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hmac_sha256.h"
#include "base/money.h"
#include "base/result.h"
#include "bidder/caps/table.h"
#include "bidder/caps/user.h"
#include "bidder/scoring/ab_split.h"

namespace spillway::bidder {

/// What an exchange tells us of a bid.
enum class NoticeKind : uint8_t { kWin, kBilling, kLoss };

inline constexpr size_t kNoticeKinds = 3;

/// "win", "billing", "loss": the last segment of the path.
[[nodiscard]] std::string_view to_string(NoticeKind kind);

/// Why a notice is not believed.
enum class NoticeErrc : uint8_t {
  kMalformed,
  kUnknownExchange,  ///< Names none of ours: refused, there is no key that would do for all.
  kBadSignature,
  kExpired,
};

inline constexpr size_t kNoticeErrcs = 4;

[[nodiscard]] std::string_view to_string(NoticeErrc error);

/// What we said when we bid, and sign: whoever holds one notice of a bid can make no other of it.
struct Claims {
  uint64_t bid = 0;         ///< The key of its money and of its one effect.
  bool test = false;        ///< Its notices have none.
  Arm arm = Arm::kControl;  ///< Whose models scored it.
  int64_t campaign = 0;
  int64_t creative = 0;
  std::optional<caps::UserHash> user{};  ///< None: no id was used.
  caps::CapHold hold = 0;                ///< Its places under caps.
  base::Cpm ceiling{};                   ///< What we bid: a price above it is not ours to pay.
  base::Currency currency{};
  int64_t expires_s = 0;  ///< Since the epoch.

  bool operator==(const Claims&) const = default;
};

/// One notice that was read. Texts are at most kNoticeTextBytes.
struct Notice {
  NoticeKind kind = NoticeKind::kWin;
  std::string exchange;
  std::string request;
  std::string imp;
  Claims claims;
  std::optional<base::Cpm> price;  ///< What it says we pay; absent when it says none that is one.
  bool price_given = false;        ///< It says something, be it a macro nobody replaced.
  int loss = -1;                   ///< Loss reason; -1: none.
};

inline constexpr size_t kNoticeTextBytes = 128;

/// Writes and checks the addresses that exchanges call: "BASE/notice/win?e=…&h=TAG&p=${…}". The
/// text from the kind up to the tag is signed as it stands with HMAC-SHA256 under the exchange's
/// key; the price and the loss reason are the exchange's to fill in, and so stand behind it.
/// Immutable; any thread.
class NoticeSigner {
 public:
  struct Key {
    std::string id;  ///< Letters and digits.
    std::string secret;
  };

  /// An exchange and its keys: the first signs, all verify, so that keys can be changed without
  /// losing notices under way.
  struct Exchange {
    std::string name;
    std::vector<Key> keys;
  };

  /// `base`: an http or https address without a query.
  NoticeSigner(std::string base, const std::vector<Exchange>& exchanges);

  /// Appends what the addresses of one bid have in common, for the exchange of this index.
  void append_claims(std::string& out, size_t exchange, std::string_view request,
                     std::string_view imp, const Claims& claims) const;

  /// Appends an address; `claims` is what append_claims wrote for the same exchange. Nothing in it
  /// needs escaping in JSON; nothing is allocated but `out`'s own. Cost: about seven blocks of
  /// SHA-256 (base::HmacSha256).
  void append_url(std::string& out, size_t exchange, NoticeKind kind,
                  std::string_view claims) const;

  /// Reads what follows "/notice/": `kind` and the query. The signature is compared in constant
  /// time, before anything it covers is believed.
  [[nodiscard]] base::Result<Notice, NoticeErrc> read(std::string_view kind, std::string_view query,
                                                      int64_t now_s) const;

 private:
  struct Signer {
    std::string id;
    base::HmacSha256 hmac;
  };

  struct Party {
    std::string name;
    std::vector<Signer> signers;
  };

  [[nodiscard]] const Party* find(std::string_view name) const;

  std::string base_;
  std::vector<Party> parties_;
};

}  // namespace spillway::bidder
