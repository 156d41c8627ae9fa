#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bidder/scoring/document.h"
#include "bidder/scoring/model_file.h"

namespace spillway::bidder {

/// Takes members out of a document and remembers the first thing that is wrong, with its path, so
/// that readers of a format are lists of what it has. After an error every answer is empty.
class DocumentReader {
 public:
  [[nodiscard]] bool ok() const { return !failed_; }

  [[nodiscard]] const ModelError& error() const { return error_; }

  /// Remembers the error unless there is one already. False, always.
  bool fail(ModelErrc code, std::string what);

  /// A member that must be there. `path` is the object's, "" for the root.
  const DocValue& object(const DocValue& of, std::string_view name, const std::string& path);
  const std::vector<DocValue>& list(const DocValue& of, std::string_view name,
                                    const std::string& path);
  const std::string& text(const DocValue& of, std::string_view name, const std::string& path);
  const std::vector<double>& numbers(const DocValue& of, std::string_view name,
                                     const std::string& path);
  double number(const DocValue& of, std::string_view name, const std::string& path);

  /// A number written as a string, as XGBoost writes its parameters.
  double number_text(const DocValue& of, std::string_view name, const std::string& path);

  /// A list of strings; empty when there is none.
  std::vector<std::string> texts(const DocValue& of, std::string_view name,
                                 const std::string& path);

  /// "a.b" of "a" and "b".
  [[nodiscard]] static std::string below(const std::string& path, std::string_view name);

 private:
  const DocValue& need(const DocValue& of, std::string_view name, const std::string& path,
                       DocValue::Kind kind);

  DocValue nothing_;  ///< The answer after an error.
  bool failed_ = false;
  ModelError error_;
};

}  // namespace spillway::bidder
