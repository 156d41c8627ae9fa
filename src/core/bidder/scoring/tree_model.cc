#include "bidder/scoring/tree_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.h"

namespace spillway::bidder {

namespace {

constexpr size_t kLanes = 8;

// Nodes in the order in which they are laid out, and how deep each is.
struct Layout {
  std::vector<uint32_t> order;
  std::vector<uint32_t> depths;
};

bool child_in(std::span<const TreeNode> nodes, int32_t child) {
  return child > 0 && static_cast<size_t>(child) < nodes.size();
}

// Appends both children of the node at `index`, unless they are none or have been seen.
bool append_children(std::span<const TreeNode> nodes, size_t place, std::vector<bool>& seen,
                     Layout& layout) {
  const TreeNode& node = nodes[layout.order[place]];
  for (const int32_t child : {node.left, node.right}) {
    if (!child_in(nodes, child) || seen[static_cast<size_t>(child)]) {
      return false;
    }
    seen[static_cast<size_t>(child)] = true;
    layout.order.push_back(static_cast<uint32_t>(child));
    layout.depths.push_back(layout.depths[place] + 1);
  }
  return true;
}

}  // namespace

float apply(Link link, float margin) {
  switch (link) {
    case Link::kLogistic:
      // Beyond this the exponential of a float is infinite.
      return 1.0F / (1.0F + std::exp(std::min(-margin, 88.7F)));
    case Link::kExp:
      return std::exp(margin);
    case Link::kIdentity:
      break;
  }
  return margin;
}

TreeModel::TreeModel(Link link, float base_margin, size_t features)
    : link_(link),
      base_margin_(base_margin),
      features_(features),
      largest_margin_(std::abs(static_cast<double>(base_margin))) {
  SPILLWAY_ASSERT(features <= kMaxFeatures && std::isfinite(base_margin));
}

bool TreeModel::add_tree(std::span<const TreeNode> nodes, Problem& problem) {
  const auto refuse = [&problem](TreeErrc error, size_t node) {
    problem = {error, node};
    return false;
  };
  if (nodes.empty()) {
    return refuse(TreeErrc::kEmpty, 0);
  }
  if (nodes.size() > kMaxNodes || trees_.size() >= kMaxTrees) {
    return refuse(TreeErrc::kTooLarge, 0);
  }
  Layout layout{.order = {0}, .depths = {0}};
  std::vector<bool> seen(nodes.size());
  std::vector<Node> laid_out;
  float largest_leaf = 0;
  for (size_t place = 0; place < layout.order.size(); ++place) {
    const uint32_t index = layout.order[place];
    const TreeNode& node = nodes[index];
    if (node.left < 0 && node.right < 0) {
      if (!std::isfinite(node.value)) {
        return refuse(TreeErrc::kNotFinite, index);
      }
      largest_leaf = std::max(largest_leaf, std::abs(node.value));
      laid_out.push_back({node.value, 0, 0});
      continue;
    }
    if (std::isnan(node.value)) {
      return refuse(TreeErrc::kNotFinite, index);
    }
    if (node.feature >= features_) {
      return refuse(TreeErrc::kBadFeature, index);
    }
    laid_out.push_back({node.value,
                        static_cast<uint16_t>(node.feature * 2 + (node.default_left ? 1U : 0U)),
                        static_cast<uint16_t>(layout.order.size())});
    if (!append_children(nodes, place, seen, layout)) {
      return refuse(TreeErrc::kBadChild, index);
    }
  }
  trees_.push_back({static_cast<uint32_t>(nodes_.size()), layout.depths.back()});
  nodes_.insert(nodes_.end(), laid_out.begin(), laid_out.end());
  largest_margin_ += static_cast<double>(largest_leaf);
  return true;
}

TreeModel TreeModel::over(std::span<const uint16_t> columns, size_t features) const {
  SPILLWAY_ASSERT(columns.size() == features_ && features <= kMaxFeatures);
  TreeModel moved = *this;
  moved.features_ = features;
  for (Node& node : moved.nodes_) {
    if (node.left != 0) {
      const uint16_t feature = columns[node.feature_and_default / 2U];
      SPILLWAY_ASSERT(feature < features);
      node.feature_and_default =
          static_cast<uint16_t>(feature * 2U + (node.feature_and_default & 1U));
    }
  }
  return moved;
}

void TreeModel::predict(std::span<const float* const> rows, std::span<float> out) const {
  SPILLWAY_ASSERT(rows.size() == out.size());
  std::ranges::fill(out, base_margin_);
  for (const Tree& tree : trees_) {
    size_t begin = 0;
    for (; begin + kLanes <= rows.size(); begin += kLanes) {
      descend<kLanes>(tree, rows.data() + begin, out.data() + begin);
    }
    for (; begin < rows.size(); ++begin) {
      descend<1>(tree, rows.data() + begin, out.data() + begin);
    }
  }
  if (link_ != Link::kIdentity) {
    for (float& value : out) {
      value = apply(link_, value);
    }
  }
}

template <size_t Lanes>
void TreeModel::descend(const Tree& tree, const float* const* rows, float* sums) const {
  const Node* const root = nodes_.data() + tree.root;
  std::array<uint32_t, Lanes> at{};
  for (uint32_t step = 0; step < tree.depth; ++step) {
    for (size_t lane = 0; lane < Lanes; ++lane) {
      const Node node = root[at[lane]];
      const float x = rows[lane][node.feature_and_default / 2U];
      // No branch: a missing value compares false both ways and goes by the default.
      const bool less = x < node.value;
      const bool not_less = x >= node.value;
      const bool missing_left = (node.feature_and_default & 1U) != 0;
      const uint32_t right = (less | (missing_left & !not_less)) ? 0 : 1;
      at[lane] = node.left == 0 ? at[lane] : node.left + right;
    }
  }
  for (size_t lane = 0; lane < Lanes; ++lane) {
    sums[lane] += root[at[lane]].value;
  }
}

}  // namespace spillway::bidder
