#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spillway::app {

/// A model as libxgboost itself runs it: what ours is measured by. One thread.
class Oracle {
 public:
  /// Of the bytes of a model that XGBoost saved; the error is the library's.
  [[nodiscard]] static base::Result<Oracle, std::string> load(std::string_view bytes);

  /// One answer a row; `rows` row by row, NaN where missing.
  [[nodiscard]] base::Result<std::vector<double>, std::string> predict(std::span<const float> rows,
                                                                       size_t columns) const;

  /// The model as JSON, whatever it was loaded from.
  [[nodiscard]] base::Result<std::string, std::string> json() const;

 private:
  struct Booster;

  explicit Oracle(std::shared_ptr<Booster> booster);

  std::shared_ptr<Booster> booster_;
};

}  // namespace spillway::app
