#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/http2_fields.h"
#include "net/http2_floods.h"
#include "net/http2_memory.h"
#include "net/http2_settings.h"
#include "net/pending_request.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

TEST(Http2Floods, CountsResetsInWindowsThatFollowEachOther) {
  Http2Floods floods({.max_resets = 3}, kStart);
  for (int window = 0; window < 3; ++window) {
    const base::Instant now = kStart + window * kHttp2Window;
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(floods.reset(now));
    }
  }
  EXPECT_TRUE(floods.reset(kStart + 2 * kHttp2Window + 1s));
}

TEST(Http2Floods, AllowsAControlFrameMoreForEachKibibyteSent) {
  Http2Floods floods({.max_control_frames = 100}, kStart);
  floods.sent(10 * 1024);
  for (int i = 0; i < 110; ++i) {
    EXPECT_FALSE(floods.control_frame(kStart)) << i;
  }
  EXPECT_TRUE(floods.control_frame(kStart));
}

class Http2FieldsTest : public testing::Test {
 protected:
  uint16_t place() { return fields_.place(request_, buffers_); }

  bool add(std::string_view name, std::string_view value) { return fields_.add(name, value); }

  void begin(size_t bytes = 1'024, size_t count = 10) {
    fields_.begin(bytes, count);
    add(":method", "POST");
    add(":path", "/p");
  }

  BufferPool buffers_{1 << 20};
  PendingRequest request_;
  Http2Fields fields_;
};

TEST_F(Http2FieldsTest, PutsTheAuthorityFirstAsHost) {
  begin();
  add("x", "1");
  add(":authority", "a.example");
  add("host", "a.example");
  EXPECT_EQ(place(), 0);
  ASSERT_EQ(request_.headers.size(), 2U);
  EXPECT_EQ(request_.headers[0].name, "host");
  EXPECT_EQ(request_.headers[0].value, "a.example");
  EXPECT_EQ(request_.request.header("X"), "1");
  EXPECT_EQ(request_.request.method, "POST");
  EXPECT_EQ(request_.request.target, "/p");
}

TEST_F(Http2FieldsTest, TakesHostWhereThereIsNoAuthority) {
  begin();
  add("host", "h");
  EXPECT_EQ(place(), 0);
  EXPECT_EQ(request_.request.header("host"), "h");
}

TEST_F(Http2FieldsTest, RefusesTwoNamesForOneHost) {
  begin();
  add(":authority", "a");
  add("host", "b");
  EXPECT_EQ(place(), 400);
}

TEST_F(Http2FieldsTest, RefusesToBeATunnel) {
  fields_.begin(1'024, 10);
  add(":method", "CONNECT");
  add(":authority", "a:443");
  EXPECT_EQ(place(), 501);
}

TEST_F(Http2FieldsTest, JoinsCookiesInTheirOrder) {
  begin();
  add("cookie", "a=1");
  add("x", "1");
  add("cookie", "");
  add("cookie", std::string(300, 'c'));
  EXPECT_EQ(place(), 0);
  EXPECT_EQ(request_.request.header("cookie"), "a=1; ; " + std::string(300, 'c'));
  EXPECT_EQ(request_.headers.size(), 3U);
}

TEST_F(Http2FieldsTest, CountsThirtyTwoBytesAFieldAndSaysWhenItIsAnAttack) {
  begin(200, 10);  // ":method" and "POST", ":path" and "/p": 82 bytes
  EXPECT_TRUE(add("x", std::string(85, 'y')));
  EXPECT_EQ(place(), 0);
  begin(200, 10);
  EXPECT_TRUE(add("x", std::string(86, 'y')));
  EXPECT_EQ(place(), 431);
  begin(200, 10);
  EXPECT_TRUE(add("x", std::string(1'400, 'y')));
  EXPECT_FALSE(add("x", std::string(100, 'y')));
  begin(1'000'000, 4);
  add("x", "1");
  add("x", "2");
  add("x", "3");
  EXPECT_EQ(place(), 431);
}

TEST_F(Http2FieldsTest, NeedsBudget) {
  BufferPool none(0);
  begin();
  EXPECT_EQ(fields_.place(request_, none), 503);
}

TEST(Http2Memory, IsRefusedBeyondItsCapAndCountedBeyondWhatIsIdle) {
  BufferPool budget(1 << 20);
  Http2Memory memory(budget, 10'000, 1'000);
  nghttp2_mem& functions = *memory.native();
  void* block = functions.malloc(4'000, functions.mem_user_data);
  ASSERT_NE(block, nullptr);
  block = functions.realloc(block, 5'000, functions.mem_user_data);
  ASSERT_NE(block, nullptr);
  EXPECT_GE(memory.bytes(), 5'000U);
  EXPECT_EQ(budget.bytes(), memory.bytes() - 1'000);
  void* const zeros = functions.calloc(10, 100, functions.mem_user_data);
  ASSERT_NE(zeros, nullptr);
  EXPECT_FALSE(memory.exhausted());
  EXPECT_EQ(functions.malloc(5'000, functions.mem_user_data), nullptr);
  EXPECT_TRUE(memory.exhausted());
  functions.free(zeros, functions.mem_user_data);
  functions.free(block, functions.mem_user_data);
  functions.free(nullptr, functions.mem_user_data);
  EXPECT_EQ(memory.bytes(), 0U);
  EXPECT_EQ(budget.bytes(), 0U);
}

}  // namespace
}  // namespace spillway::net
