#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <openssl/ssl.h>

namespace spillway::e2e {

/// What became of the requests of an Http2Load.
struct Http2Counts {
  uint64_t connections = 0;
  uint64_t opened = 0;             ///< Streams whose HEADERS were sent.
  uint64_t answered = 0;           ///< Whole, whatever its status: a bid or none.
  uint64_t reset = 0;              ///< By RST_STREAM.
  uint64_t unprocessed = 0;        ///< Over the last stream that a GOAWAY named.
  uint64_t unwarned = 0;           ///< Connections that ended before a GOAWAY, and not by us.
  uint64_t notices = 0;            ///< First GOAWAYs that took every stream opened so far.
  std::set<std::string> subjects;  ///< Of the certificates shown.
};

/// Callers over HTTP/2, each with as many auctions under way as it may have, that behave as RFC
/// 9113 6.8 asks: after a GOAWAY they open no stream there, wait for the answers, and connect
/// again. They end when told to, or when nobody listens any more.
class Http2Load {
 public:
  struct Settings {
    uint16_t port = 0;
    std::string body;
    std::string ca_file{};  ///< Empty: in cleartext.
    size_t connections = 4;
    size_t streams = 10;
    uint64_t of_a_connection = UINT64_MAX;  ///< Streams, before a caller connects anew.
  };

  explicit Http2Load(Settings settings);
  ~Http2Load();
  Http2Load(const Http2Load&) = delete;
  Http2Load& operator=(const Http2Load&) = delete;

  [[nodiscard]] uint64_t answered() const { return answered_.load(); }

  /// Lets them finish what they began; what they counted.
  Http2Counts end();

  /// Waits until nobody listens any more; what they counted.
  Http2Counts wait();

 private:
  void call(Http2Counts& counts);

  Settings settings_;
  SSL_CTX* tls_ = nullptr;
  std::atomic<bool> ending_{false};
  std::atomic<uint64_t> answered_{0};
  std::vector<Http2Counts> counts_;
  std::vector<std::thread> threads_;
};

}  // namespace spillway::e2e
