#include "telemetry/log_line.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "config/config.h"
#include "core/json/writer.h"
#include <semel/clock.h>

namespace semel::telemetry {
namespace {

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

std::uint64_t micros(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()) / 1000);
}

}  // namespace

// RFC 3339, with milliseconds.
std::string_view LogLine::time_text(Time at) {
  const auto second = std::chrono::floor<std::chrono::seconds>(at);
  if (second != second_ || time_.empty()) {
    second_ = second;
    time_ = fmt::format("{:%Y-%m-%dT%H:%M:%S}.000Z", fmt::gmtime(second));
  }
  auto rest = (at - second).count();
  for (std::size_t place = time_.size() - 2; time_[place] != '.'; --place) {
    time_[place] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  }
  return time_;
}

void LogLine::write(std::string& out, const LogEntry& entry) {
  core::json::JsonWriter json(out);
  // What others sent is written as bytes, and what is not known is left out.
  const auto text = [&](const core::json::MemberName& member, std::string_view value) {
    if (!value.empty()) json.bytes(member, value);
  };
  json.begin_object().bytes("time", time_text(entry.at)).bytes("level", name(entry.level)).bytes("event", "request");
  text("method", entry.method);
  text("path", entry.path);
  text("route", entry.route);
  text("token", entry.token);
  json.number("status", entry.status);
  text("outcome", entry.outcome);
  text("problem", entry.problem);
  text("cause", entry.cause);
  text("differs", entry.differs);
  text("would", entry.would);
  if (entry.key != nullptr) {
    json.hex("key", std::span(entry.key->id).first(key_bytes_shown));
    json.hex("scope", std::span(entry.key->scope).first(key_bytes_shown));
  }
  if (entry.fence != 0) json.number("fence", entry.fence);
  json.thousandths("ms", micros(entry.time));
  if (entry.upstream_time.count() > 0) json.thousandths("upstream_ms", micros(entry.upstream_time));
  text("client", entry.client);
  text("agent", entry.agent.substr(0, agent_bytes_max));
  text("trace", entry.trace);
  text("detail", entry.detail);
  text("event_type", entry.event_type);
  text("object", entry.object);
  json.end_object();
}

}  // namespace semel::telemetry
