#include "net/client.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/call_result.h"
#include "net/buffer_pool.h"
#include "net/client_core.h"
#include "net/client_target.h"
#include "net/gzip.h"
#include "net/http.h"
#include "net/reactor.h"

namespace spillway::net {
namespace {

/// Appends into a buffer known to be large enough.
class Appender {
 public:
  explicit Appender(char* to) : begin_(to), to_(to) {}

  void add(std::string_view text) {
    if (!text.empty()) {
      std::memcpy(to_, text.data(), text.size());
      to_ += text.size();
    }
  }

  void add(size_t number) { to_ = std::to_chars(to_, to_ + 20, number).ptr; }

  [[nodiscard]] size_t size() const { return static_cast<size_t>(to_ - begin_); }

 private:
  char* begin_;
  char* to_;
};

bool has_host(std::string_view headers) {
  while (!headers.empty()) {
    const bool may_be = headers.front() == 'H' || headers.front() == 'h';
    if (may_be && headers.size() > 5 && same_name(headers.substr(0, 5), "Host:")) {
      return true;
    }
    const size_t line_end = headers.find('\n');
    headers.remove_prefix(line_end == std::string_view::npos ? headers.size() : line_end + 1);
  }
  return false;
}

/// The body compressed, in `into`; empty when that gains nothing or there is no memory.
std::string_view pack(ClientCore& core, std::span<const std::string_view> body, size_t size,
                      BufferRef& into) {
  const size_t room = core.deflater.bound(size);
  into = core.buffers.take(size + room);
  if (!into) {
    return {};
  }
  Appender plain(into.data());
  for (const std::string_view piece : body) {
    plain.add(piece);
  }
  char* const to = into.data() + size;
  const size_t packed = core.deflater.compress({into.data(), size}, to, room);
  return packed < size ? std::string_view(to, packed) : std::string_view{};
}

}  // namespace

struct Client::Body {
  Body(Reactor& reactor, ClientSettings settings) : core(reactor, std::move(settings)) {}

  ClientCore core;
  TargetCounters none;  ///< What is said of a target removed.
};

Client::Client(Reactor& reactor, ClientSettings settings)
    : body_(std::make_unique<Body>(reactor, std::move(settings))) {}

Client::~Client() = default;

TargetId Client::add_target(TargetSettings settings) {
  const auto id = static_cast<TargetId>(body_->core.targets.size());
  body_->core.targets.push_back(
      std::make_unique<ClientTarget>(body_->core, id, std::move(settings)));
  return id;
}

void Client::change_target(TargetId target, TargetSettings settings) {
  const ClientCore::Scope scope(body_->core);
  if (auto& found = body_->core.targets[target]; found != nullptr) {
    found->change(std::move(settings));
  }
}

void Client::remove_target(TargetId target) {
  const ClientCore::Scope scope(body_->core);
  if (auto& found = body_->core.targets[target]; found != nullptr) {
    found->remove();
  }
}

// NOLINTNEXTLINE(readability-function-size): the parameters are the contract
uint64_t Client::call(TargetId target, std::string_view method, std::string_view path,
                      std::string_view extra_headers, std::span<const std::string_view> body,
                      const CallDeadlines& deadlines, uint64_t tag, CallListener& listener) {
  ClientCore& core = body_->core;
  const ClientCore::Scope scope(core);
  const bool outer = std::exchange(core.in_call, true);
  Call& call = core.take_call();
  const uint64_t id = call.id;
  call.tag = tag;
  call.listener = &listener;
  call.deadlines = deadlines;
  call.result.started_at = core.reactor.now();
  ClientTarget& place = *core.targets[target];
  call.target = &place;
  size_t body_size = 0;
  for (const std::string_view piece : body) {
    body_size += piece.size();
  }
  BufferRef packed;
  std::string_view coded;
  std::array<std::string_view, 1> coded_parts;
  if (place.settings.gzip && body_size >= kGzipFrom) {
    coded_parts[0] = coded = pack(core, body, body_size, packed);
    if (!coded.empty()) {
      body = coded_parts;
      body_size = coded.size();
    }
  }
  constexpr size_t kFraming = 128;
  call.request = core.buffers.take(method.size() + path.size() + place.host_line().size() +
                                   extra_headers.size() + body_size + kFraming);
  if (!call.request) {
    call.result.error = base::CallError::kNoBudget;
    core.settle(call);
    core.in_call = outer;
    return id;
  }
  Appender out(call.request.data());
  out.add(method);
  out.add(" ");
  out.add(path);
  out.add(" HTTP/1.1\r\n");
  if (!has_host(extra_headers)) {
    out.add(place.host_line());
  }
  out.add(extra_headers);
  if (!extra_headers.empty() && !extra_headers.ends_with('\n')) {
    out.add("\r\n");
  }
  if (place.settings.gzip) {
    out.add("Accept-Encoding: gzip\r\n");
  }
  if (!coded.empty()) {
    out.add("Content-Encoding: gzip\r\n");
  }
  if (body_size != 0 || method != "GET") {
    out.add("Content-Length: ");
    out.add(body_size);
    out.add("\r\n");
  }
  out.add("\r\n");
  for (const std::string_view piece : body) {
    out.add(piece);
  }
  call.request_size = out.size();
  core.reactor.timers().arm(call, call.next_deadline());
  place.start(call);
  core.in_call = outer;
  return id;
}

void Client::cancel(uint64_t call) {
  const ClientCore::Scope scope(body_->core);
  if (Call* const found = body_->core.find(call); found != nullptr && !found->settled) {
    found->target->expire(*found, base::CallError::kCancelled);
  }
}

const TargetCounters& Client::counters(TargetId target) const {
  const auto& found = body_->core.targets[target];
  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): it forgets the test for null
  return found != nullptr ? found->counters : body_->none;
}

size_t Client::addresses(TargetId target) const {
  const auto& found = body_->core.targets[target];
  return found != nullptr ? found->addresses() : 0;
}

Client::Pool Client::pool(TargetId target) const {
  const auto& found = body_->core.targets[target];
  return found != nullptr ? found->pool() : Pool{};
}

}  // namespace spillway::net
