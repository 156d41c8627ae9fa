#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_result.h"
#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/client.h"
#include "net/gzip.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/timer_wheel.h"

namespace spillway::net {

class ClientConnection;
class ClientCore;
class ClientTarget;

/// One call under way. Its timer stands for whichever deadline comes next.
struct Call final : public Timer {
  explicit Call(ClientCore& owner) : core(owner) {}

  void on_timer(base::Instant now) override;
  /// The deadline of the phase the call is in.
  [[nodiscard]] base::Instant next_deadline() const;

  ClientCore& core;
  ClientTarget* target = nullptr;
  ClientConnection* connection = nullptr;  ///< Null while waiting for one.
  uint64_t id = 0;
  uint64_t tag = 0;
  CallListener* listener = nullptr;
  CallDeadlines deadlines;
  base::CallResult result;
  BufferRef request;  ///< Here while no connection has it.
  size_t request_size = 0;
  bool settled = false;  ///< Its on_answer is due at the end of this poll.
  bool answer_begun = false;
};

/// Lets other threads and deferred work reach a Client that may be gone.
struct ClientMail {
  std::mutex mutex;  ///< Guards `reactor` against the resolver's thread.
  Reactor* reactor = nullptr;
  ClientCore* core = nullptr;  ///< Reactor's thread only.
};

/// What the targets of one Client share.
class ClientCore {
 public:
  ClientCore(Reactor& reactor, ClientSettings settings);
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;
  ~ClientCore();

  Call& take_call();
  [[nodiscard]] Call* find(uint64_t id) const;
  void release(Call& call);

  /// Tells the listener, now or, inside call(), at the end of this poll; frees the call. Must be
  /// the last thing done: the listener may do anything but destroy the Client.
  void settle(Call& call, std::string_view body = {}, bool draining = false);

  void bury(std::unique_ptr<ClientConnection> connection);

  /// Resolves in the background; the target's resolved() with the same `round` runs on the
  /// reactor's thread, if Client and target still exist.
  void look_up(TargetId target, uint64_t round, const std::string& host, uint16_t port);

  class Scope {
   public:
    explicit Scope(ClientCore& core) : core_(core) { ++core_.depth_; }

    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    ~Scope() {
      if (--core_.depth_ == 0 && !core_.dead_.empty()) {
        core_.free_dead();
      }
    }

   private:
    ClientCore& core_;
  };

  Reactor& reactor;
  BufferPool buffers;
  BufferRef scratch;  ///< Every read that starts an answer goes here: it stays in the cache.
  std::vector<std::unique_ptr<ClientTarget>> targets;
  Inflater inflater;
  Deflater deflater;
  uint64_t seed;
  bool in_call = false;

 private:
  void free_dead();
  void settle_later(uint64_t id);
  void settle_deferred();

  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<uint32_t> free_calls_;
  std::vector<uint64_t> deferred_;
  std::vector<std::unique_ptr<ClientConnection>> dead_;
  std::shared_ptr<ClientMail> mail_;
  std::shared_ptr<NameLookup> names_;
  size_t depth_ = 0;
};

}  // namespace spillway::net
