#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::bidder {

inline constexpr uint32_t kNoValue = 0xffffffff;

/// Numbers to indices, filled once, then only read. Open addressing, at most half full.
/// Cost of a look-up: one or two cache lines. Keys are a catalog's own, never a request's, so that
/// no attacker chooses what collides.
class NumberTable {
 public:
  /// The index of `key`; `next` when it is new, which it then has.
  uint32_t insert(uint32_t key, uint32_t next);

  /// kNoValue when there is none.
  [[nodiscard]] uint32_t find(uint32_t key) const;

  [[nodiscard]] size_t size() const { return size_; }

 private:
  struct Slot {
    uint32_t key = 0;
    uint32_t index = kNoValue;
  };

  [[nodiscard]] size_t slot_of(uint32_t key) const;
  void grow();

  std::vector<Slot> slots_;  ///< A power of two.
  size_t size_ = 0;
};

/// Values of one dimension to indices: 0, 1, 2 … in order of insertion. Texts that are numbers in
/// their shortest decimal spelling are found as numbers too.
class ValueTable {
 public:
  uint32_t insert(std::string_view text);
  [[nodiscard]] uint32_t find(std::string_view text) const;

  [[nodiscard]] uint32_t find(uint32_t number) const { return numbers_.find(number); }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t index = kNoValue;
    uint32_t begin = 0;
    uint32_t length = 0;
  };

  [[nodiscard]] size_t slot_of(std::string_view text, uint64_t hash) const;
  void grow();

  std::vector<Slot> slots_;
  size_t texts_ = 0;
  std::string bytes_;
  NumberTable numbers_;
  uint32_t size_ = 0;
};

/// The number that `text` spells in its shortest decimal form, as far as 32 bits go; false for any
/// other text.
[[nodiscard]] bool parse_number(std::string_view text, uint32_t& out);

}  // namespace spillway::bidder
