#include "exchange/snapshot.h"

#include <string_view>

#include "base/assert.h"

namespace spillway::exchange {

const Account& Snapshot::account_of(std::string_view publisher) const {
  SPILLWAY_ASSERT(!accounts.empty());
  if (!publisher.empty()) {
    for (const Account& account : accounts) {
      if (account.publisher == publisher) {
        return account;
      }
    }
  }
  return accounts.front();
}

}  // namespace spillway::exchange
