// The listener's thread: it subscribes and marks what was asked for, reads what has come, and waits for more.
#include "store/redis/listener.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <sys/poll.h>
#include <unistd.h>

#include "core/check.h"
#include "store/redis/connection.h"
#include "store/redis/layout.h"
#include "store/redis/plan.h"
#include "store/redis/primary.h"
#include "store/redis/resp.h"
#include "store/redis/scripts.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr Millis pause{1'000};         // after a failure
constexpr Millis channel_max{60'000};  // after which nobody waits any more, or says so again
constexpr int wait_ms = 1'000;

}  // namespace

ChannelListener::ChannelListener(const Clock& clock, RedisPlan plan)
    : clock_(clock), plan_(std::move(plan)), wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  core::check(wake_fd_ >= 0, "there is a descriptor left");
}

ChannelListener::~ChannelListener() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  const std::uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
  close(wake_fd_);
}

void ChannelListener::expect(const Digest& id, std::size_t bucket) {
  {
    const std::scoped_lock lock(mutex_);
    expected_.push_back({.id = id, .bucket = bucket});
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  const std::uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof(one));
}

void ChannelListener::serve() {
  for (;;) {
    std::vector<Expected> expected;
    {
      const std::scoped_lock lock(mutex_);
      if (closing_) return;
      std::swap(expected, expected_);
    }
    if (!ears_) connect();
    if (ears_) {
      const bool good = work(*ears_, expected) && hear(*ears_);
      forget_old(*ears_);
      if (!good) ears_.reset();
    }
    wait();
  }
}

// Unless it was tried a moment ago.
void ChannelListener::connect() {
  if (clock_.now() < retry_at_) return;
  retry_at_ = clock_.now() + pause;
  Result<Admitted> hears = connect_admitted(clock_, plan_);
  Result<Admitted> marks = connect_admitted(clock_, plan_);
  if (!hears || !marks) return;
  const std::string& script = scripts().at(static_cast<std::size_t>(Script::await));
  const Result<RespValue> loaded = marks->connection.ask(clock_, {"SCRIPT", "LOAD", script}, plan_.time_max);
  if (!loaded || loaded->is_error()) return;
  ears_.emplace(std::move(hears->connection), std::move(marks->connection), loaded->text);
}

// Subscribes, then marks the records. Those that do not run have ended already.
Result<void> ChannelListener::work(Ears& ears, const std::vector<Expected>& expected) {
  if (expected.empty()) return {};
  std::string subscriptions;
  std::string marks;
  std::size_t fresh = 0;
  for (const auto& [id, bucket] : expected) {
    const Key key{.id = id, .scope = {}, .space = {}};
    const std::string& tag = plan_.buckets.tag(bucket);
    if (ears.channels.insert_or_assign(key, Channel{.bucket = bucket, .since = clock_.now()}).second) {
      append_command(subscriptions, {"SSUBSCRIBE", channel_name(id, tag)});
      ++fresh;
    }
    append_command(marks, {"EVALSHA", ears.await, "1", record_name(id, tag)});
  }
  const Result<std::vector<RespValue>> subscribed = ears.hears.ask(clock_, subscriptions, fresh, plan_.time_max);
  if (!subscribed) return std::unexpected(subscribed.error());
  const Result<std::vector<RespValue>> marked = ears.marks.ask(clock_, marks, expected.size(), plan_.time_max);
  if (!marked) return std::unexpected(marked.error());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (marked->at(i).is_error()) return std::unexpected(refusal_of(marked->at(i)));
    if (marked->at(i).text != "o" && ended_) ended_(expected[i].id);
  }
  // What was told between the subscriptions is among their answers.
  for (const RespValue& said : *subscribed) {
    if (said.is_error()) return std::unexpected(refusal_of(said));
    const bool message = said.items.size() == 3 && said.items[0].text == "smessage";
    const std::optional<Digest> id = message ? id_in(said.items[1].text) : std::nullopt;
    if (id && ended_) ended_(*id);
  }
  return {};
}

Result<void> ChannelListener::hear(Ears& ears) {
  std::vector<RespValue> replies;
  Result<void> heard = ears.hears.advance(replies);
  for (const RespValue& reply : replies) {
    if (reply.items.size() != 3 || reply.items[0].text != "smessage") continue;
    const std::optional<Digest> id = id_in(reply.items[1].text);
    if (id && ended_) ended_(*id);
  }
  return heard;
}

void ChannelListener::forget_old(Ears& ears) const {
  const Time now = clock_.now();
  std::string commands;
  std::erase_if(ears.channels, [&](const auto& channel) {
    const auto& [key, heard] = channel;
    const bool old = heard.since + channel_max < now;
    if (old) append_command(commands, {"SUNSUBSCRIBE", channel_name(key.id, plan_.buckets.tag(heard.bucket))});
    return old;
  });
  ears.hears.queue(commands);
}

void ChannelListener::wait() {
  std::array<pollfd, 2> descriptors{
      {{.fd = wake_fd_, .events = POLLIN, .revents = 0}, {.fd = -1, .events = POLLIN, .revents = 0}}};
  if (ears_) descriptors[1].fd = ears_->hears.descriptor();
  if (poll(descriptors.data(), descriptors.size(), wait_ms) <= 0) return;
  std::uint64_t count = 0;
  if (descriptors[0].revents != 0) (void)!read(wake_fd_, &count, sizeof(count));
}

}  // namespace semel::store::redis
