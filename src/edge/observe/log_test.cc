#include "observe/log.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

namespace spillway::observe {
namespace {

/// A pipe that is read whole when the writer's end is closed.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }

  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  ~Pipe() {
    ::close(ends_[0]);
    close_writer();
  }

  [[nodiscard]] int writer() const { return ends_[1]; }

  void close_writer() {
    if (ends_[1] >= 0) {
      ::close(ends_[1]);
      ends_[1] = -1;
    }
  }

  /// Lines until the writer's end is closed.
  std::vector<std::string> lines() {
    std::string all;
    std::array<char, 65536> part{};
    for (ssize_t got = 0; (got = ::read(ends_[0], part.data(), part.size())) > 0;) {
      all.append(part.data(), static_cast<size_t>(got));
    }
    std::vector<std::string> out;
    std::istringstream stream(all);
    for (std::string line; std::getline(stream, line);) {
      out.push_back(line);
    }
    return out;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST(Log, WritesOneLineAnEventWithTimeAndLevel) {
  Pipe pipe;
  {
    Log log(Level::kInfo, pipe.writer(), 16);
    log.event(Level::kDebug, "event=unseen");
    log.event(Level::kInfo, "event=started port={}", 80);
    log.event(Level::kWarn, "event=slow dsp={}", quoted("a b"));
    log.write(Level::kError, "event=torn\nline");
  }
  pipe.close_writer();
  const auto lines = pipe.lines();
  ASSERT_EQ(lines.size(), 3U);
  const std::regex form(
      R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARN|ERROR) (event=.*))");
  std::vector<std::string> events;
  for (const auto& line : lines) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, form)) << line;
    events.push_back(match[1].str() + " " + match[2].str());
  }
  EXPECT_EQ(events,
            (std::vector<std::string>{"INFO event=started port=80", "WARN event=slow dsp=\"a b\"",
                                      "ERROR event=torn line"}));
}

TEST(Log, AFullQueueDropsAndCountsAndNobodyWaits) {
  constexpr size_t kQueue = 64;
  constexpr size_t kEvents = 2000;  // of 1 KiB: far more than pipe and queue hold
  Pipe pipe;
  std::optional<Log> log(std::in_place, Level::kInfo, pipe.writer(), kQueue);
  const std::string filler(1024, 'x');
  for (size_t i = 0; i < kEvents; ++i) {
    log->event(Level::kInfo, "event=burst n={} filler={}", i, filler);  // nobody reads the pipe
  }
  const uint64_t dropped = log->dropped();
  EXPECT_GT(dropped, kEvents / 2);

  std::vector<std::string> lines;
  std::jthread reader([&] { lines = pipe.lines(); });
  log.reset();
  pipe.close_writer();
  reader.join();
  EXPECT_EQ(lines.size() + dropped, kEvents);
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines.back().find("n=1999 "), std::string::npos) << "the newest are kept";
}

TEST(Log, ADescriptorThatRefusesIsCountedToo) {
  const int read_only = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    Log log(Level::kInfo, read_only, 16);
    log.event(Level::kInfo, "event=lost");
    while (log.dropped() == 0) {  // CTest's limit of time is this loop's
      std::this_thread::yield();
    }
    EXPECT_EQ(log.dropped(), 1U);
  }  // The log's thread writes until it has ended.
  ::close(read_only);
}

TEST(Log, AnOverlongEventIsCutAndSaysSo) {
  Pipe pipe;
  {
    Log log(Level::kInfo, pipe.writer(), 16);
    log.write(Level::kInfo, std::string(3 * Log::kLineBytes, 'y'));
  }
  pipe.close_writer();
  const auto lines = pipe.lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].ends_with("y cut=true"));
  EXPECT_LT(lines[0].size(), Log::kLineBytes + 64);
}

TEST(Log, QuotesValuesThatNeedIt) {
  EXPECT_EQ(quoted("dsp/eu/display"), "dsp/eu/display");
  EXPECT_EQ(quoted("größe"), "größe");
  EXPECT_EQ(quoted(""), "\"\"");
  EXPECT_EQ(quoted("a b"), "\"a b\"");
  EXPECT_EQ(quoted("a=b"), "\"a=b\"");
  EXPECT_EQ(quoted("say \"hi\" \\"), R"("say \"hi\" \\")");
  EXPECT_EQ(quoted("two\nlines\t\x01\x7f"), R"("two\nlines\t\x01\x7f")");
}

}  // namespace
}  // namespace spillway::observe
