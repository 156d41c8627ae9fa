// Guards a plain blocking client. Usage: guard_any_client [port]. Without one it asks a port of
// this machine where nobody listens: the guard opens, and what is asked then costs nothing.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <resilience/guard.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using spillway::resilience::Outcome;

/// The client you already have: connects and hangs up.
Outcome ask(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  close(fd);
  return connected ? Outcome::kOk : Outcome::kRefused;
}

/// A port that is taken and refuses connections as long as the program runs.
uint16_t deaf_port() {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at);
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.sin_port);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  namespace resilience = spillway::resilience;
  using Clock = std::chrono::steady_clock;
  const uint16_t port = argc > 1 ? static_cast<uint16_t>(std::atoi(argv[1])) : deaf_port();

  resilience::Registry registry(1, 42);  // one worker; the seed jitters waits
  resilience::Guard& guard = registry.at("prices/local/quote", {}, Clock::now());
  std::vector<resilience::Transition> changes;
  uint64_t asked = 0;
  uint64_t refused = 0;
  const auto start = Clock::now();
  for (auto next_tick = start; Clock::now() < start + 3s && refused < 100;) {
    std::this_thread::sleep_for(5ms);
    if (Clock::now() >= next_tick) {  // every 100 ms, by whatever timer you have
      registry.tick(Clock::now(), changes);
      next_tick += 100ms;
    }
    auto permit = guard.admit(0, {.now = Clock::now(), .offered = 300ms, .request_hash = asked});
    if (!permit) {
      ++refused;
      continue;
    }
    ++asked;
    const Outcome outcome = ask(port);
    permit->finish(Clock::now(), outcome);
  }

  std::printf("asked %llu, spared %llu\n", static_cast<unsigned long long>(asked),
              static_cast<unsigned long long>(refused));
  for (const auto& change : changes) {
    std::printf("%s is %.*s: %s\n", change.key.c_str(),
                static_cast<int>(to_string(change.to_state).size()),
                to_string(change.to_state).data(), change.reason.c_str());
  }
  return argc > 1 || refused > 0 ? 0 : 1;
}
