#include "e2e/http2_load.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

/// One connection of a caller, blocking.
class Connection {
 public:
  Connection(Fd socket, SSL_CTX* tls, const std::string& body, Http2Counts& counts)
      : socket_(std::move(socket)), body_(body), counts_(counts) {
    if (tls != nullptr) {
      tls_ = SSL_new(tls);
      SSL_set_fd(tls_, socket_.value());
    }
    nghttp2_session_callbacks* table = nullptr;
    nghttp2_session_callbacks_new(&table);
    nghttp2_session_callbacks_set_on_frame_send_callback(table, &on_sent);
    nghttp2_session_callbacks_set_on_frame_recv_callback(table, &on_frame);
    nghttp2_session_callbacks_set_on_header_callback(table, &on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(table, &on_close);
    nghttp2_session_client_new(&session_, table, this);
    nghttp2_session_callbacks_del(table);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }

  ~Connection() {
    nghttp2_session_del(session_);
    SSL_free(tls_);
  }

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// False when the server does not shake hands.
  bool open() {
    ++counts_.connections;
    if (tls_ == nullptr) {
      return true;
    }
    if (SSL_connect(tls_) != 1) {
      return false;
    }
    std::array<char, 256> name{};
    X509* const shown = SSL_get1_peer_certificate(tls_);
    X509_NAME_oneline(X509_get_subject_name(shown), name.data(), static_cast<int>(name.size()));
    X509_free(shown);
    counts_.subjects.insert(name.data());
    return true;
  }

  /// Whether another stream may be opened.
  [[nodiscard]] bool takes_streams() const {
    return !warned_ && nghttp2_session_check_request_allowed(session_) != 0;
  }

  [[nodiscard]] size_t open_streams() const { return open_.size(); }

  [[nodiscard]] uint64_t opened() const { return opened_; }

  void ask() {
    const std::array<nghttp2_nv, 5> lines{
        line(":method", "POST"), line(":scheme", "http"), line(":authority", "e2e"),
        line(":path", "/openrtb2/auction"), line("content-type", "application/json")};
    nghttp2_data_provider provider{.source = {.ptr = nullptr}, .read_callback = &read_body};
    nghttp2_submit_request(session_, nullptr, lines.data(), lines.size(), &provider, nullptr);
  }

  /// Sends what is due; false when the server has gone.
  bool send() {
    const uint8_t* bytes = nullptr;
    ssize_t size = 0;
    while ((size = nghttp2_session_mem_send(session_, &bytes)) > 0) {
      for (ssize_t sent = 0; sent < size;) {
        const auto left = static_cast<size_t>(size - sent);
        const ssize_t now =
            tls_ != nullptr
                ? SSL_write(tls_, bytes + sent, static_cast<int>(left))
                : TEMP_FAILURE_RETRY(::send(socket_.value(), bytes + sent, left, MSG_NOSIGNAL));
        if (now <= 0) {
          return false;
        }
        sent += now;
      }
    }
    return size == 0;
  }

  /// False at the end.
  bool receive() {
    std::array<uint8_t, 65536> bytes{};
    const ssize_t got =
        tls_ != nullptr
            ? SSL_read(tls_, bytes.data(), static_cast<int>(bytes.size()))
            : TEMP_FAILURE_RETRY(::recv(socket_.value(), bytes.data(), bytes.size(), 0));
    return got > 0 &&
           nghttp2_session_mem_recv(session_, bytes.data(), static_cast<size_t>(got)) >= 0;
  }

  /// The server has ended it.
  void ended() {
    counts_.unwarned += warned_ ? 0 : 1;
    if (last_taken_ != std::numeric_limits<int32_t>::max()) {
      counts_.unprocessed += static_cast<uint64_t>(
          std::ranges::count_if(open_, [&](int32_t id) { return id > last_taken_; }));
    }
  }

 private:
  static nghttp2_nv line(std::string_view name, std::string_view value) {
    const auto bytes = [](std::string_view text) {
      return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
  }

  static Connection& self(void* user) { return *static_cast<Connection*>(user); }

  // NOLINTNEXTLINE(readability-function-size): its parameters are nghttp2's
  static ssize_t read_body(nghttp2_session*, int32_t, uint8_t* into, size_t most, uint32_t* flags,
                           nghttp2_data_source*, void* user) {
    const std::string& body = self(user).body_;
    const size_t size = std::min(most, body.size());
    std::copy_n(body.data(), size, into);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Connection& own = self(user);
    if (frame->hd.type == NGHTTP2_HEADERS) {
      own.open_.insert(frame->hd.stream_id);
      ++own.opened_;
      ++own.counts_.opened;
    }
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Connection& own = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      own.last_taken_ = frame->goaway.last_stream_id;
      const bool takes_all = own.open_.empty() || *own.open_.rbegin() <= own.last_taken_;
      own.counts_.notices += !own.warned_ && takes_all ? 1 : 0;
      own.warned_ = true;
    }
    return 0;
  }

  // NOLINTNEXTLINE(readability-function-size): its parameters are nghttp2's
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* user) {
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string_view text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status" && !text.starts_with('1')) {
      self(user).answered_.insert(frame->hd.stream_id);
    }
    return 0;
  }

  static int on_close(nghttp2_session*, int32_t id, uint32_t error, void* user) {
    Connection& own = self(user);
    own.open_.erase(id);
    if (error != NGHTTP2_NO_ERROR) {
      ++own.counts_.reset;
    } else if (own.answered_.erase(id) != 0) {
      ++own.counts_.answered;
    }
    return 0;
  }

  Fd socket_;
  SSL* tls_ = nullptr;
  const std::string& body_;
  Http2Counts& counts_;
  nghttp2_session* session_ = nullptr;
  std::set<int32_t> open_;
  std::set<int32_t> answered_;
  uint64_t opened_ = 0;
  int32_t last_taken_ = std::numeric_limits<int32_t>::max();
  bool warned_ = false;
};

}  // namespace

Http2Load::Http2Load(Settings settings)
    : settings_(std::move(settings)), counts_(settings_.connections) {
  if (!settings_.ca_file.empty()) {
    constexpr std::array<unsigned char, 3> kH2{2, 'h', '2'};
    tls_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX_load_verify_file(tls_, settings_.ca_file.c_str());
    SSL_CTX_set_verify(tls_, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_alpn_protos(tls_, kH2.data(), kH2.size());
  }
  for (Http2Counts& counts : counts_) {
    threads_.emplace_back([this, &counts] { call(counts); });
  }
}

Http2Load::~Http2Load() {
  (void)end();
  SSL_CTX_free(tls_);
}

Http2Counts Http2Load::end() {
  ending_ = true;
  return wait();
}

Http2Counts Http2Load::wait() {
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  Http2Counts all;
  for (const Http2Counts& one : counts_) {
    all.connections += one.connections;
    all.opened += one.opened;
    all.answered += one.answered;
    all.reset += one.reset;
    all.unprocessed += one.unprocessed;
    all.unwarned += one.unwarned;
    all.notices += one.notices;
    all.subjects.insert(one.subjects.begin(), one.subjects.end());
  }
  return all;
}

void Http2Load::call(Http2Counts& counts) {
  while (!ending_) {
    Fd socket = connect_to(settings_.port, 10s);
    if (socket.value() < 0) {
      return;
    }
    Connection connection(std::move(socket), tls_, settings_.body, counts);
    bool alive = connection.open();
    uint64_t told = counts.answered;
    const auto goes_on = [&] {
      return !ending_ && connection.opened() < settings_.of_a_connection;
    };
    while (alive && (goes_on() || connection.open_streams() > 0)) {
      for (size_t i = connection.open_streams();
           i < settings_.streams && goes_on() && connection.takes_streams(); ++i) {
        connection.ask();
      }
      alive = connection.send() && connection.receive();
      answered_ += counts.answered - std::exchange(told, counts.answered);
    }
    if (!alive) {
      connection.ended();
    }
  }
}

}  // namespace spillway::e2e
