#include "app/load/run_file.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "workload/comparison.h"
#include "workload/latency_histogram.h"

namespace spillway::app {

namespace {

using openrtb::Document;
using openrtb::Kind;
using openrtb::NodeId;

/// An hour's report has some 2 million values.
constexpr size_t kNodesMax = 16'000'000;

std::optional<uint64_t> count_of(const Document& json, NodeId interval, std::string_view name) {
  const auto value = json.integer(json.find(interval, name));
  return value && *value >= 0 ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
}

/// "buckets": [index, count, index, count, ...]
bool read_buckets(const Document& json, NodeId buckets, workload::RunBlock& block) {
  std::optional<int64_t> index;
  for (const NodeId node : json.children(buckets)) {
    const auto value = json.integer(node);
    const int64_t most = index ? int64_t{std::numeric_limits<uint32_t>::max()}
                               : static_cast<int64_t>(workload::LatencyBuckets::kCount) - 1;
    if (!value || *value < 0 || *value > most) {
      return false;
    }
    if (index) {
      block.latency.emplace_back(static_cast<uint32_t>(*index), static_cast<uint32_t>(*value));
      index.reset();
    } else {
      index = value;
    }
  }
  return !index;
}

std::optional<workload::RunBlock> read_interval(const Document& json, NodeId node) {
  const auto offered = count_of(json, node, "offered");
  const auto ended = count_of(json, node, "ended");
  const auto failed = count_of(json, node, "failed");
  const auto bids = count_of(json, node, "bids");
  const NodeId buckets = json.find(node, "buckets");
  if (!offered || !ended || !failed || !bids || !json.is(buckets, Kind::kArray)) {
    return std::nullopt;
  }
  workload::RunBlock block{.offered = *offered, .ended = *ended, .failed = *failed, .bids = *bids};
  return read_buckets(json, buckets, block) ? std::optional(std::move(block)) : std::nullopt;
}

}  // namespace

base::Result<std::vector<workload::RunBlock>, std::string> parse_run(std::string_view text) {
  const openrtb::Padded padded(text);
  Document json(kNodesMax);
  if (!json.walk(padded.view())) {
    return std::unexpected(fmt::format("no JSON near byte {}", json.failed_at()));
  }
  const NodeId series = json.find(json.root(), "series");
  if (!json.is(series, Kind::kArray)) {
    return std::unexpected("has no \"series\": it is no file of spillway load --report");
  }
  std::vector<workload::RunBlock> blocks;
  size_t number = 0;
  for (const NodeId node : json.children(series)) {
    auto block = read_interval(json, node);
    if (!block) {
      return std::unexpected(fmt::format("series[{}] lacks a count or has a bad bucket", number));
    }
    ++number;
    if (block->offered > 0) {
      blocks.push_back(std::move(*block));
    }
  }
  if (blocks.size() < workload::kBlocksMin) {
    return std::unexpected(fmt::format(
        "{} interval(s) with requests are too few to tell its spread: run for {} s and more",
        blocks.size(), workload::kBlocksMin));
  }
  return blocks;
}

}  // namespace spillway::app
