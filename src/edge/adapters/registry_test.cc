#include "adapters/registry.h"

#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "adapters/registry_fixture.h"
#include "base/time.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using testing::instance;
using testing::RegistryTest;

constexpr base::Instant kStart{};

TEST(RegistryInstance, ComesBackFromItsJson) {
  const RegistryInstance one = instance("i-0a1", 8080, "z1", "c5.xlarge");
  EXPECT_EQ(instance_from_json(to_json(one)), one);
}

TEST(RegistryInstance, UnsoundOnesAreRefused) {
  RegistryInstance bad = instance("a b", 80);
  EXPECT_FALSE(is_sound(bad));
  for (const char* id : {"", "a;b", "a\nb", "a/b", "ä"}) {
    bad.id = id;
    EXPECT_FALSE(is_sound(bad)) << id;
  }
  bad = instance("a", 80);
  EXPECT_TRUE(is_sound(bad));
  bad.host = "host.example";
  EXPECT_FALSE(is_sound(bad));
  bad = instance("a", 0);
  EXPECT_FALSE(is_sound(bad));
  for (const char* json : {"", "[]", "{}", "{\"id\":\"a\",\"host\":\"10.0.0.1\",\"port\":70000}",
                           "{\"id\":\"a\",\"host\":\"10.0.0.1\",\"port\":\"80\"}",
                           "{\"id\":\"a;del\",\"host\":\"10.0.0.1\",\"port\":80}"}) {
    EXPECT_FALSE(instance_from_json(json)) << json;
  }
}

TEST(RegistryGate, BelievesWhatIsPlausibleAtOnce) {
  RegistryGate gate(3, 1min);
  EXPECT_EQ(gate.judge(0, 0, 1, kStart), std::nullopt);
  EXPECT_EQ(gate.judge(0, 10, 2, kStart), std::nullopt);
  EXPECT_EQ(gate.judge(10, 5, 3, kStart), std::nullopt);
  EXPECT_EQ(gate.judge(1, 1, 3, kStart), std::nullopt);
}

TEST(RegistryGate, BelievesAnEmptySetOnceItWasSeenOftenEnough) {
  RegistryGate gate(3, 1min);
  EXPECT_EQ(gate.judge(10, 0, 1, kStart), RegistryHold::kEmpty);
  EXPECT_EQ(gate.judge(10, 0, 1, kStart + 1s), RegistryHold::kEmpty);
  EXPECT_EQ(gate.judge(10, 0, 1, kStart + 2s), std::nullopt);
}

TEST(RegistryGate, APlausibleSetBetweenBeginsTheCountAnew) {
  RegistryGate gate(2, 1min);
  EXPECT_EQ(gate.judge(10, 4, 1, kStart), RegistryHold::kShrunk);
  EXPECT_EQ(gate.judge(10, 10, 2, kStart + 1s), std::nullopt);
  EXPECT_EQ(gate.judge(10, 4, 1, kStart + 2s), RegistryHold::kShrunk);
  EXPECT_EQ(gate.judge(10, 4, 1, kStart + 3s), std::nullopt);
}

TEST(RegistryGate, BelievesWhatHasLastedThoughItKeepsChanging) {
  RegistryGate gate(100, 10s);
  EXPECT_EQ(gate.judge(10, 4, 1, kStart), RegistryHold::kShrunk);
  EXPECT_EQ(gate.judge(10, 3, 2, kStart + 5s), RegistryHold::kShrunk);
  EXPECT_EQ(gate.judge(10, 2, 3, kStart + 10s), std::nullopt);
}

TEST_F(RegistryTest, AStaticListIsThereAtOnceAndInOrder) {
  auto registry = static_registry(reactor_, {instance("b", 2), instance("a", 1)});
  watch(*registry);
  ASSERT_TRUE(run_until([&] { return registry->view().known; }));
  EXPECT_EQ(ids(*registry), "a b");
  registry->announce(instance("c", 3));
  ASSERT_TRUE(run_until([&] { return registry->announced(); }));
  EXPECT_EQ(ids(*registry), "a b");
}

TEST_F(RegistryTest, AnEmptyFirstSetIsBelievedWhereNoneIsExpected) {
  auto registry = static_registry(reactor_, {});
  watch(*registry);
  ASSERT_TRUE(run_until([&] { return registry->view().known; }));
  EXPECT_EQ(ids(*registry), "");
}

}  // namespace
}  // namespace spillway::adapters
