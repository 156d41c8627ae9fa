#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/result.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"

namespace spillway::adapters {

/// One server as a registry knows it: who is a member and where, never how loaded it is (samples
/// have a channel of their own).
struct RegistryInstance {
  std::string id;      ///< Unique in its service; 1-64 of a-z A-Z 0-9 - _ . and :.
  std::string host{};  ///< An IPv4 or IPv6 literal, without brackets.
  uint16_t port = 0;
  uint16_t agent_port = 0;     ///< Of its agent-check; 0: it has none.
  std::string zone{};          ///< At most 64 bytes of the id's alphabet; may be empty.
  std::string server_class{};  ///< Likewise.

  friend bool operator==(const RegistryInstance&, const RegistryInstance&) = default;
};

inline constexpr size_t kMaxRegistryWord = 64;  ///< Bytes of an id, a zone, a class, a service.

/// Whether every field keeps its rule: what is unsound is never passed on (an id goes into commands
/// of HAProxy).
[[nodiscard]] bool is_sound(const RegistryInstance& instance);

/// {"id":...,"host":...,"port":...,"agent_port":...,"zone":...,"class":...}: the value that Redis
/// and etcd hold.
[[nodiscard]] std::string to_json(const RegistryInstance& instance);
/// Nothing when it is no such object or unsound. Unknown members are ignored.
[[nodiscard]] std::optional<RegistryInstance> instance_from_json(std::string_view json);

/// Why a call to the registry, or what it said, did not count.
enum class RegistryErrc : uint8_t {
  kUnreachable,  ///< No connection, or it ended.
  kTimeout,
  kStatus,     ///< The registry refused: an HTTP status, a Redis error.
  kMalformed,  ///< Not what its interface promises.
  kTooLarge,   ///< More than kMaxInstances, or more bytes than a client reads.
  kBusy,       ///< Our own guard or bounds said no.
};
inline constexpr size_t kRegistryErrors = 6;

/// Why a set that was read whole was held back.
enum class RegistryHold : uint8_t {
  kEmpty,   ///< No instance, where there were some.
  kShrunk,  ///< Less than half of those there were.
};
inline constexpr size_t kRegistryHolds = 2;

/// snake_case names, as in metrics.
[[nodiscard]] std::string_view to_string(RegistryErrc error);
[[nodiscard]] std::string_view to_string(RegistryHold hold);

struct RegistrySettings {
  std::string service = "spillway";  ///< The id's alphabet, 1-64 bytes.
  std::string zone{};                ///< Not empty: members are the instances of this zone only.
  /// An instance that is not kept alive for so long is gone. Larger: a dead server stays longer, a
  /// slow registry harms less. [2 s, 1 h]. Kept alive three times as often.
  base::Duration ttl = std::chrono::seconds(15);
  /// Between reads, where the registry does not tell of changes. [100 ms, 1 min].
  base::Duration poll = std::chrono::seconds(1);
  base::Duration timeout = std::chrono::seconds(2);  ///< Of one call. [50 ms, 30 s].
  /// An empty set, or one less than half as large as the set in force, is believed once so many
  /// reads in a row said the same or it has lasted so long, whichever is first. confirm_reads 1
  /// believes at once. A registry that lost everything gets its members back within ttl/3: wait
  /// longer than that. [1, 1 000], [0, 1 h].
  uint32_t confirm_reads = 10;
  base::Duration confirm_after = std::chrono::seconds(30);
};

inline constexpr size_t kMaxInstances = 4'095;  ///< What HAProxy's roundrobin can hold.

/// The set in force. Valid until the next call of its listener.
struct RegistryView {
  std::vector<RegistryInstance> instances{};  ///< In order of id, each once.
  uint64_t index = 0;       ///< The registry's own mark of the last change; 0: it has none.
  base::Instant read_at{};  ///< When it was last read whole, whether or not it was believed.
  bool known = false;       ///< Some set was ever believed.
};

class RegistryListener {
 public:
  /// The set in force is another one than before; on the reactor's thread, never inside watch().
  virtual void on_registry(const RegistryView& view) = 0;

 protected:
  ~RegistryListener() = default;
};

/// Single writer: the registry's thread.
struct RegistryCounters {
  base::Counter reads, registrations, renewals, withdrawals;  ///< That succeeded.
  base::Counter changes;                                      ///< The set in force changed.
  std::array<base::Counter, kRegistryErrors> read_errors;     ///< By RegistryErrc.
  std::array<base::Counter, kRegistryErrors> registration_errors;
  std::array<base::Counter, kRegistryHolds> held;  ///< Reads not believed, by RegistryHold.
  base::Counter lost;          ///< A registration that had gone (expired) and was made anew.
  base::Counter unsound;       ///< Entries left out: malformed, a second one of an id.
  base::Counter index_resets;  ///< The registry's index went backwards.
  base::Counter idle_wakes;    ///< Blocking reads that returned without a change.
};

/// Decides whether a set read from a registry replaces the one in force. A value; one thread.
class RegistryGate {
 public:
  RegistryGate(uint32_t confirm_reads, base::Duration confirm_after)
      : confirm_reads_(confirm_reads), confirm_after_(confirm_after) {}

  /// Nothing when a set of `next` members may replace one of `current`; `digest` tells sets apart.
  /// A set that needs no confirmation ends the wait of one that did.
  [[nodiscard]] std::optional<RegistryHold> judge(size_t current, size_t next, uint64_t digest,
                                                  base::Instant now);

 private:
  uint32_t confirm_reads_;
  base::Duration confirm_after_;
  uint64_t digest_ = 0;
  uint32_t seen_ = 0;
  bool waiting_ = false;  ///< Since since_ no set was plausible.
  base::Instant since_{};
};

/// A service's members in some registry, and this process's own membership. One thread: the
/// reactor's. Failures are counted and retried for ever with spread; the set in force survives
/// every outage. Memory: kMaxInstances instances twice.
///
/// Sources: Consul's HTTP API documentation, etcd's v3 JSON gateway, Redis's command reference.
class Registry {
 public:
  virtual ~Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Registers `instance` (sound) and keeps it alive until withdraw(): renewed each ttl/3,
  /// registered anew whenever the registry has forgotten it. Again with another instance of the
  /// same id: replaces it.
  void announce(RegistryInstance instance);

  /// Deregisters and forgets. Tried until it succeeds or a ttl has passed; then nothing is
  /// announced any more. See withdrawn().
  void withdraw();

  /// Reads from now on. `listener` outlives the registry or stop_watching() is called.
  void watch(RegistryListener& listener);
  void stop_watching();

  /// Until some set is believed, sets are judged as if so many members were in force: what a
  /// restarted reader finds in place is not thrown away for an empty answer.
  void expect(size_t members) { expected_ = members; }

  [[nodiscard]] const RegistryView& view() const { return view_; }

  /// Members of a set that waits to be confirmed; nothing when none does.
  [[nodiscard]] std::optional<size_t> held_size() const {
    return doubted_ ? std::optional<size_t>(held_size_) : std::nullopt;
  }

  /// The registry confirmed our membership, and that is younger than a ttl.
  [[nodiscard]] bool announced() const;

  /// Nothing is announced, and the registry was told so (or never knew).
  [[nodiscard]] bool withdrawn() const { return announcing_ == Announcing::kNothing; }

  /// Since the set was last read whole; nothing when it never was.
  [[nodiscard]] std::optional<base::Duration> age() const;

  /// The last error in words, "" when the last call of each kind succeeded.
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

  [[nodiscard]] const RegistryCounters& counters() const { return counters_; }

  /// "redis", "consul", "etcd", "static".
  [[nodiscard]] virtual std::string_view kind() const = 0;

 protected:
  enum class Announcing : uint8_t { kNothing, kWanted, kWithdrawing };

  Registry(net::Reactor& reactor, RegistrySettings settings);

  /// What an implementation does when told; each ends in one of the reports below, later or inside.
  virtual void begin_renew(const RegistryInstance& instance, bool first) = 0;
  virtual void begin_withdraw(const RegistryInstance& instance) = 0;
  /// `at_once`: do not wait for a change, the last set waits to be confirmed.
  virtual void begin_read(bool at_once) = 0;

  // Reports of the implementation.
  /// `was_lost`: it had to be made anew.
  void on_renewed(bool was_lost);
  void on_renew_failed(RegistryErrc error, std::string what);
  /// The registry does not know us: register at once, not at the next renewal.
  void on_lost();
  void on_withdrawn();
  /// A whole set; the next read begins after `pause`.
  void on_read(std::vector<RegistryInstance> instances, uint64_t index, base::Duration pause);
  void on_read_failed(RegistryErrc error, std::string what);

  /// Of a call that begins now.
  [[nodiscard]] base::Instant deadline();

  net::Reactor& reactor_;
  RegistrySettings settings_;
  RegistryCounters counters_;

 private:
  struct Wake final : net::Timer {
    Wake(Registry& own, void (Registry::*what)(base::Instant)) : registry(own), work(what) {}

    void on_timer(base::Instant now) override { (registry.*work)(now); }

    Registry& registry;
    void (Registry::*work)(base::Instant);
  };

  void renew(base::Instant now);
  void read(base::Instant now);
  void renew_in(base::Duration pause);
  [[nodiscard]] bool take(std::vector<RegistryInstance>&& instances, uint64_t index);
  /// Before try `failures`+1: half a poll, doubling up to 10 polls or a ttl, spread.
  [[nodiscard]] base::Duration backoff(uint32_t failures);

  RegistryListener* listener_ = nullptr;
  RegistryView view_;
  RegistryGate gate_;
  RegistryInstance instance_;
  Announcing announcing_ = Announcing::kNothing;
  bool registered_ = false;
  bool renewing_ = false;
  bool reading_ = false;
  bool again_ = false;  ///< Renew once more when the call under way has ended.
  base::Instant renewed_at_{};
  base::Instant withdraw_by_{};
  bool read_once_ = false;
  bool doubted_ = false;
  size_t held_size_ = 0;
  size_t expected_ = 0;
  uint32_t read_failures_ = 0;
  uint32_t renew_failures_ = 0;
  uint64_t spread_ = 0;
  std::string last_error_;
  Wake renew_timer_;
  Wake read_timer_;
};

/// Members written down: never read from anywhere, announce() and withdraw() do nothing.
/// `instances` are sound.
[[nodiscard]] std::unique_ptr<Registry> static_registry(net::Reactor& reactor,
                                                        std::vector<RegistryInstance> instances);

}  // namespace spillway::adapters
