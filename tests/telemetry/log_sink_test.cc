// Where lines go: whole ones only, in order, and without ever waiting for who reads them.
#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "telemetry/request_log.h"

namespace semel::telemetry {
namespace {

// A pipe, as standard output often is.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }

  // All that can be read without waiting.
  [[nodiscard]] std::string read_now() const {
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 65'536> some{};
    for (ssize_t size = 0; (size = ::read(ends_[0], some.data(), some.size())) > 0;) {
      text.append(some.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

constexpr std::size_t line_bytes = 100;

std::string numbered(std::size_t number) {
  std::string line = std::to_string(number);
  line.resize(line_bytes - 1, '.');
  line.push_back('\n');
  return line;
}

// What somebody reads gets there at once.
TEST(LogSinkTest, PassesOnWhatIsRead) {
  const Pipe pipe;
  LogSink sink(pipe.writer());
  sink.write("one\n");
  sink.write("two\n");
  EXPECT_EQ(pipe.read_now(), "one\ntwo\n");
  EXPECT_EQ(sink.lines_dropped(), 0U);
}

// Nobody reads: a megabyte is kept beside what the pipe holds, then lines are dropped, and counted. No call waits. What
// is read in the end is whole lines in their order, with none missing before the first that was dropped.
TEST(LogSinkTest, KeepsAMegabyteAndDropsWholeLines) {
  const Pipe pipe;
  constexpr std::size_t lines = 20'000;  // two megabytes
  LogSink sink(pipe.writer());
  for (std::size_t i = 0; i < lines; ++i) sink.write(numbered(i));
  const std::size_t dropped = sink.lines_dropped();
  EXPECT_GT(dropped, 0U);
  EXPECT_LT(dropped, lines);
  std::string text = pipe.read_now();
  for (int tries = 0; tries < 1'000; ++tries) {  // an empty write takes what is left a little further
    sink.write("");
    text += pipe.read_now();
  }
  ASSERT_EQ(text.size(), (lines - dropped) * line_bytes);
  EXPECT_GE(text.size(), 1U << 20U);
  EXPECT_LT(text.size(), (1U << 20U) + (1U << 17U));
  for (std::size_t i = 0; i < lines - dropped; ++i) {
    ASSERT_EQ(text.substr(i * line_bytes, line_bytes), numbered(i)) << i;
  }
  EXPECT_EQ(sink.lines_dropped(), dropped);
}

// There is room again once somebody has read.
TEST(LogSinkTest, GoesOnWhenItIsReadAgain) {
  const Pipe pipe;
  LogSink sink(pipe.writer());
  for (std::size_t i = 0; i < 20'000; ++i) sink.write(numbered(i));
  const std::size_t dropped = sink.lines_dropped();
  for (int tries = 0; tries < 1'000; ++tries) {
    sink.write("");
    static_cast<void>(pipe.read_now());
  }
  sink.write("the last\n");
  EXPECT_EQ(pipe.read_now(), "the last\n");
  EXPECT_EQ(sink.lines_dropped(), dropped);
}

// The end waits a little for who reads late: nothing of the backlog is lost then.
TEST(LogSinkTest, WaitsALittleAtTheEnd) {
  const Pipe pipe;
  std::string text;
  {
    LogSink sink(pipe.writer());
    for (std::size_t i = 0; i < 1'000; ++i) sink.write(numbered(i));
    ASSERT_EQ(sink.lines_dropped(), 0U);
    text = pipe.read_now();
    ASSERT_LT(text.size(), 1'000 * line_bytes);
  }
  text += pipe.read_now();
  EXPECT_EQ(text.size(), 1'000 * line_bytes);
}

// The reader is gone: writing goes on as if nothing had happened, since requests matter more than lines.
TEST(LogSinkTest, BearsAReaderThatIsGone) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  LogSink sink(pipe.writer());
  for (std::size_t i = 0; i < 20'000; ++i) sink.write(numbered(i));
  EXPECT_EQ(sink.lines_dropped(), 0U);
}

// Threads write at the same time: every line arrives once, and none is torn.
TEST(LogSinkTest, TearsNoLineAmongThreads) {
  const Pipe pipe;
  constexpr std::size_t each = 100;
  {
    LogSink sink(pipe.writer());
    std::array<std::jthread, 4> threads;
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
      threads.at(thread) = std::jthread([&sink, thread] {
        for (std::size_t i = 0; i < each; ++i) sink.write(numbered(thread * each + i));
      });
    }
  }
  const std::string text = pipe.read_now();
  ASSERT_EQ(text.size(), 4 * each * line_bytes);
  std::array<int, 4 * each> seen{};
  for (std::size_t at = 0; at < text.size(); at += line_bytes) {
    const std::size_t number = std::stoul(text.substr(at));
    ASSERT_EQ(text.substr(at, line_bytes), numbered(number));
    ++seen.at(number);
  }
  for (const int times : seen) EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace semel::telemetry
