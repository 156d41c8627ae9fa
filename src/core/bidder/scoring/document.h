#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bidder/scoring/model_file.h"

namespace spillway::bidder {

/// A value of a model's document, whichever encoding it came in. Arrays of numbers, which are most
/// of a model, are flat.
struct DocValue {
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kNumbers, kList, kObject };

  Kind kind = Kind::kNull;
  double number = 0;               ///< Of kNumber; of kBool 0 or 1.
  std::string text;                ///< Of kString.
  std::vector<double> numbers;     ///< Of kNumbers: also Booleans as 0 and 1, null as NaN; and [].
  std::vector<DocValue> items;     ///< Of kList, any other array; of kObject, by name.
  std::vector<std::string> names;  ///< Of kObject: one an item, all unlike.

  /// The member of that name; null when there is none.
  [[nodiscard]] const DocValue* find(std::string_view name) const;
};

inline constexpr size_t kMaxDocDepth = 32;
inline constexpr size_t kMaxDocMembers = 1024;      ///< Of one object.
inline constexpr size_t kMaxDocValues = 1'000'000;  ///< Numbers in flat arrays not counted.

/// Reads RFC 8259's JSON.
[[nodiscard]] base::Result<DocValue, ModelError> read_json(std::string_view bytes);

/// Reads UBJSON (draft 12) as XGBoost 1.7 writes it, containers with type and count included; no
/// high-precision numbers, and no typed container of values without bytes. Errors name the offset.
[[nodiscard]] base::Result<DocValue, ModelError> read_ubj(std::string_view bytes);

/// Tells the encodings apart by what follows the first brace, and reads.
[[nodiscard]] base::Result<DocValue, ModelError> read_document(std::string_view bytes);

}  // namespace spillway::bidder
