#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/settings.h"
#include "resilience/trip.h"
#include "resilience/window.h"

namespace spillway::resilience {

/// `dsp` of `dsp/eu/display`.
[[nodiscard]] std::string_view dependency_of(std::string_view key);
/// `dsp/eu` of `dsp/eu/display`: all before the last slash; the key itself when there is none.
[[nodiscard]] std::string_view region_of(std::string_view key);
/// Whether `key` is `node` or lies under it: `dsp/eu/display` is under `dsp` and `dsp/eu`.
[[nodiscard]] bool lies_under(std::string_view key, std::string_view node);

/// What each level says, by node: `dsp`, `dsp/eu`, `dsp/eu/display`.
using Patches = std::map<std::string, SettingsPatch, std::less<>>;

/// The settings of a leaf: `defaults`, then what the dependency, the region and the leaf say.
[[nodiscard]] Settings settings_of(std::string_view key, const Settings& defaults,
                                   const Patches& patches);

/// The parent of the leaves of one `dependency/region`. It trips on their pooled counts, by R1 or
/// R2, when at least two leaves have five calls in 10 s and 60 % of those leaves are half bad: one
/// bad leaf never opens its siblings, several half-proven ones do. Then every leaf under it opens,
/// in its own word and epoch, and comes back through its own probes; the first that does closes the
/// parent. So the call path never looks at a parent.
///
/// The registry's thread. Memory: about 500 bytes a leaf.
/// Source: shared notes on resilience 3.1.
class Region {
 public:
  Region(std::string key, base::Instant now);

  /// A new leaf; under an open parent it begins open.
  void add(Guard& leaf, std::vector<Transition>& out);

  /// A leaf is about to go.
  void remove(const Guard& leaf);

  [[nodiscard]] bool empty() const { return children_.empty(); }

  /// After the leaves' own ticks.
  void tick(base::Instant now, std::vector<Transition>& out);

  [[nodiscard]] const std::string& key() const { return key_; }

  [[nodiscard]] State state() const { return open_ ? State::kOpen : State::kClosed; }

  [[nodiscard]] uint32_t epoch() const { return epoch_; }

 private:
  struct Child {
    Guard* leaf = nullptr;
    Ring<10> window{std::chrono::seconds(1)};
  };

  void pool();
  void open(const Evidence& seen, std::string_view rule, std::vector<Transition>& out);
  void move_to(State state, std::string_view rule, std::string reason, const Evidence& seen,
               std::vector<Transition>& out);
  [[nodiscard]] bool most_leaves_are_bad() const;
  [[nodiscard]] bool recovered() const;

  std::string key_;
  base::Instant now_;
  bool open_ = false;
  uint32_t epoch_ = 1;
  std::string why_open_;
  Ring<10> fast_{std::chrono::milliseconds(200)};
  Ring<10> slow_{std::chrono::seconds(1)};
  BadRatioBaseline usual_;
  std::vector<Child> children_;
};

}  // namespace spillway::resilience
