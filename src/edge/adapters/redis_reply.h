#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spillway::adapters {

class RedisReplyTree;

enum class RedisType : uint8_t { kNil, kInteger, kString, kStatus, kError, kArray };

/// One value of a reply. A view: valid during the callback that delivers it. Asking for what its
/// type does not have gives 0, "" or nil: answers come from outside.
class RedisReply {
 public:
  /// A nil.
  RedisReply() = default;

  [[nodiscard]] RedisType type() const;
  [[nodiscard]] int64_t integer() const;
  /// Of a string, status or error.
  [[nodiscard]] std::string_view text() const;

  /// Elements of an array.
  [[nodiscard]] size_t size() const;

  /// Nil past the end. Linear in `index`: walk with for_each where all are wanted.
  [[nodiscard]] RedisReply operator[](size_t index) const;

  /// Calls `each(RedisReply element)` in order.
  template <typename Each>
  void for_each(Each each) const {
    RedisReply element = first();
    for (size_t i = 0; i < size(); ++i) {
      each(element);
      element = element.next();
    }
  }

 private:
  friend class RedisReplyTree;

  RedisReply(const RedisReplyTree* tree, uint32_t node) : tree_(tree), node_(node) {}

  [[nodiscard]] RedisReply first() const;
  [[nodiscard]] RedisReply next() const;

  const RedisReplyTree* tree_ = nullptr;
  uint32_t node_ = 0;
};

}  // namespace spillway::adapters
