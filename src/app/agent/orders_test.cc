#include "app/agent/orders.h"

#include <string_view>

#include <gtest/gtest.h>

namespace spillway::app::agent {
namespace {

TEST(OrdersFile, HoldsAnOrderALine) {
  const auto orders = parse_orders("# since the incident\n  freeze\n\npin 80.5 # until Monday\r\n");
  ASSERT_TRUE(orders);
  EXPECT_EQ(*orders, (OperatorOrders{.freeze = true, .pin = 80.5}));
  EXPECT_EQ(*parse_orders(""), OperatorOrders{});
  EXPECT_EQ(*parse_orders("dry-run\ndrain"), (OperatorOrders{.dry_run = true, .drain = true}));
}

TEST(OrdersFile, SaysWhichLineIsNoOrder) {
  for (const std::string_view bad : {"freeze\nfrieze\n", "\npin\n", "\npin 0\n", "\npin 257\n",
                                     "\npin x\n", "\npin nan\n", "freeze\nfreeze now\n"}) {
    const auto orders = parse_orders(bad);
    ASSERT_FALSE(orders) << bad;
    EXPECT_TRUE(orders.error().starts_with("line 2: ")) << orders.error();
  }
}

TEST(Orders, OfAllWaysActTogetherAndTheFirstPinWins) {
  const auto both = together({.freeze = true, .pin = 5}, {.drain = true, .pin = 7});
  EXPECT_EQ(both, (OperatorOrders{.freeze = true, .drain = true, .pin = 5}));
  EXPECT_EQ(together({}, {.pin = 7}).pin, 7);
}

}  // namespace
}  // namespace spillway::app::agent
