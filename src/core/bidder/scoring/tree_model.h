#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spillway::bidder {

/// How a margin (the sum of leaves or of weights) becomes the answer.
enum class Link : uint8_t {
  kIdentity,
  kLogistic,
  kExp,
};

/// The link applied to one margin, as XGBoost 1.7 does it. Never NaN for a margin that is not.
[[nodiscard]] float apply(Link link, float margin);

/// A node as files have it, checked by TreeModel::add_tree().
struct TreeNode {
  int32_t left = -1;   ///< Index into the tree; -1: a leaf.
  int32_t right = -1;  ///< The same.
  uint32_t feature = 0;
  float value = 0;            ///< Rows with feature < value go left; of a leaf: what it adds.
  bool default_left = false;  ///< Where rows without the feature (NaN) go.
};

enum class TreeErrc : uint8_t {
  kEmpty,       ///< No node.
  kTooLarge,    ///< More nodes than kMaxNodes, or trees than kMaxTrees.
  kBadChild,    ///< A child outside the tree, only one child, or a node reached twice.
  kBadFeature,  ///< A feature the model does not have.
  kNotFinite,   ///< A threshold that is NaN, or a leaf that is not finite.
};

/// Gradient-boosted regression trees over rows of floats. Nodes are laid out anew, breadth first,
/// eight bytes each, siblings side by side, so that a step down is an addition; the pruned ones are
/// dropped. Eight rows go down a tree together, which hides the latency of one. Sums are floats in
/// the order of the trees, as XGBoost's predictor has them, so that answers agree to the last bits.
///
/// Immutable once built, shared by all threads. Memory: 8 bytes a node. Cost: rows × trees × depth
/// steps of about 1 ns.
/// Source: Chen and Guestrin, "XGBoost: A Scalable Tree Boosting System", KDD 2016.
class TreeModel {
 public:
  static constexpr size_t kMaxNodes = 32'768;  ///< In one tree.
  static constexpr size_t kMaxTrees = 16'384;
  static constexpr size_t kMaxFeatures = 32'767;

  /// `base_margin` is what a row without trees sums to; finite. Requires features <= kMaxFeatures.
  TreeModel(Link link, float base_margin, size_t features);

  /// The room for why a tree is refused.
  struct Problem {
    TreeErrc error = TreeErrc::kEmpty;
    size_t node = 0;
  };

  /// Takes the tree whose root is node 0. False and `problem` when it is refused: nothing is taken.
  bool add_tree(std::span<const TreeNode> nodes, Problem& problem);

  /// The same trees over other rows: column c is feature columns[c] there. Requires one of
  /// `columns` for each of ours, all below `features`.
  [[nodiscard]] TreeModel over(std::span<const uint16_t> columns, size_t features) const;

  /// The answer for each row, a pointer to at least `features()` floats. NaN is missing; infinities
  /// compare as numbers do. Every answer is finite (Link::kLogistic: in [0, 1]) but for kExp. Does
  /// not allocate. Requires out.size() == rows.size().
  void predict(std::span<const float* const> rows, std::span<float> out) const;

  [[nodiscard]] size_t features() const { return features_; }

  [[nodiscard]] size_t trees() const { return trees_.size(); }

  [[nodiscard]] size_t nodes() const { return nodes_.size(); }

  /// The largest sum there can be, of absolute values: finite, or the model must not be used.
  [[nodiscard]] double largest_margin() const { return largest_margin_; }

 private:
  struct Node {
    float value;
    uint16_t feature_and_default;  ///< Feature × 2 + default_left.
    uint16_t left;                 ///< From the tree's root; 0: a leaf. The right one follows.
  };

  struct Tree {
    uint32_t root;
    uint32_t depth;
  };

  /// Adds what the tree says of `Lanes` rows to their sums.
  template <size_t Lanes>
  void descend(const Tree& tree, const float* const* rows, float* sums) const;

  Link link_;
  float base_margin_;
  size_t features_;
  double largest_margin_;
  std::vector<Node> nodes_;
  std::vector<Tree> trees_;
};

}  // namespace spillway::bidder
