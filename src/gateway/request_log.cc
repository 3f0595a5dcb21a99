#include "gateway/request_log.h"

#include <chrono>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace semel {
namespace {

constexpr std::size_t flush_from_bytes = 65'536;

void text(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out.append(",\"").append(name).append("\":\"").append(json_escaped(value)).push_back('"');
}

}  // namespace

void LogSink::write(std::string_view lines) {
  const std::scoped_lock lock(mutex_);
  while (!lines.empty()) {
    const ssize_t size = ::write(file_descriptor_, lines.data(), lines.size());
    if (size <= 0) return;  // nobody reads our log: that must not stop the requests
    lines.remove_prefix(static_cast<std::size_t>(size));
  }
}

std::string json_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
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
  return out;
}

void RequestLog::add(const LogEntry& entry) {
  const auto line = std::back_inserter(lines_);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(entry.at);
  fmt::format_to(line, "{{\"time\":\"{:%Y-%m-%dT%H:%M:%S}.{:03}Z\",\"event\":\"request\"", fmt::gmtime(seconds),
                 (entry.at - seconds).count());
  text(lines_, "method", entry.method);
  text(lines_, "path", entry.path);
  text(lines_, "route", entry.route);
  fmt::format_to(line, ",\"status\":{}", entry.status);
  text(lines_, "outcome", entry.outcome);
  text(lines_, "problem", entry.problem);
  if (entry.key != nullptr) {
    const auto& id = entry.key->id;
    fmt::format_to(line, ",\"key\":\"{:02x}{:02x}{:02x}{:02x}{:02x}{:02x}\"", id[0], id[1], id[2], id[3], id[4], id[5]);
  }
  if (entry.fence != 0) fmt::format_to(line, ",\"fence\":{}", entry.fence);
  fmt::format_to(line, ",\"ms\":{:.3f}", entry.seconds * 1e3);
  if (entry.upstream_seconds > 0) fmt::format_to(line, ",\"upstream_ms\":{:.3f}", entry.upstream_seconds * 1e3);
  text(lines_, "trace", entry.trace);
  text(lines_, "detail", entry.detail);
  text(lines_, "event_type", entry.event_type);
  text(lines_, "object", entry.object);
  lines_.append("}\n");
  if (lines_.size() >= flush_from_bytes) flush();
}

void RequestLog::flush() {
  if (lines_.empty()) return;
  sink_.write(lines_);
  lines_.clear();
}

}  // namespace semel
