#include "bidder/scoring/model_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "bidder/scoring/cascade.h"
#include "bidder/scoring/model.h"
#include "bidder/scoring/model_file.h"

namespace spillway::bidder {

namespace {

constexpr uint32_t kKeepMax = 1000;

void check_arm(const ArmSettings& arm, const std::string& key, std::vector<std::string>& out) {
  if (arm.keep < 1 || arm.keep > kKeepMax) {
    out.push_back(key + ".keep: must be 1 to 1000");
  }
  for (const auto& [goal, files] : {std::pair("click", &arm.click), {"action", &arm.action}}) {
    if (files->first.empty() && !files->then.empty()) {
      out.push_back(key + "." + goal + ".then: needs a first stage");
    }
  }
}

/// Loads files by name and folds what was loaded into one hash.
class Loader {
 public:
  explicit Loader(const ModelSet::Read& read) : read_(read) {}

  GoalModels goal(const GoalFiles& files, double without) {
    GoalModels models;
    models.first = files.first.empty()
                       ? Model("constant", ConstantModel{static_cast<float>(without)})
                       : load(files.first);
    fold(base::hash64(std::to_string(without)));
    fold(files.then.empty() ? 0 : 1);
    if (!files.then.empty()) {
      models.then = load(files.then);
    }
    return models;
  }

  Cascade arm(const ArmSettings& settings, const ScoringSettings& all) {
    auto click = goal(settings.click, all.click_ratio);
    auto action = goal(settings.action, all.action_ratio);
    fold(settings.keep);
    return {std::move(click), std::move(action), settings.keep};
  }

  void fold(uint64_t hash) { version_ = base::combine64(version_, hash); }

  [[nodiscard]] const std::optional<ModelError>& error() const { return error_; }

  [[nodiscard]] uint64_t version() const { return version_; }

 private:
  Model load(const std::string& name) {
    if (error_) {
      return {};
    }
    const auto bytes = read_(name);
    if (!bytes) {
      error_ = ModelError{ModelErrc::kMissing, name + ": cannot be read"};
      return {};
    }
    fold(base::hash64(*bytes));
    auto model = load_model(*bytes);
    if (!model) {
      error_ = ModelError{model.error().code, name + ": " + model.error().what};
      return {};
    }
    return std::move(*model);
  }

  const ModelSet::Read& read_;
  uint64_t version_ = 0;
  std::optional<ModelError> error_;
};

}  // namespace

std::vector<std::string> validate(const ScoringSettings& settings) {
  std::vector<std::string> out;
  check_arm(settings.control, "scoring.control", out);
  check_arm(settings.test, "scoring.test", out);
  for (const auto& [key, ratio] : {std::pair("test_ratio", settings.test_ratio),
                                   std::pair("click_ratio", settings.click_ratio),
                                   std::pair("action_ratio", settings.action_ratio)}) {
    if (!(ratio >= 0 && ratio <= 1)) {
      out.push_back(std::string("scoring.") + key + ": must be 0 to 1");
    }
  }
  return out;
}

std::vector<std::string> model_files(const ScoringSettings& settings) {
  std::vector<std::string> out;
  for (const GoalFiles* files : {&settings.control.click, &settings.control.action,
                                 &settings.test.click, &settings.test.action}) {
    out.push_back(files->first);
    out.push_back(files->then);
  }
  std::ranges::sort(out);
  const auto same = std::ranges::unique(out);
  out.erase(same.begin(), same.end());
  std::erase(out, "");
  return out;
}

base::Result<std::unique_ptr<const ModelSet>, ModelError> ModelSet::build(
    const ScoringSettings& settings, const Read& read) {
  Loader loader(read);
  std::unique_ptr<ModelSet> set(new ModelSet);
  set->split_ = {.seed = settings.seed, .test_ratio = settings.test_ratio};
  loader.fold(base::hash64(settings.seed));
  loader.fold(base::hash64(std::to_string(settings.test_ratio)));
  set->arms_ = {loader.arm(settings.control, settings), loader.arm(settings.test, settings)};
  if (loader.error()) {
    return std::unexpected(*loader.error());
  }
  set->version_ = loader.version();
  return set;
}

ModelReload::Answer ModelReload::offer(const ScoringSettings& settings,
                                       const ModelSet::Read& read) {
  auto built = ModelSet::build(settings, read);
  refusal_.clear();
  if (!built) {
    ++counts_.refused[static_cast<size_t>(built.error().code)];
    refusal_ = built.error().what;
    return {Outcome::kRefused, nullptr, std::move(built.error())};
  }
  if (version_ == (*built)->version()) {
    ++counts_.same;
    return {Outcome::kSame, nullptr, {}};
  }
  version_ = (*built)->version();
  ++counts_.taken;
  return {Outcome::kTaken, std::move(*built), {}};
}

}  // namespace spillway::bidder
