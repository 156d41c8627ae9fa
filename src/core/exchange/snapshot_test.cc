#include "exchange/snapshot.h"

#include <gtest/gtest.h>

namespace spillway::exchange {
namespace {

TEST(SnapshotTest, APublisherWithoutAnAccountHasTheDefaultOne) {
  Snapshot snapshot;
  snapshot.accounts = {Account{}, Account{.publisher = "p1", .seller = {}},
                       Account{.publisher = "p2", .seller = {}}};
  EXPECT_EQ(snapshot.account_of("p2").publisher, "p2");
  EXPECT_EQ(&snapshot.account_of("p3"), &snapshot.accounts.front());
  EXPECT_EQ(&snapshot.account_of(""), &snapshot.accounts.front());
}

}  // namespace
}  // namespace spillway::exchange
