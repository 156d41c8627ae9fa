#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <hiredis/read.h>

#include "adapters/redis_reply.h"

namespace spillway::adapters {

/// One command as it goes over the wire. Owns its bytes.
class RedisCommand {
 public:
  RedisCommand() = default;
  /// Of its parts; empty when memory is gone. One allocation.
  explicit RedisCommand(std::span<const std::string_view> parts);

  RedisCommand(RedisCommand&& other) noexcept
      : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}

  RedisCommand& operator=(RedisCommand&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  RedisCommand(const RedisCommand&) = delete;
  RedisCommand& operator=(const RedisCommand&) = delete;
  ~RedisCommand() = default;

  [[nodiscard]] RedisCommand copy() const;

  [[nodiscard]] std::string_view bytes() const { return {bytes_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* bytes) const;
  };

  std::unique_ptr<char, Free> bytes_;
  size_t size_ = 0;
};

/// The values of one reply, in the order they came; memory is used again for the next one.
class RedisReplyTree {
 public:
  [[nodiscard]] RedisReply root() const { return {this, 0}; }

  /// What hiredis' reader builds replies with.
  static redisReplyObjectFunctions& functions();

  void clear();
  /// The reply is whole: finds where each value ends.
  void finish();

 private:
  friend class RedisReply;

  struct Node {
    RedisType type = RedisType::kNil;
    int64_t integer = 0;  ///< Of arrays: their size. Of texts: where they begin.
    size_t size = 0;      ///< Of texts.
    uint32_t end = 0;     ///< The node behind this value and all it holds.
  };

  static void* add(const redisReadTask* task, const Node& node);
  static void* add_text(const redisReadTask* task, char* text, size_t size);
  static void* add_array(const redisReadTask* task, int size);
  static void* add_integer(const redisReadTask* task, long long value);
  static void* add_nil(const redisReadTask* task);
  static void free(void* node);

  std::vector<Node> nodes_;
  std::vector<char> text_;
};

/// RESP2 from bytes as they come: hiredis' reader over a RedisReplyTree. One thread.
class RedisReader {
 public:
  /// `max_bytes` of one reply.
  explicit RedisReader(uint64_t max_bytes);

  /// False: memory is gone, or the reply too large.
  [[nodiscard]] bool feed(std::string_view bytes);

  enum class Progress : uint8_t { kPart, kWhole, kBroken };

  /// The next reply: kWhole until there is no whole one left. The reply lasts until the next call.
  [[nodiscard]] Progress next(RedisReply& reply);

 private:
  struct Free {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  uint64_t max_bytes_;
  uint64_t pending_ = 0;  ///< Bytes since the last whole reply.
  RedisReplyTree tree_;
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace spillway::adapters
