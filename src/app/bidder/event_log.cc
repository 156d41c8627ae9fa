#include "app/bidder/event_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "app/config/config_file.h"
#include "base/decimal.h"
#include "bidder/scoring/ab_split.h"
#include "openrtb/document.h"
#include "openrtb/signed_query.h"

namespace spillway::app::bidding {
namespace {

// An event waits this long at most before it is looked for; the worker wakes nobody.
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr size_t kEventsAtOnce = 512;

void append_member(std::string& out, std::string_view name, std::string_view text) {
  out += ",\"";
  out += name;
  out += "\":";
  openrtb::append_json_string(out, text);
}

void append_member(std::string& out, std::string_view name, int64_t number) {
  out += ",\"";
  out += name;
  out += "\":";
  out += std::to_string(number);
}

}  // namespace

std::string_view to_string(BidEvent::Kind kind) {
  constexpr std::array<std::string_view, BidEvent::kKinds> kNames{"bid", "win", "billing", "loss"};
  return kNames.at(static_cast<size_t>(kind));
}

void append_event(std::string& out, const BidEvent& event) {
  out += R"({"event":")";
  out += to_string(event.kind);
  out += '"';
  append_member(out, "unix_ms", event.unix_ms);
  append_member(out, "arm", bidder::to_string(event.arm));
  append_member(out, "exchange", event.exchange.view());
  append_member(out, "request", event.request.view());
  append_member(out, "imp", event.imp.view());
  out += R"(,"bid":")";
  openrtb::append_hex(out, event.bid);
  out += '"';
  append_member(out, "campaign", event.campaign);
  if (event.line_item != 0) {
    append_member(out, "line_item", event.line_item);
  }
  append_member(out, "creative", event.creative);
  out += R"(,"price_cpm":)";
  base::append_micros(out, event.price.micros);
  append_member(out, "currency", event.currency.view());
  if (event.loss >= 0) {
    append_member(out, "loss", event.loss);
  }
  if (!event.end.empty()) {
    append_member(out, "end", event.end);
  }
  out += "}\n";
}

EventLog::EventLog(const EventSettings& settings, uint32_t workers) : path_(settings.file) {
  if (path_.empty()) {
    return;
  }
  if (!open()) {
    error_ = fmt::format("cannot open {}: {}", path_, std::generic_category().message(errno));
    return;
  }
  for (uint32_t worker = 0; worker < workers; ++worker) {
    lanes_.push_back(std::make_unique<Lane>(settings.queue));
  }
  thread_ = std::thread([this] { run(); });
}

EventLog::~EventLog() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  if (file_ >= 0) {
    ::close(file_);
  }
}

// Not to wait: a pipe that nobody reads must not hold us up at the end.
bool EventLog::open() {
  const int file =
      ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (file < 0) {
    return false;
  }
  if (file_ >= 0) {
    ::close(file_);
  }
  file_ = file;
  torn_ = ends_within_a_line(path_);
  return true;
}

void EventLog::offer(uint32_t worker, const BidEvent& event) {
  if (lanes_.empty()) {
    return;
  }
  Lane& lane = *lanes_[worker];
  if (!lane.ring.push(BidEvent(event))) {
    lane.dropped.add();
  }
}

uint64_t EventLog::dropped() const {
  uint64_t sum = 0;
  for (const auto& lane : lanes_) {
    sum += lane->dropped.value();
  }
  return sum;
}

void EventLog::run() {
  // A pipe whose reader has gone is an error like any other.
  sigset_t pipe{};
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  while (true) {
    while (write_some()) {
    }
    std::unique_lock lock(mutex_);
    if (stopping_) {
      lock.unlock();
      while (write_some()) {
      }
      return;
    }
    wake_.wait_for(lock, kLook, [this] { return stopping_; });
  }
}

// Whether there was anything.
bool EventLog::write_some() {
  buffer_.clear();
  for (const auto& lane : lanes_) {
    for (size_t i = 0; i < kEventsAtOnce; ++i) {
      const auto event = lane->ring.pop();
      if (!event) {
        break;
      }
      append_event(buffer_, *event);
    }
  }
  if (buffer_.empty()) {
    return false;
  }
  if (reopen_.exchange(false, std::memory_order_relaxed)) {
    (void)open();  // else on with the old one
  }
  const auto lines = [](std::string_view text) {
    return static_cast<uint64_t>(std::ranges::count(text, '\n'));
  };
  const bool may_begin = !torn_ || write("\n").empty();
  const uint64_t lost = lines(may_begin ? write(buffer_) : buffer_);
  written_.add(lines(buffer_) - lost);
  lost_.add(lost);
  return true;
}

// What could not be written.
std::string_view EventLog::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file_, text.data(), text.size());
    if (count > 0) {
      torn_ = text[static_cast<size_t>(count) - 1] != '\n';
      text.remove_prefix(static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      break;
    }
  }
  return text;
}

}  // namespace spillway::app::bidding
