// What decides, applied to bitsets, block by block.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bidder/retrieval_plan.h"
#include "bidder/targeting_index.h"

namespace spillway::bidder {

namespace {

// Spans of words are multiples of eight long, and what is stored is worked out before any of it is
// stored: so the inner loops become vector instructions.
constexpr size_t kStep = 8;

template <typename Op>
void each_step(std::span<uint64_t> to, const uint64_t* from, Op op) {
  uint64_t* out = to.data();
  uint64_t* const end = out + to.size();
  for (; out != end; out += kStep, from += kStep) {
    std::array<uint64_t, kStep> step{};
    for (size_t k = 0; k < kStep; ++k) {
      step[k] = op(out[k], from[k]);
    }
    std::copy_n(step.data(), kStep, out);
  }
}

void unite_words(std::span<uint64_t> to, const uint64_t* from) {
  each_step(to, from, [](uint64_t a, uint64_t b) { return a | b; });
}

void unite_four(std::span<uint64_t> to, const std::array<const uint64_t*, 4>& from) {
  const auto [a, b, c, d] = from;
  for (size_t i = 0; i < to.size(); i += kStep) {
    std::array<uint64_t, kStep> step{};
    for (size_t k = 0; k < kStep; ++k) {
      step[k] = (to[i + k] | a[i + k]) | (b[i + k] | c[i + k]) | d[i + k];
    }
    std::copy_n(step.data(), kStep, to.data() + i);
  }
}

void intersect_words(std::span<uint64_t> to, const uint64_t* from) {
  each_step(to, from, [](uint64_t a, uint64_t b) { return a & b; });
}

void subtract_words(std::span<uint64_t> to, const uint64_t* from) {
  each_step(to, from, [](uint64_t a, uint64_t b) { return a & ~b; });
}

bool is_zero(std::span<const uint64_t> bits) {
  uint64_t any = 0;
  for (const uint64_t word : bits) {
    any |= word;
  }
  return any == 0;
}

using Block = std::array<uint64_t, TargetingIndex::kBlockWords>;

/// Words of a bitset of an index that may have none set.
const uint64_t* words_from(const std::vector<uint64_t>& bits, size_t first) {
  return bits.empty() ? nullptr : bits.data() + first;
}

}  // namespace

size_t count_bits(std::span<const uint64_t> bits) {
  size_t count = 0;
  for (const uint64_t word : bits) {
    count += static_cast<size_t>(std::popcount(word));
  }
  return count;
}

void RetrievalPlan::apply(size_t block, std::span<uint64_t> bits) {
  const size_t first = block * TargetingIndex::kBlockWords;
  constexpr uint32_t kMany = 8;
  for (const Term& term : terms_) {
    if (term.end - term.include > kMany && is_zero(bits)) {
      return;
    }
    apply(term, first, bits);
  }
}

void RetrievalPlan::count(size_t block, std::span<uint64_t> bits, std::vector<Drop>& drops) {
  for (const Term& term : terms_) {
    const size_t before = count_bits(bits);
    apply(term, block * TargetingIndex::kBlockWords, bits);
    auto drop = std::ranges::find(drops, term.name, &Drop::dimension);
    if (drop == drops.end()) {
      drop = drops.insert(drop, {.dimension = term.name});
    }
    drop->line_items += before - count_bits(bits);
  }
}

void RetrievalPlan::apply(const Term& term, size_t first, std::span<uint64_t> bits) {
  Block memory;
  const std::span<uint64_t> match(memory.data(), bits.size());
  const auto start = [&](const uint64_t* words) {
    if (words != nullptr) {
      std::copy_n(words, match.size(), match.data());
    } else {
      std::ranges::fill(match, 0);
    }
  };
  const bool keeps_open = term.rule != Rule::kStrict && term.rule != Rule::kPostings;
  const uint64_t* const open = keeps_open ? words_from(term.index->open, first) : nullptr;
  const uint64_t* const others = keeps_open ? words_from(term.index->exclude_only, first) : nullptr;
  if (term.rule == Rule::kOpen) {
    start(open);
    intersect_words(bits, match.data());
    return;
  }
  if (term.rule == Rule::kAny) {
    start(open);
    Block value_memory;
    const std::span<uint64_t> value(value_memory.data(), bits.size());
    for (uint32_t i = term.include; i < term.exclude; i += 2) {
      std::ranges::fill(value, 0);
      if (others != nullptr) {
        unite_words(value, others);
      }
      unite(cursors_[i], first, value);
      subtract(cursors_[i + 1], first, value);
      unite_words(match, value.data());
    }
    intersect_words(bits, match.data());
    return;
  }
  start(others);
  unite_all(std::span(cursors_).subspan(term.include, term.exclude - term.include), first, match);
  for (uint32_t i = term.exclude; i < term.end; ++i) {
    subtract(cursors_[i], first, match);
  }
  if (term.rule == Rule::kDegraded && term.index->excludes) {
    subtract_words(match, term.index->has_exclude.data() + first);
  }
  if (open != nullptr) {
    unite_words(match, open);
  }
  intersect_words(bits, match.data());
}

/// Bitsets four at a time: what they are united with is loaded and stored a quarter as often.
void RetrievalPlan::unite_all(std::span<Cursor> cursors, size_t first, std::span<uint64_t> bits) {
  std::array<const uint64_t*, 4> four{};
  size_t waiting = 0;
  for (Cursor& cursor : cursors) {
    if (cursor.words == nullptr) {
      unite(cursor, first, bits);
      continue;
    }
    four[waiting++] = cursor.words + first;
    if (waiting == four.size()) {
      unite_four(bits, four);
      waiting = 0;
    }
  }
  for (size_t i = 0; i < waiting; ++i) {
    unite_words(bits, four[i]);
  }
}

void RetrievalPlan::unite(Cursor& cursor, size_t first, std::span<uint64_t> bits) {
  if (cursor.words != nullptr) {
    unite_words(bits, cursor.words + first);
    return;
  }
  const size_t limit = (first + bits.size()) * 64;
  for (; cursor.at != cursor.end && *cursor.at < limit; ++cursor.at) {
    if (*cursor.at >= first * 64) {
      bits[*cursor.at / 64 - first] |= uint64_t{1} << (*cursor.at % 64);
    }
  }
}

void RetrievalPlan::subtract(Cursor& cursor, size_t first, std::span<uint64_t> bits) {
  if (cursor.words != nullptr) {
    subtract_words(bits, cursor.words + first);
    return;
  }
  const size_t limit = (first + bits.size()) * 64;
  for (; cursor.at != cursor.end && *cursor.at < limit; ++cursor.at) {
    if (*cursor.at >= first * 64) {
      bits[*cursor.at / 64 - first] &= ~(uint64_t{1} << (*cursor.at % 64));
    }
  }
}

}  // namespace spillway::bidder
