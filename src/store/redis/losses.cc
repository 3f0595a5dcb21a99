// A line of the list: the server's time when the loss was noticed, who noticed it, and what was lost.
#include "store/redis/losses.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <expected>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/connection.h"
#include "store/redis/gate.h"
#include "store/redis/layout.h"
#include "store/redis/options.h"
#include "store/redis/resp.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

Error stopped() {
  return {.code = Code::unavailable,
          .detail =
              "Redis has lost calls that were acknowledged, and store.on_loss is \"stop\"; no new keys until "
              "`semel check --accept-loss`"};
}

// RFC 3339, UTC, whole seconds.
std::string utc_text(Time at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(at - day));
  const auto two = [](auto number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::to_string(static_cast<int>(date.year())) + "-" + two(static_cast<unsigned>(date.month())) + "-" +
         two(static_cast<unsigned>(date.day())) + "T" + two(clock.hours().count()) + ":" +
         two(clock.minutes().count()) + ":" + two(clock.seconds().count()) + "Z";
}

// A line begins with the server's time at which the loss was noticed.
std::uint64_t time_of(std::string_view line) {
  std::uint64_t time = 0;
  std::from_chars(line.data(), line.data() + line.size(), time);
  return time;
}

Result<std::vector<RespValue>> both(const Clock& clock, RedisConnection& connection, Millis time_max) {
  std::string commands;
  append_command(commands, {"LRANGE", loss_name, "0", "-1"});
  append_command(commands, {"GET", accepted_name});
  Result<std::vector<RespValue>> replies = connection.ask(clock, commands, 2, time_max);
  if (!replies) return replies;
  for (const RespValue& reply : *replies) {
    if (reply.is_error()) return std::unexpected(refusal_of(reply));
  }
  return replies;
}

}  // namespace

void LossDesk::add(const RedisLoss& loss, Time at) {
  if (told_) told_(loss);
  if (on_loss_ != core::RedisOnLoss::stop) return;
  const auto now = static_cast<std::uint64_t>(at.time_since_epoch().count());
  const std::scoped_lock lock(mutex_);
  since_ = std::max(since_, now);
  lines_.push_back(std::to_string(now) + " " + process_ + " " + std::to_string(loss.calls) + (loss.more ? "+" : "") +
                   " call(s) since " + utc_text(loss.since));
  gate_.close(ClaimGate::Closer::loss, stopped());
}

Result<void> LossDesk::settle(const Clock& clock, RedisConnection& connection, Millis time_max) {
  if (on_loss_ != core::RedisOnLoss::stop) return {};
  const Result<std::vector<RespValue>> replies = both(clock, connection, time_max);
  if (!replies) return std::unexpected(replies.error());
  const std::uint64_t accepted = time_of(replies->at(1).text);
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> unlisted = lines_;
  for (const RespValue& item : replies->at(0).items) {
    since_ = std::max(since_, time_of(item.text));
    std::erase(unlisted, item.text);
  }
  if (since_ <= accepted) {
    lines_.clear();
    since_ = 0;
    gate_.open(ClaimGate::Closer::loss);
    return {};
  }
  gate_.close(ClaimGate::Closer::loss, stopped());
  for (const std::string& line : unlisted) {
    const Result<RespValue> written = connection.ask(clock, {"RPUSH", loss_name, line}, time_max);
    if (!written) return std::unexpected(written.error());
  }
  return {};
}

Result<std::string> accept_losses(const Clock& clock, RedisConnection& connection, Millis time_max) {
  const Result<std::vector<RespValue>> replies = both(clock, connection, time_max);
  if (!replies) return std::unexpected(replies.error());
  const std::vector<RespValue>& items = replies->at(0).items;
  std::string text;
  std::uint64_t last = time_of(replies->at(1).text);
  for (const RespValue& item : items) {
    last = std::max(last, time_of(item.text));
    text += item.text.substr(std::min(item.text.find(' ') + 1, item.text.size())) + "\n";
  }
  if (items.empty()) return text;
  std::string commands;
  append_command(commands, {"SET", accepted_name, std::to_string(last)});
  append_command(commands, {"LTRIM", loss_name, std::to_string(items.size()), "-1"});
  const Result<std::vector<RespValue>> done = connection.ask(clock, commands, 2, time_max);
  if (!done) return std::unexpected(done.error());
  for (const RespValue& reply : *done) {
    if (reply.is_error()) return std::unexpected(refusal_of(reply));
  }
  return text;
}

}  // namespace semel::store::redis
