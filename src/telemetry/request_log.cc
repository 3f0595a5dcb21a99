// Written by hand where a format string would do: every request makes a line.
#include "telemetry/request_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>

#include <sys/poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "config/config.h"
#include "core/eight_bytes.h"
#include <semel/clock.h>

namespace semel::telemetry {
namespace {

constexpr std::size_t backlog_bytes_max = 1U << 20U;
constexpr int last_tries = 10;
constexpr int last_try_ms = 100;

constexpr std::size_t flush_from_bytes = 65'536;
constexpr std::size_t key_bytes_shown = 6;

std::string_view name(config::LogLevel level) {
  switch (level) {
    case config::LogLevel::error:
      return "error";
    case config::LogLevel::warning:
      return "warning";
    case config::LogLevel::info:
      return "info";
    case config::LogLevel::debug:
      break;
  }
  return "debug";
}

void text(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out.append(",\"").append(name).append("\":\"");
  append_json_escaped(out, value);
  out.push_back('"');
}

void append_number(std::string& out, std::uint64_t value) {
  std::array<char, 20> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

// Three digits, whatever the value.
void append_thousandths(std::string& out, std::uint64_t value) {
  if (value < 100) out.push_back('0');
  if (value < 10) out.push_back('0');
  append_number(out, value);
}

void append_hex(std::string& out, std::uint8_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  const unsigned number = value;
  out.push_back(digits[number >> 4U]);
  out.push_back(digits[number & 0xfU]);
}

void number(std::string& out, std::string_view name, std::uint64_t value) {
  out.append(",\"").append(name).append("\":");
  append_number(out, value);
}

void milliseconds(std::string& out, std::string_view name, std::chrono::nanoseconds time) {
  const auto micros = static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()) / 1000);
  number(out, name, micros / 1000);
  out.push_back('.');
  append_thousandths(out, micros % 1000);
}

// A file never makes us wait; of a pipe or a socket that has room at all, this much is free.
std::size_t bytes_without_waiting(int file_descriptor) {
  struct stat about{};
  const bool file = ::fstat(file_descriptor, &about) == 0 && S_ISREG(about.st_mode);
  return file ? std::string_view::npos : PIPE_BUF;
}

}  // namespace

LogSink::LogSink(int file_descriptor)
    : file_descriptor_(file_descriptor), bytes_at_once_(bytes_without_waiting(file_descriptor)) {}

LogSink::~LogSink() {
  for (int tries = 0; !backlog_.empty() && tries < last_tries; ++tries) {
    pollfd ready{.fd = file_descriptor_, .events = POLLOUT, .revents = 0};
    ::poll(&ready, 1, last_try_ms);
    backlog_.erase(0, take(backlog_));
  }
}

void LogSink::write(std::string_view lines) {
  const std::scoped_lock lock(mutex_);
  if (!backlog_.empty()) backlog_.erase(0, take(backlog_));
  if (backlog_.empty()) lines.remove_prefix(take(lines));
  if (backlog_.size() + lines.size() <= backlog_bytes_max) {
    backlog_.append(lines);
  } else {
    lines_dropped_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(lines, '\n')), std::memory_order_relaxed);
  }
}

// How many bytes are taken now.
std::size_t LogSink::take(std::string_view text) const {
  std::size_t taken = 0;
  while (taken < text.size()) {
    pollfd ready{.fd = file_descriptor_, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) == 0) return taken;
    const std::string_view next = text.substr(taken, bytes_at_once_);
    const ssize_t size = ::write(file_descriptor_, next.data(), next.size());
    if (size <= 0) return text.size();  // there is nobody to read it, and that must not stop the requests
    taken += static_cast<std::size_t>(size);
  }
  return taken;
}

void append_json_escaped(std::string& out, std::string_view text) {
  const bool plain = !core::any_byte(text, [](core::EightBytes eight) {
    return eight.below(0x20) | eight.equal_to('"') | eight.equal_to('\\') | eight.equal_to(0x7f) | eight.not_ascii();
  });
  if (plain) {
    out.append(text);
    return;
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (byte < 0x20 || byte >= 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else {
      out.push_back(c);
    }
  }
}

void RequestLog::append_time(Time at) {
  const auto second = std::chrono::floor<std::chrono::seconds>(at);
  if (second != second_ || second_text_.empty()) {
    second_ = second;
    second_text_ = fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(second));
  }
  lines_.append("{\"time\":\"").append(second_text_).push_back('.');
  append_thousandths(lines_, static_cast<std::uint64_t>((at - second).count()));
  lines_.append("Z\"");
}

void RequestLog::add(const LogEntry& entry) {
  append_time(entry.at);
  text(lines_, "level", name(entry.level));
  text(lines_, "event", "request");
  text(lines_, "method", entry.method);
  text(lines_, "path", entry.path);
  text(lines_, "route", entry.route);
  number(lines_, "status", entry.status);
  text(lines_, "outcome", entry.outcome);
  text(lines_, "problem", entry.problem);
  if (entry.key != nullptr) {
    lines_.append(",\"key\":\"");
    for (std::size_t i = 0; i < key_bytes_shown; ++i) append_hex(lines_, entry.key->id[i]);
    lines_.push_back('"');
  }
  if (entry.fence != 0) number(lines_, "fence", entry.fence);
  milliseconds(lines_, "ms", entry.time);
  if (entry.upstream_time.count() > 0) milliseconds(lines_, "upstream_ms", entry.upstream_time);
  text(lines_, "trace", entry.trace);
  text(lines_, "detail", entry.detail);
  text(lines_, "event_type", entry.event_type);
  text(lines_, "object", entry.object);
  lines_.append("}\n");
  if (lines_.size() >= flush_from_bytes) flush();
}

void RequestLog::flush() {
  sink_.write(lines_);  // also nothing: there may be a backlog
  lines_.clear();
}

}  // namespace semel::telemetry
