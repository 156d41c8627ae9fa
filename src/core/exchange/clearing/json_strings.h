#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace spillway::exchange::clearing {

/// A string value in JSON text, by where it stands.
struct JsonString {
  std::string_view object;  ///< The member that the object around it is the value of.
  std::string_view key;     ///< Its own, or that of the array around it.
  std::string_view raw;     ///< Without quotes, escapes as they are.
};

enum class JsonWalk : unsigned char { kNone, kFound, kBroken };

/// Reads one token after another, without memory of its own. At most 32 levels.
class JsonStrings {
 public:
  explicit JsonStrings(std::string_view text) : rest_(text) {}

  /// The next string value; kNone at the end, kBroken for what is no JSON or too deep. What stands
  /// between strings and brackets is not looked at.
  JsonWalk next(JsonString& out);

 private:
  struct Level {
    std::string_view key;  ///< The member it is the value of; in an array, the array's.
    bool is_object = false;
  };

  bool open(bool is_object);
  bool close(bool is_object);
  bool take_string(std::string_view& raw);
  [[nodiscard]] std::string_view object_key() const;

  std::string_view rest_;
  std::array<Level, 32> levels_{};
  size_t depth_ = 0;
  std::string_view key_;
  bool wants_key_ = false;
};

/// Decodes a raw JSON string into `out`; letters beyond ASCII that are escaped become '?'.
void unescape_json(std::string_view raw, std::string& out);

}  // namespace spillway::exchange::clearing
