// The thread: take, put together, write, and now and then drop what is old.
#include "gateway/scribe.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "runtime/pause.h"
#include "store/desk.h"
#include "store/history.h"
#include "telemetry/sighting.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

namespace asio = boost::asio;

constexpr Millis period{1'000};
constexpr Millis last_words{1'000};
constexpr Millis prune_period{3'600'000};
constexpr std::size_t rows_at_once = 2'000;  // of at most 4 KiB: within the limits of History::append()
constexpr std::chrono::days kept{30};
constexpr std::chrono::days plain_kept{2};

}  // namespace

std::string node_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host.front() = '\0';
  return std::string(host.data()) + ":" + std::to_string(::getpid());
}

Scribe::Scribe(store::History& history, const store::Desk* desk, Clock& clock, std::string node)
    : history_(history),
      desk_(desk),
      clock_(clock),
      rows_(node),
      attempts_(std::move(node)),
      pause_(std::make_shared<runtime::Pause>(clock)) {}

Scribe::~Scribe() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

void Scribe::start() {
  asio::co_spawn(context_, run(this), asio::detached);
  thread_ = std::thread([this] { context_.run(); });
}

void Scribe::end() {
  if (!thread_.joinable()) return;
  for (telemetry::SightingBuffer* const buffer : buffers_) buffer->hand_over();
  std::unique_ptr<Clock::Alarm> late;  // made and destroyed on the thread that it rings on
  asio::post(context_, [this, &late] {
    last_ = true;
    late = clock_.after(context_.get_executor(), last_words, [this] { context_.stop(); });
    pause_->ring();
  });
  thread_.join();
}

Task<void> Scribe::run(Scribe* self) {
  for (bool last = false; !last;) {
    co_await self->pause_->wait(period);
    last = self->last_;
    self->pause_ = std::make_shared<runtime::Pause>(self->clock_);
    co_await write(self);
    if (!last) co_await prune(self);
  }
  self->context_.stop();
}

Task<void> Scribe::write(Scribe* self) {
  for (telemetry::SightingBuffer* const buffer : self->buffers_) {
    self->rows_.add_dropped(buffer->take(self->taken_));
    telemetry::for_each_sighting(self->taken_, [self](const telemetry::Sighting& seen) { self->rows_.add(seen); });
  }
  const auto named = [self](const Digest& id) {
    return self->desk_ == nullptr ? id : self->desk_->named({.id = id, .scope = {}, .space = {}}).id;
  };
  std::vector<store::HistoryRow> rows = self->rows_.take(self->clock_.wall(), named);
  self->rows_.add_dropped(co_await append(self, std::move(rows)));
  static_cast<void>(co_await append(self, self->attempts_.take()));  // what is missing is a gap in their numbers
}

// Returns how many could not be written.
Task<std::size_t> Scribe::append(Scribe* self, std::vector<store::HistoryRow> rows) {
  std::size_t unwritten = 0;
  for (auto from = rows.begin(); from != rows.end();) {
    const auto size = std::min<std::ptrdiff_t>(rows_at_once, rows.end() - from);
    std::vector<store::HistoryRow> some(std::make_move_iterator(from), std::make_move_iterator(from + size));
    const Result<void> written = co_await self->history_.append(std::move(some));
    if (!written) unwritten += static_cast<std::size_t>(size);
    from += size;
  }
  co_return unwritten;
}

Task<void> Scribe::prune(Scribe* self) {
  const Time now = self->clock_.wall();
  if (now - self->pruned_at_ < prune_period) co_return;
  self->pruned_at_ = now;
  // What cannot be dropped now is dropped in an hour.
  static_cast<void>(co_await self->history_.prune(store::HistoryKind::sighting, now - kept));
  static_cast<void>(co_await self->history_.prune(store::HistoryKind::gap, now - kept));
  static_cast<void>(co_await self->history_.prune(store::HistoryKind::attempt, now - kept));
  static_cast<void>(co_await self->history_.prune(store::HistoryKind::reminder, now - kept));
  static_cast<void>(co_await self->history_.prune(store::HistoryKind::suggestion, now - kept));
  static_cast<void>(co_await self->history_.prune(store::HistoryKind::plain_run, now - plain_kept));
}

}  // namespace semel::gateway
