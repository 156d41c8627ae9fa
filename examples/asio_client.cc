// Guards an asynchronous client on Boost.Asio: 400 calls to a service of this program that goes
// silent in the middle. Callbacks keep the permit with the call; the tail ends with the socket.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <resilience/guard.h>

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace resilience = spillway::resilience;
using Tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Error = boost::system::error_code;

constexpr auto kBudget = 50ms;

/// Answers each connection with one byte, unless told to be silent.
class Service {
 public:
  explicit Service(asio::io_context& io)
      : acceptor_(io, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    accept();
  }

  [[nodiscard]] Tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

  bool silent = false;

 private:
  void accept() {
    acceptor_.async_accept([this](Error error, Tcp::socket socket) {
      if (error) {
        return;
      }
      auto held = std::make_shared<Tcp::socket>(std::move(socket));
      if (!silent) {
        asio::async_write(*held, asio::buffer("!", 1), [held](Error, size_t) {});
      } else {  // held until the caller hangs up
        held->async_wait(Tcp::socket::wait_read, [held](Error) {});
      }
      accept();
    });
  }

  Tcp::acceptor acceptor_;
};

/// One guarded call. It keeps itself alive through its handlers.
struct Call : std::enable_shared_from_this<Call> {
  Call(asio::io_context& io, resilience::Permit given)
      : socket(io), deadline(io), permit(std::move(given)) {}

  void start(const Tcp::endpoint& to) {
    auto self = shared_from_this();
    deadline.expires_after(permit.terms().offered);
    deadline.async_wait([self](Error error) {
      if (!error) {
        const bool fair = self->permit && self->permit.terms().offered >= self->permit.terms().fair;
        self->settle(fair ? resilience::Outcome::kTimeout : resilience::Outcome::kShort);
      }
    });
    socket.async_connect(to, [self](Error error) {
      if (error) {
        self->settle(resilience::Outcome::kRefused);
        return;
      }
      asio::async_read(self->socket, asio::buffer(self->answer), [self](Error failed, size_t) {
        const bool slow = Clock::now() - self->started > self->permit.terms().slow_after;
        self->settle(failed ? resilience::Outcome::kReset
                     : slow ? resilience::Outcome::kSlow
                            : resilience::Outcome::kOk);
      });
    });
  }

  /// The first end counts; the others find the permit gone.
  void settle(resilience::Outcome outcome) {
    if (permit) {
      tail = permit.finish(Clock::now(), outcome);
      deadline.cancel();
      Error ignored;
      socket.close(ignored);
      tail = {};
    }
  }

  Tcp::socket socket;
  asio::steady_timer deadline;
  resilience::Permit permit;
  resilience::Tail tail;
  Clock::time_point started = Clock::now();
  std::array<char, 1> answer{};
};

/// Starts a call every 10 ms and ticks the registry every 100 ms.
class Caller {
 public:
  Caller(asio::io_context& io, Service& service) : io_(io), service_(service), timer_(io) {}

  void go_on() {
    if (count_ == 400) {
      io_.stop();
      return;
    }
    service_.silent = count_ >= 100;
    if (count_ % 10 == 0) {
      registry_.tick(Clock::now(), changes);
    }
    auto permit =
        guard_.admit(0, {.now = Clock::now(), .offered = kBudget, .request_hash = count_});
    ++count_;
    if (permit) {
      std::make_shared<Call>(io_, std::move(*permit))->start(service_.endpoint());
    } else {
      ++refused;
    }
    timer_.expires_after(10ms);
    timer_.async_wait([this](Error) { go_on(); });
  }

  std::vector<resilience::Transition> changes;
  uint64_t refused = 0;

 private:
  asio::io_context& io_;
  Service& service_;
  asio::steady_timer timer_;
  resilience::Registry registry_{1, 42};  // outlives every permit: io_ is stopped, calls die first
  resilience::Guard& guard_ = registry_.at("prices/local/quote", {}, Clock::now());
  uint64_t count_ = 0;
};

}  // namespace

int main() {
  // Calls live in the context's handlers and hold permits: the caller's registry must outlive it.
  std::unique_ptr<Caller> caller;
  asio::io_context io;
  Service service(io);
  caller = std::make_unique<Caller>(io, service);
  caller->go_on();
  io.run();
  std::printf("refused %llu of 400\n", static_cast<unsigned long long>(caller->refused));
  for (const auto& change : caller->changes) {
    std::printf("%s: %s\n", change.key.c_str(), change.reason.c_str());
  }
  return caller->refused > 0 ? 0 : 1;
}
