#include "relay_floor/client.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/types.h>
#include <unistd.h>

#include "relay_floor/wire.h"

namespace spillway::relay_floor {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kSilence = std::chrono::seconds(10);

constexpr std::string_view kBody =
    R"({"id":"80ce30c53c16e6ede735f123ef6e32361bfc7b22","at":1,"tmax":1000,"cur":["USD"],)"
    R"("imp":[{"id":"1","secure":1,"bidfloor":0.25,"bidfloorcur":"USD","tagid":"top-of-article",)"
    R"("instl":0,"banner":{"w":300,"h":250,"pos":1,"battr":[13],"topframe":1,)"
    R"("format":[{"w":300,"h":250},{"w":300,"h":600}],"api":[3,5,6]}}],)"
    R"("site":{"id":"102855","name":"Morning Paper","domain":"news.example","cat":["IAB12","IAB3-1"],)"
    R"("page":"https://news.example/politics/2026/a-long-article-about-very-little.html",)"
    R"("ref":"https://search.example/?q=very+little","publisher":{"id":"8953","name":"Paper House",)"
    R"("domain":"news.example"},"content":{"language":"en","keywords":"politics,local,budget"}},)"
    R"("device":{"ua":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) )"
    R"(Chrome/126.0.0.0 Safari/537.36","ip":"198.51.100.0","language":"en","os":"Linux","js":1,)"
    R"("dnt":0,"lmt":0,"devicetype":2,"w":1920,"h":1080,"geo":{"country":"DEU","region":"BE",)"
    R"("city":"Berlin","lat":52.5,"lon":13.4,"type":2}},)"
    R"("user":{"id":"55816b39711f9b5acf3b90e313ed29e51665623f","buyeruid":"545678765467876567898765",)"
    R"("data":[{"id":"segments","name":"reader interests","segment":[{"id":"1201"},{"id":"3388"},)"
    R"({"id":"4410"}]}]},"bcat":["IAB25","IAB7-39","IAB8-18","IAB8-5","IAB9-9"],)"
    R"("badv":["casino.example","bets.example"],)"
    R"("source":{"fd":0,"tid":"c9a3f0b2-6d3d-4f87-a8f6-1b3d6ea0ad4c"},"regs":{"coppa":0}})";

class Driver {
 public:
  explicit Driver(const Load& load) : load_(load), links_(load.connections) {
    for (Link& link : links_) {
      link.fd = connect_to(load.port);
      require(link.fd >= 0, "the server under test does not listen");
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &link}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, link.fd, &event);
      idle_.push_back(&link);
    }
  }

  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  ~Driver() {
    for (const Link& link : links_) {
      ::close(link.fd);
    }
    ::close(epoll_);
  }

  LoadResult run() {
    const Clock::time_point start = Clock::now();
    heard_ = start;
    while (result_.answered + result_.failed < load_.auctions) {
      const Clock::time_point now = Clock::now();
      send_due(start, now);
      if (now - heard_ > kSilence) {
        break;
      }
      poll_until(sent_ < load_.auctions && !idle_.empty() ? due(start) : now + kSilence, now);
    }
    result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::move(result_);
  }

 private:
  struct Link {
    int fd = -1;
    size_t have = 0;
    std::array<char, 65536> bytes{};
  };

  [[nodiscard]] Clock::time_point due(Clock::time_point start) const {
    if (load_.rate_per_s <= 0) {
      return start;
    }
    const auto offset =
        std::chrono::duration<double>(static_cast<double>(sent_) / load_.rate_per_s);
    return start + std::chrono::duration_cast<Clock::duration>(offset);
  }

  void send_due(Clock::time_point start, Clock::time_point now) {
    for (; sent_ < load_.auctions && due(start) <= now; ++sent_) {
      if (idle_.empty()) {
        result_.delayed += load_.rate_per_s > 0 && std::exchange(counted_, sent_ + 1) <= sent_;
        return;
      }
      const int fd = idle_.front()->fd;
      idle_.pop_front();
      require(std::cmp_equal(::write(fd, request_.data(), request_.size()), request_.size()),
              "the server under test does not take a whole request");
    }
  }

  void poll_until(Clock::time_point until, Clock::time_point now) {
    const std::chrono::nanoseconds wait = std::max<std::chrono::nanoseconds>(until - now, {});
    const timespec limit{.tv_sec = wait.count() / 1'000'000'000,
                         .tv_nsec = wait.count() % 1'000'000'000};
    std::array<epoll_event, 64> events{};
    const int ready = ::epoll_pwait2(epoll_, events.data(), events.size(), &limit, nullptr);
    for (int i = 0; i < ready; ++i) {
      on_readable(*static_cast<Link*>(events[static_cast<size_t>(i)].data.ptr));
    }
  }

  void on_readable(Link& link) {
    const ssize_t got =
        ::read(link.fd, link.bytes.data() + link.have, link.bytes.size() - link.have);
    require(got > 0, "the server under test closed a connection");
    heard_ = Clock::now();
    link.have += static_cast<size_t>(got);
    const std::string_view answer(link.bytes.data(), link.have);
    if (message_bytes(answer) == 0) {
      return;
    }
    const bool good = answer.starts_with("HTTP/1.1 200 ");
    result_.answered += good ? 1 : 0;
    result_.failed += good ? 0 : 1;
    result_.answer_bytes += answer.size();
    result_.last_answer = answer;
    link.have = 0;
    idle_.push_back(&link);
  }

  Load load_;
  std::string request_ = auction_request();
  std::vector<Link> links_;
  std::deque<Link*> idle_;
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  size_t sent_ = 0;
  size_t counted_ = 0;  ///< Arrivals up to here were looked at for `delayed`.
  Clock::time_point heard_;
  LoadResult result_;
};

}  // namespace

std::string auction_request() {
  return fmt::format(
      "POST /openrtb2/auction HTTP/1.1\r\nHost: exchange.example\r\nContent-Type: "
      "application/json\r\nx-openrtb-version: 2.6\r\nContent-Length: {}\r\n\r\n{}",
      kBody.size(), kBody);
}

LoadResult drive(const Load& load) { return Driver(load).run(); }

}  // namespace spillway::relay_floor
