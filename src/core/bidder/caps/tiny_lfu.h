#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway::bidder::caps {

/// Estimates how often keys are asked for: four 4-bit counts a key, the least of them; all are
/// halved after ten times as many additions as there are keys to be told apart, so that what was
/// popular once is forgotten. 8 bytes a key, allocated at creation. One thread.
/// Source: Einziger, Friedman, Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", 2017.
class FrequencySketch {
 public:
  explicit FrequencySketch(size_t keys);

  void add(uint64_t key);
  [[nodiscard]] uint32_t estimate(uint64_t key) const;  ///< [0, 15].

  void prefetch(uint64_t key) const {
    for (size_t row = 0; row < kRows; ++row) {
      __builtin_prefetch(&words_[place(key, row).word]);
    }
  }

  [[nodiscard]] uint64_t bytes() const { return words_.size() * sizeof(uint64_t); }

 private:
  static constexpr size_t kRows = 4;

  struct Place {
    size_t word = 0;
    unsigned shift = 0;
  };

  [[nodiscard]] Place place(uint64_t key, size_t row) const;
  void halve();

  std::vector<uint64_t> words_;  ///< A power of two of them, 16 counts each.
  uint64_t additions_ = 0;
  uint64_t sample_;
};

/// Which of `slots` numbered places a key has: W-TinyLFU. New keys enter a window of 1 % in order
/// of use; who leaves it gets a place in the main part only when asked for more often than the one
/// who would have to go. The main part keeps those used twice (80 %) from those used once.
///
/// Knows keys and places, not what lies there. Allocates at creation, every call is O(1). One
/// thread.
class TinyLfu {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  /// `slots` >= 4.
  explicit TinyLfu(uint32_t slots);

  /// Notes that `key` is asked for; its place, or kNone.
  [[nodiscard]] uint32_t ask(uint64_t key);

  /// Sends for the memory that ask() will look at first. No lock needed.
  void prefetch(uint64_t key) const {
    __builtin_prefetch(&heads_[head_of(key)]);
    sketch_.prefetch(key);
  }

  /// Its place, without asking for it.
  [[nodiscard]] uint32_t peek(uint64_t key) const;

  struct Insertion {
    uint32_t slot = 0;
    bool evicted = false;   ///< A key had to go.
    bool rejected = false;  ///< And it was one that left the window.
  };

  /// A place for a `key` that has none.
  Insertion insert(uint64_t key);

  [[nodiscard]] uint64_t bytes() const;

  [[nodiscard]] uint32_t used() const { return used_; }

  /// Memory of one slot, about.
  static constexpr uint64_t kBytesPerSlot = 48;

 private:
  enum Part : uint8_t { kWindow, kProbation, kProtected, kFree };

  struct Node {
    uint64_t key = 0;
    uint32_t previous = kNone;
    uint32_t next = kNone;
    uint32_t chain = kNone;
    Part part = kFree;
  };

  struct List {
    uint32_t newest = kNone;
    uint32_t oldest = kNone;
    uint32_t size = 0;
  };

  [[nodiscard]] size_t head_of(uint64_t key) const { return key & (heads_.size() - 1); }

  void push(Part part, uint32_t slot);
  void unlink(uint32_t slot);
  void move_to(Part part, uint32_t slot);
  void touch(uint32_t slot);
  void forget(uint32_t slot);
  /// Frees a place: the window's oldest goes, or the one in the main part it is worth more than.
  bool make_room();

  std::vector<Node> nodes_;
  std::vector<uint32_t> heads_;
  std::array<List, 4> lists_{};
  FrequencySketch sketch_;
  uint32_t window_most_;
  uint32_t main_most_;
  uint32_t used_ = 0;
};

}  // namespace spillway::bidder::caps
