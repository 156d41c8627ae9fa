#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bidder/scoring/ab_split.h"
#include "bidder/scoring/cascade.h"
#include "bidder/scoring/model_file.h"

namespace spillway::bidder {

/// Names of model files for one goal; empty: the constant of ScoringSettings, or no second stage.
struct GoalFiles {
  std::string first;
  std::string then;
};

struct ArmSettings {
  GoalFiles click;
  GoalFiles action;
  uint32_t keep = 20;  ///< Candidates that reach the second stage; 1 to 1000.
};

/// Defaults, units and ranges of docs/configuration.md, `scoring`.
struct ScoringSettings {
  ArmSettings control;
  ArmSettings test;
  std::string seed = "1";
  double test_ratio = 0;         ///< Share of users who are scored by `test`; [0, 1].
  double click_ratio = 0.001;    ///< Probability of a click without a model; [0, 1].
  double action_ratio = 0.0001;  ///< Of an action.
};

[[nodiscard]] std::vector<std::string> validate(const ScoringSettings& settings);

/// Every file that the settings name, each once.
[[nodiscard]] std::vector<std::string> model_files(const ScoringSettings& settings);

/// All models that serve together, one immutable whole that is swapped as one.
class ModelSet {
 public:
  /// Bytes of the file with that name; nullopt when it cannot be read.
  using Read = std::function<std::optional<std::string>(const std::string& name)>;

  /// Loads and checks every file. On the first error nothing is built, and the caller keeps the
  /// set it has: `what` starts with the file's name.
  [[nodiscard]] static base::Result<std::unique_ptr<const ModelSet>, ModelError> build(
      const ScoringSettings& settings, const Read& read);

  [[nodiscard]] Arm arm_of(std::string_view user) const { return split_.arm_of(user); }

  [[nodiscard]] const Cascade& of(Arm arm) const { return arms_[static_cast<size_t>(arm)]; }

  /// A hash of everything that was loaded: two sets with one hash score alike.
  [[nodiscard]] uint64_t version() const { return version_; }

 private:
  ModelSet() = default;

  AbSplit split_;
  std::array<Cascade, kArms> arms_;
  uint64_t version_ = 0;
};

/// The set that serves, and what became of attempts to replace it. One thread owns it; it hands
/// out sets for the owner to publish.
class ModelReload {
 public:
  enum class Outcome : uint8_t { kTaken, kSame, kRefused };

  struct Answer {
    Outcome outcome = Outcome::kRefused;
    std::unique_ptr<const ModelSet> set;  ///< kTaken: to serve from now on.
    ModelError error;                     ///< kRefused.
  };

  /// Tries to replace the set that serves: a bad one is refused with its reason, and what served
  /// before goes on serving.
  [[nodiscard]] Answer offer(const ScoringSettings& settings, const ModelSet::Read& read);

  struct Counts {
    uint64_t taken = 0;
    uint64_t same = 0;
    std::array<uint64_t, kModelErrcs> refused{};
  };

  [[nodiscard]] const Counts& counts() const { return counts_; }

  /// Why the last offer was refused; empty when it was not.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  std::optional<uint64_t> version_;
  Counts counts_;
  std::string refusal_;
};

}  // namespace spillway::bidder
