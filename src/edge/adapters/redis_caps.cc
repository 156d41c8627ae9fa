#include "adapters/redis_caps.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapters/redis_client.h"
#include "adapters/redis_reply.h"
#include "base/assert.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "bidder/caps/keys.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"
#include "resilience/backoff.h"
#include "resilience/checker.h"
#include "resilience/problem.h"

namespace spillway::adapters {

namespace {

namespace caps = bidder::caps;

constexpr size_t kMostKeys = 4096;
constexpr base::Duration kRetryFirst = std::chrono::milliseconds(50);
constexpr base::Duration kRetryLast = std::chrono::seconds(2);

std::span<const std::string_view> views_of(const caps::Command& command,
                                           std::vector<std::string_view>& room) {
  room.assign(command.begin(), command.end());
  return room;
}

}  // namespace

std::vector<resilience::Problem> validate(const RedisCapsSettings& settings) {
  using namespace std::chrono_literals;
  resilience::Checker check;
  check.within("dedup", settings.dedup, 1min, 24h * 30);
  check.within("max_wins", settings.max_wins, 1, 10'000'000);
  check.within("in_flight", settings.in_flight, 1, 4'096);
  check.within("write_timeout", settings.write_timeout, 10ms, 60s);
  check.within("give_up_after", settings.give_up_after, 1s, settings.dedup / 2);
  return check.take();
}

struct RedisCaps::Body : RedisListener, net::Timer {
  /// One read under way; its place is used again.
  struct Read {
    uint64_t number = 0;  ///< Its place below, how often that was used above, the last bit set.
    bool live = false;
    RedisTicket ticket = 0;
    uint64_t tag = 0;
    CapListener* listener = nullptr;
    size_t keys = 0;
  };

  struct Win {
    caps::UserHash user;
    std::string exchange;
    std::string auction;
    std::string imp;
    std::vector<caps::CapKey> keys;
    int64_t unix_s = 0;
    base::Instant queued_at{};
    base::Instant not_before{};
    uint32_t attempts = 0;
    bool with_text = false;  ///< The server does not know the script.
  };

  Body(net::Reactor& own_reactor, RedisClient& own_client, const RedisCapsSettings& own_settings,
       uint64_t seed)
      : reactor(own_reactor), client(own_client), settings(own_settings), rng(seed) {}

  virtual ~Body() {
    for (const Read& each : reads) {
      if (each.live) {
        client.cancel(each.ticket);
      }
    }
    for (const auto& [number, ticket] : win_tickets) {
      client.cancel(ticket);
    }
  }

  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  base::Result<RedisTicket, RedisErrc> read(const caps::UserHash& user,
                                            std::span<const caps::CapKey> keys,
                                            base::Instant deadline, uint64_t tag,
                                            CapListener& listener);
  void on_redis(uint64_t tag, const RedisResult& result, RedisReply reply) override;
  [[nodiscard]] Read* find_read(uint64_t number);
  Read take_read(Read& read);
  void on_read(const Read& read, const RedisResult& result);
  void on_win(uint64_t number, const RedisResult& result, RedisReply reply);
  void on_timer(base::Instant now) override;
  void pump();
  bool send(uint64_t number, Win& win);
  void again(uint64_t number, Win& win);
  void finish(uint64_t number);

  net::Reactor& reactor;
  RedisClient& client;
  const RedisCapsSettings settings;
  RedisCapsCounters counters;
  base::Rng rng;
  caps::Command command;
  std::vector<std::string_view> views;
  std::vector<caps::CapCounts> counts;
  uint64_t next = 0;  ///< Numbers wins; even.
  std::vector<Read> reads;
  std::vector<uint32_t> free_reads;
  std::unordered_map<uint64_t, Win> wins;                 ///< All that wait or are under way.
  std::unordered_map<uint64_t, RedisTicket> win_tickets;  ///< Under way.
  std::deque<uint64_t> queue;                             ///< Those that wait, in order.
};

RedisCaps::RedisCaps(net::Reactor& reactor, RedisClient& client, const RedisCapsSettings& settings,
                     uint64_t seed)
    : body_(std::make_unique<Body>(reactor, client, settings, seed)) {}

RedisCaps::~RedisCaps() = default;

base::Result<RedisTicket, RedisErrc> RedisCaps::Body::read(const caps::UserHash& user,
                                                           std::span<const caps::CapKey> keys,
                                                           base::Instant deadline, uint64_t tag,
                                                           CapListener& listener) {
  SPILLWAY_ASSERT(!keys.empty() && keys.size() <= kMostKeys);
  counters.reads.add();
  caps::read_command(user, keys, command);
  if (free_reads.empty()) {
    free_reads.push_back(static_cast<uint32_t>(reads.size()));
    reads.push_back({.number = uint64_t{reads.size()} << 1 | 1});
  }
  Read& made = reads[free_reads.back()];
  const auto ticket =
      client.ask(RedisUse::kRead, views_of(command, views), deadline, made.number, *this);
  if (!ticket) {
    counters.read_failures.add();
    return std::unexpected(ticket.error());
  }
  free_reads.pop_back();
  made.live = true;
  made.ticket = *ticket;
  made.tag = tag;
  made.listener = &listener;
  made.keys = keys.size();
  return made.number;
}

RedisCaps::Body::Read* RedisCaps::Body::find_read(uint64_t number) {
  const size_t place = static_cast<uint32_t>(number) >> 1;
  const bool found = place < reads.size() && reads[place].live && reads[place].number == number;
  return found ? &reads[place] : nullptr;
}

RedisCaps::Body::Read RedisCaps::Body::take_read(Read& read) {
  const Read taken = read;
  read.live = false;
  read.number += uint64_t{1} << 32;
  free_reads.push_back(static_cast<uint32_t>(taken.number) >> 1);
  return taken;
}

void RedisCaps::Body::on_redis(uint64_t tag, const RedisResult& result, RedisReply reply) {
  if ((tag & 1) == 0) {
    on_win(tag, result, reply);
  } else if (Read* const found = find_read(tag); found != nullptr) {
    on_read(take_read(*found), result);
  }
}

void RedisCaps::Body::on_read(const Read& read, const RedisResult& result) {
  if (!result || result->type() != RedisType::kArray || result->size() != read.keys) {
    counters.read_failures.add();
    read.listener->on_counts(read.tag, std::nullopt);
    return;
  }
  counts.assign(read.keys, caps::CapCounts{});
  size_t i = 0;
  result->for_each([&](const RedisReply& field) {
    counters.unreadable.add(counts[i].parse(field.text()) ? 0 : 1);
    ++i;
  });
  read.listener->on_counts(read.tag, std::span<const caps::CapCounts>(counts));
}

bool RedisCaps::Body::send(uint64_t number, Win& win) {
  ++win.attempts;
  const caps::Command written = caps::win_command(
      win.user, {.exchange = win.exchange, .auction = win.auction, .imp = win.imp}, win.keys,
      win.unix_s, std::chrono::duration_cast<std::chrono::seconds>(settings.dedup).count(),
      win.with_text);
  const auto ticket = client.ask(RedisUse::kPrimary, views_of(written, views),
                                 reactor.now() + settings.write_timeout, number, *this);
  if (!ticket) {
    return false;
  }
  win_tickets.emplace(number, *ticket);
  return true;
}

/// Sends what waits, in order, as many at once as may be.
void RedisCaps::Body::pump() {
  const base::Instant now = reactor.now();
  for (size_t left = queue.size(); left > 0 && win_tickets.size() < settings.in_flight; --left) {
    const uint64_t number = queue.front();
    queue.pop_front();
    Win& win = wins.at(number);
    if (now - win.queued_at >= settings.give_up_after) {
      counters.wins_given_up.add();
      finish(number);
    } else if (now < win.not_before) {
      queue.push_back(number);
    } else if (!send(number, win)) {
      // Refused: the circuit is open, or it is busy. Nobody behind it fares better now.
      --win.attempts;
      queue.push_front(number);
      reactor.timers().arm(*this, now + resilience::Backoff::spread(kRetryFirst, rng));
      return;
    }
  }
  if (!queue.empty() && win_tickets.size() < settings.in_flight) {
    reactor.timers().arm(*this, now + kRetryFirst);
  }
}

void RedisCaps::Body::on_timer(base::Instant /*now*/) { pump(); }

void RedisCaps::Body::finish(uint64_t number) {
  wins.erase(number);
  counters.wins_waiting.set(wins.size());
}

void RedisCaps::Body::again(uint64_t number, Win& win) {
  counters.wins_retried.add();
  const base::Duration wait =
      std::min(kRetryFirst * (int64_t{1} << std::min(win.attempts, 10U)), kRetryLast);
  win.not_before = reactor.now() + resilience::Backoff::spread(wait, rng);
  queue.push_back(number);
}

void RedisCaps::Body::on_win(uint64_t number, const RedisResult& result, RedisReply reply) {
  win_tickets.erase(number);
  const auto found = wins.find(number);
  if (found == wins.end()) {
    return;
  }
  Win& win = found->second;
  if (result && result->type() == RedisType::kInteger) {
    (result->integer() == 1 ? counters.wins_written : counters.wins_known).add();
    finish(number);
  } else {
    // A server that was restarted knows no script: it gets the text, at once.
    const bool unknown = !result && result.error() == RedisErrc::kErrorReply &&
                         reply.text().starts_with("NOSCRIPT") && !win.with_text;
    win.with_text = unknown;
    again(number, win);
    win.not_before = unknown ? reactor.now() : win.not_before;
  }
  pump();
}

base::Result<RedisTicket, RedisErrc> RedisCaps::read(const caps::UserHash& user,
                                                     std::span<const caps::CapKey> keys,
                                                     base::Instant deadline, uint64_t tag,
                                                     CapListener& listener) {
  return body_->read(user, keys, deadline, tag, listener);
}

void RedisCaps::cancel(RedisTicket ticket) {
  if (Body::Read* const found = body_->find_read(ticket); found != nullptr) {
    body_->client.cancel(body_->take_read(*found).ticket);
  }
}

bool RedisCaps::write(const caps::UserHash& user, const caps::Impression& impression,
                      std::span<const caps::CapKey> keys, int64_t unix_s) {
  Body& body = *body_;
  if (keys.empty()) {
    return true;  // Nothing is counted for it.
  }
  if (body.wins.size() >= body.settings.max_wins) {
    body.counters.wins_refused.add();
    return false;
  }
  const uint64_t number = body.next += 2;
  body.wins.emplace(number, Body::Win{.user = user,
                                      .exchange = std::string(impression.exchange),
                                      .auction = std::string(impression.auction),
                                      .imp = std::string(impression.imp),
                                      .keys = {keys.begin(), keys.end()},
                                      .unix_s = unix_s,
                                      .queued_at = body.reactor.now()});
  body.queue.push_back(number);
  body.counters.wins_queued.add();
  body.counters.wins_waiting.set(body.wins.size());
  if (!body.armed()) {
    body.pump();
  }
  return true;
}

size_t RedisCaps::wins_waiting() const { return body_->wins.size(); }

const RedisCapsCounters& RedisCaps::counters() const { return body_->counters; }

}  // namespace spillway::adapters
