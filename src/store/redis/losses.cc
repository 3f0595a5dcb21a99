// A line of the list: the server's time when the loss was noticed, who noticed it, and what was lost.
#include "store/redis/losses.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/asker.h"
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

std::string command_of(std::initializer_list<std::string_view> words) {
  std::string text;
  append_command(text, words);
  return text;
}

Result<std::vector<RespValue>> both(BucketAsker& asker, std::size_t bucket) {
  return asker.ask({{.bucket = bucket, .text = command_of({"LRANGE", loss_name, "0", "-1"})},
                    {.bucket = bucket, .text = command_of({"GET", accepted_name})}});
}

}  // namespace

void LossDesk::add(const RedisLoss& loss, const std::string& process, Time at) {
  if (told_) told_(loss);
  if (on_loss_ != core::RedisOnLoss::stop) return;
  const auto now = static_cast<std::uint64_t>(at.time_since_epoch().count());
  const std::scoped_lock lock(mutex_);
  since_ = std::max(since_, now);
  lines_.push_back(std::to_string(now) + " " + process + " " + std::to_string(loss.calls) + (loss.more ? "+" : "") +
                   " call(s) since " + utc_text(loss.since));
  gate_.close(ClaimGate::Closer::loss, stopped());
}

Result<void> LossDesk::settle() {
  if (on_loss_ != core::RedisOnLoss::stop) return {};
  const std::scoped_lock lock(mutex_);
  const Result<std::vector<RespValue>> replies = both(asker_, bucket_);
  if (!replies) return std::unexpected(replies.error());
  const std::uint64_t accepted = time_of(replies->at(1).text);
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
    const Result<std::vector<RespValue>> written =
        asker_.ask({{.bucket = bucket_, .text = command_of({"RPUSH", loss_name, line})}});
    if (!written) return std::unexpected(written.error());
  }
  return {};
}

Result<std::string> accept_losses(BucketAsker& asker, std::size_t bucket) {
  const Result<std::vector<RespValue>> replies = both(asker, bucket);
  if (!replies) return std::unexpected(replies.error());
  const std::vector<RespValue>& items = replies->at(0).items;
  std::string text;
  std::uint64_t last = time_of(replies->at(1).text);
  for (const RespValue& item : items) {
    last = std::max(last, time_of(item.text));
    text += item.text.substr(std::min(item.text.find(' ') + 1, item.text.size())) + "\n";
  }
  if (items.empty()) return text;
  const std::string count = std::to_string(items.size());
  const Result<std::vector<RespValue>> done =
      asker.ask({{.bucket = bucket, .text = command_of({"SET", accepted_name, std::to_string(last)})},
                 {.bucket = bucket, .text = command_of({"LTRIM", loss_name, count, "-1"})}});
  if (!done) return std::unexpected(done.error());
  return text;
}

}  // namespace semel::store::redis
