#include "app/load/metrics_page.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "app/config/url.h"
#include "base/call_result.h"
#include "base/result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/os_clock.h"
#include "net/reactor.h"

namespace spillway::app {

namespace {

constexpr base::Duration kPatience = std::chrono::seconds(2);

class Fetch final : private net::CallListener {
 public:
  base::Result<std::string, std::string> run(const HttpUrl& url) {
    const net::TargetId target = client_.add_target(
        {.name = "metrics", .host = url.host, .port = url.port, .answer_bytes = size_t{16} << 20});
    const base::Instant end = reactor_.refresh() + kPatience;
    client_.call(target, "GET", url.target, "", {},
                 {.connect_by = end, .first_byte_by = end, .answer_by = end}, 0, *this);
    reactor_.run();
    return answer_;
  }

 private:
  void on_answer(uint64_t /*tag*/, const base::CallResult& result, std::string_view body,
                 bool /*draining*/) override {
    if (result.error == base::CallError::kNone && result.status == 200) {
      answer_ = std::string(body);
    } else {
      answer_ =
          std::unexpected(result.status == 0 ? "cannot be reached"
                                             : fmt::format("no page (status {})", result.status));
    }
    reactor_.stop();
  }

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  net::Client client_{reactor_};
  base::Result<std::string, std::string> answer_ = std::unexpected("no answer");
};

}  // namespace

double sum_of_metric(std::string_view page, std::string_view family) {
  double sum = 0;
  while (!page.empty()) {
    std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(line.size() + 1, page.size()));
    if (!line.starts_with(family)) {
      continue;
    }
    line.remove_prefix(family.size());
    if (line.starts_with('{')) {
      // A label's value may hold anything, a brace too: the sample stands behind the last one.
      line.remove_prefix(line.rfind('}') == std::string_view::npos ? line.size()
                                                                   : line.rfind('}') + 1);
    }
    if (!line.starts_with(' ')) {
      continue;
    }
    line.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error == std::errc{} && std::isfinite(value)) {
      sum += value;
    }
  }
  return sum;
}

base::Result<std::string, std::string> fetch_page(const HttpUrl& url) { return Fetch().run(url); }

}  // namespace spillway::app
