// Lines of the log: what is in them, what never is, and what becomes of them when nobody reads.
#include "telemetry/request_log.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "config/config.h"
#include "core/utf8.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::telemetry {
namespace {

using namespace std::chrono_literals;

const Time noon{std::chrono::sys_days{std::chrono::year{2024} / 2 / 29} + 12h + 7ms};

// A file that a log is written to.
class File {
 public:
  File() : file_(std::tmpfile()) {}
  ~File() { std::fclose(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] int descriptor() const { return ::fileno(file_); }
  [[nodiscard]] std::string text() const {
    std::string read;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) read.push_back(static_cast<char>(c));
    return read;
  }

 private:
  std::FILE* file_;
};

LogEntry entry_at(Time at, std::string_view detail = "") {
  LogEntry entry;
  entry.at = at;
  entry.detail = detail;
  return entry;
}

// What a log makes of one entry.
std::string line_of(const LogEntry& entry) {
  const File file;
  {
    LogSink sink(file.descriptor());
    RequestLog(sink).add(entry);
  }
  return file.text();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return lines;
}

// Everything that an entry may say, in its order and its spelling: programs read this.
TEST(RequestLogTest, WritesAWholeEntry) {
  Key key;
  key.id = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd};
  key.scope = {0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32};
  const LogEntry entry{.at = noon,
                       .level = config::LogLevel::warning,
                       .method = "POST",
                       .path = "/v1/pay",
                       .route = "/v1/*",
                       .outcome = "refused",
                       .problem = "key-reused",
                       .status = 422,
                       .key = &key,
                       .fence = 7,
                       .time = 1'234'567ns,
                       .upstream_time = 1'000'000'000ns,
                       .cause = "reset",
                       .differs = "target, body",
                       .would = "replay",
                       .client = "2001:db8::1",
                       .agent = "shop/1 \"x\"",
                       .trace = "00-ab-cd-01",
                       .detail = "why",
                       .event_type = "payout.paid",
                       .object = "po_1"};
  EXPECT_EQ(line_of(entry),
            R"({"time":"2024-02-29T12:00:00.007Z","level":"warning","event":"request","method":"POST",)"
            R"("path":"/v1/pay","route":"/v1/*","status":422,"outcome":"refused","problem":"key-reused",)"
            R"("cause":"reset","differs":"target, body","would":"replay",)"
            R"("key":"0123456789ab","scope":"fedcba987654","fence":7,"ms":1.234,"upstream_ms":1000.000,)"
            R"("client":"2001:db8::1","agent":"shop/1 \"x\"","trace":"00-ab-cd-01","detail":"why",)"
            R"("event_type":"payout.paid","object":"po_1"})"
            "\n");
}

// What is not known is left out; a status and a time are always said.
TEST(RequestLogTest, LeavesOutWhatIsNotKnown) {
  LogEntry entry = entry_at(noon);
  entry.outcome = "malformed";
  entry.status = 400;
  entry.time = -5ns;
  EXPECT_EQ(line_of(entry), R"({"time":"2024-02-29T12:00:00.007Z","level":"info","event":"request","status":400,)"
                            R"("outcome":"malformed","ms":0.000})"
                            "\n");
}

// A client cannot make a line long by its User-Agent.
TEST(RequestLogTest, ShortensTheAgent) {
  const std::string agent(10'000, 'x');
  LogEntry entry = entry_at(noon);
  entry.agent = agent;
  EXPECT_EQ(boost::json::parse(line_of(entry)).at("agent").as_string().size(), agent_bytes_max);
}

// Of a key there are six bytes of its hash, and as many of its scope's. Neither its text nor its scope can be found in
// the line.
TEST(RequestLogTest, TellsNoKeyAndNoScope) {
  const Key key = *make_key("default", "Bearer canary-scope", "canary-key");
  LogEntry entry = entry_at(noon);
  entry.path = "/v1/x";
  entry.key = &key;
  const std::string line = line_of(entry);
  EXPECT_EQ(line.find("canary"), std::string::npos) << line;
  EXPECT_EQ(boost::json::parse(line).at("key").as_string().size(), 12U);
  EXPECT_EQ(boost::json::parse(line).at("scope").as_string().size(), 12U);
}

// Whatever bytes a client sends, one entry is one line of JSON in ASCII, and it says these characters and bytes.
TEST(RequestLogTest, EscapesWhateverComes) {
  std::string odd;
  for (int byte = 0; byte < 256; ++byte) odd.push_back(static_cast<char>(byte));
  odd += "\"}\n{\"level\":\"error\"}\r\n\xe2\x80\xa8\\u0000";
  LogEntry entry = entry_at(noon, odd);
  entry.method = odd;
  entry.path = odd;
  const std::string line = line_of(entry);
  ASSERT_EQ(line.find('\n'), line.size() - 1);
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    EXPECT_TRUE((byte >= 0x20 && byte < 0x7f) || c == '\n') << static_cast<int>(byte);
  }
  std::string expected;  // characters as themselves; a byte that is none, as the character of its number
  for (std::string_view rest = odd; !rest.empty();) {
    const std::size_t size = std::max<std::size_t>(core::utf8_character_size(rest), 1);
    const auto byte = static_cast<unsigned char>(rest.front());
    if (size > 1 || byte < 0x80) {
      expected.append(rest.substr(0, size));
    } else {
      expected.append({static_cast<char>(0xc0U | byte >> 6U), static_cast<char>(0x80U | (byte & 0x3fU))});
    }
    rest.remove_prefix(size);
  }
  const boost::json::value read = boost::json::parse(line);
  for (const char* name : {"method", "path", "detail"}) EXPECT_EQ(read.at(name).as_string(), expected) << name;
}

// Each line has its own time, also when many share a second and when the next one comes.
TEST(RequestLogTest, TellsEachTime) {
  const File file;
  {
    LogSink sink(file.descriptor());
    RequestLog log(sink);
    for (const Millis later : {0ms, 92ms, 992ms, 993ms, 60'000ms}) log.add(entry_at(noon + later));
  }
  std::vector<std::string> times;
  for (const std::string& line : lines_of(file.text())) {
    times.emplace_back(boost::json::parse(line).at("time").as_string());
  }
  const std::vector<std::string> expected{"2024-02-29T12:00:00.007Z", "2024-02-29T12:00:00.099Z",
                                          "2024-02-29T12:00:00.999Z", "2024-02-29T12:00:01.000Z",
                                          "2024-02-29T12:01:00.007Z"};
  EXPECT_EQ(times, expected);
}

// Lines are gathered: nothing is written before flush(), unless there is a lot.
TEST(RequestLogTest, GathersLines) {
  const File file;
  LogSink sink(file.descriptor());
  RequestLog log(sink);
  log.add(entry_at(noon));
  EXPECT_EQ(file.text(), "");
  log.flush();
  EXPECT_EQ(lines_of(file.text()).size(), 1U);
  const std::string detail(1'000, 'x');
  for (int i = 0; i < 50; ++i) log.add(entry_at(noon, detail));
  EXPECT_EQ(lines_of(file.text()).size(), 1U);
  for (int i = 0; i < 20; ++i) log.add(entry_at(noon, detail));
  EXPECT_GT(lines_of(file.text()).size(), 50U);
}

}  // namespace
}  // namespace semel::telemetry
