#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spillway::exchange::clearing {

__extension__ using Worth = __int128;  ///< Micros, summed over imps.

/// Bids of one seatbid with `group` 1: they win all together or not at all.
struct Group {
  std::vector<uint32_t> members;  ///< Indices of bids, one an imp.
  uint64_t imps = 0;              ///< Set of the imps they are on.
  Worth gain = 0;  ///< Worth of its members less that of the single bids they would push out.
};

/// Among how many groups the best choice is searched for exactly: at most 2^12 subsets, some tens
/// of microseconds. Of more, the ones with the largest gains are looked at and the rest has lost.
inline constexpr size_t kExactGroups = 12;

/// Imps from this one on take no part in groups.
inline constexpr size_t kGroupImps = 64;

/// The subset of groups no two of which share an imp and whose gains sum to the most, as a bit set;
/// of equal sums the one that has the first group that tells them apart. Gains must be above zero;
/// at most kExactGroups groups. Exact: branch and bound over all subsets.
[[nodiscard]] uint64_t best_subset(std::span<const Group> groups);

}  // namespace spillway::exchange::clearing
