#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/counter.h"
#include "base/time.h"
#include "net/http_parser.h"
#include "net/reactor.h"
#include "net/stream.h"
#include "net/timer_wheel.h"
#include "workload/partner.h"

namespace spillway::app {

/// One connection to a fake DSP: reads requests one after the other and does with each what the
/// partner's plan says, misbehaviour included; that is why it writes bytes itself.
///
/// Owned by its FarmDsp on the reactor's thread. Once closed() it does nothing more. Memory: one
/// request (at most kRequestBytes) and one answer.
class FarmConnection final : private net::ReadySink, private net::Timer {
 public:
  static constexpr size_t kRequestBytes = size_t{1} << 20;

  /// Whose connection it is; all outlive it.
  struct Home {
    workload::Partner& partner;
    const std::string& host;  ///< The address called.
    base::Counter& calls;     ///< Whole requests read at that address.
  };

  FarmConnection(net::Reactor& reactor, net::Stream stream, Home home);
  ~FarmConnection();

  [[nodiscard]] bool closed() const { return stream_.fd() < 0; }

  /// Closes, which abandons a call in work; with `reset`, so that the caller sees a reset and not
  /// an end.
  void close(bool reset);

  /// Resets after reading what has been sent already: a whole request is one call more.
  void read_and_reset();

 private:
  enum class State : uint8_t { kHandshake, kReading, kWaiting, kWriting, kDripping, kHanging };

  void on_ready(uint32_t events) override;
  void on_timer(base::Instant now) override;

  void shake_hands();
  void read_some();
  void read_once();
  void parse();
  void on_request();
  void begin_answer();
  void write_some(size_t most);
  void finish_answer();

  net::Reactor& reactor_;
  Home home_;
  net::Stream stream_;
  State state_ = State::kHandshake;
  net::HttpParser parser_;
  std::vector<char> in_;  ///< `filled_` bytes read, and room for more with padding behind.
  size_t filled_ = 0;
  workload::Plan plan_;
  bool keep_alive_ = true;
  std::string out_;
  size_t written_ = 0;
};

}  // namespace spillway::app
