#include "app/model/oracle.h"

#include <cstddef>
#include <expected>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgboost/c_api.h>

#include "base/result.h"

namespace spillway::app {

struct Oracle::Booster {
  BoosterHandle handle = nullptr;

  Booster() = default;
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  ~Booster() { XGBoosterFree(handle); }
};

namespace {

// The library's last error without its stack trace.
std::unexpected<std::string> refusal() {
  const std::string whole = XGBGetLastError();
  return std::unexpected("libxgboost: " + whole.substr(0, whole.find('\n')));
}

}  // namespace

Oracle::Oracle(std::shared_ptr<Booster> booster) : booster_(std::move(booster)) {}

base::Result<Oracle, std::string> Oracle::load(std::string_view bytes) {
  auto booster = std::make_shared<Booster>();
  if (XGBoosterCreate(nullptr, 0, &booster->handle) != 0 ||
      XGBoosterSetParam(booster->handle, "nthread", "1") != 0 ||
      XGBoosterLoadModelFromBuffer(booster->handle, bytes.data(), bytes.size()) != 0) {
    return refusal();
  }
  return Oracle(std::move(booster));
}

base::Result<std::vector<double>, std::string> Oracle::predict(std::span<const float> rows,
                                                               size_t columns) const {
  const size_t count = columns == 0 ? 0 : rows.size() / columns;
  DMatrixHandle matrix = nullptr;
  if (XGDMatrixCreateFromMat(rows.data(), count, columns, std::numeric_limits<float>::quiet_NaN(),
                             &matrix) != 0) {
    return refusal();
  }
  constexpr const char* kConfig =
      R"({"type":0,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* answers = nullptr;
  const int status =
      XGBoosterPredictFromDMatrix(booster_->handle, matrix, kConfig, &shape, &dimensions, &answers);
  std::vector<double> out;
  if (status == 0) {
    out.assign(answers, answers + count);
  }
  XGDMatrixFree(matrix);
  if (status != 0) {
    return refusal();
  }
  return out;
}

base::Result<std::string, std::string> Oracle::json() const {
  bst_ulong size = 0;
  const char* bytes = nullptr;
  if (XGBoosterSaveModelToBuffer(booster_->handle, R"({"format":"json"})", &size, &bytes) != 0) {
    return refusal();
  }
  return std::string(bytes, size);
}

}  // namespace spillway::app
