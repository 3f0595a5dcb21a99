// The loop of the driver's thread: take in, give up what took too long, send, wake the callers that have their answers,
// wait, read.
#include "store/redis/driver.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <sys/poll.h>

#include "core/encoding.h"
#include "core/seal.h"
#include "store/call.h"
#include "store/identity.h"
#include "store/redis/batch.h"
#include "store/redis/dialer.h"
#include "store/redis/gate.h"
#include "store/redis/intake.h"
#include "store/redis/layout.h"
#include "store/redis/losses.h"
#include "store/short_turns.h"
#include "store/waiting.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr std::size_t connections = 2;  // while one waits for WAIT or a sync, the next batch gathers
constexpr Millis grace{500};            // for a connection to come back before claims are refused
constexpr Millis silence_max{800};      // of a server that is there: new requests are to be refused within a second
constexpr Millis lacking{250};          // for which no claims are sent after too few replicas have answered
constexpr Millis tick{50};              // how exact deadlines are
constexpr Millis pause{20};             // before a server that takes no writes is asked again
constexpr Millis idle_max{1'000};       // of the driver's thread
constexpr Millis wait_max{400};         // of WAIT; less than silence
constexpr Millis lack_max{600};         // after which a claim is not sent again: one more WAIT would exceed a second
constexpr std::size_t hops_max = 4;     // of a call that servers send to each other, before it rests

Error late() {
  return {.code = Code::unavailable, .detail = "Redis did not answer in time; the call may have been applied"};
}

Error closed_error() {
  return {.code = Code::unavailable, .detail = "the store was closed; the call may have been applied"};
}

Error too_few() {
  return {.code = Code::unavailable,
          .detail = "too few replicas of Redis have acknowledged it (store.replicas); the call may have been applied"};
}

bool is_claim(const RedisEntry& entry) {
  return std::holds_alternative<ClaimCall>(entry.call().request);
}

// Takes out of `queue` what `takes` takes.
template <class Takes>
std::vector<RedisEntry> take_if(RedisQueue& queue, const Takes& takes) {
  std::vector<RedisEntry> taken;
  RedisQueue rest;
  for (RedisEntry& entry : queue) {
    if (takes(entry)) {
      taken.push_back(std::move(entry));
    } else {
      rest.push_back(std::move(entry));
    }
  }
  queue = std::move(rest);
  return taken;
}

}  // namespace

std::string random_token(std::size_t bytes) {
  const core::Salt salt = random_salt();
  return {reinterpret_cast<const char*>(salt.data()), std::min(bytes, salt.size())};
}

RedisDriver::RedisDriver(const Clock& clock, RedisDriverOptions options, LossDesk& losses, Elsewhere elsewhere)
    : clock_(clock),
      options_(std::move(options)),
      process_(core::to_hex(random_token(8))),
      beats_(connections),
      losses_(losses),
      elsewhere_(std::move(elsewhere)),
      dialer_(clock, options_.plan,
              {.beats = beats_,
               .gate = gate_,
               .losses = losses_,
               .news = news_,
               .process = process_,
               .on_jump = options_.on_jump},
              [this](Result<RedisLink> link) { intake_.add(std::move(link)); }) {
  state_.memory.buckets = options_.plan.buckets;
}

// The fleet has called stop() if somebody could still be waiting.
RedisDriver::~RedisDriver() {
  intake_.close();
  if (thread_.joinable()) thread_.join();
}

void RedisDriver::stop() {
  intake_.close();
  if (thread_.joinable()) thread_.join();
  for (RedisEntry& entry : intake_.take().calls) refuse_now(std::move(entry), closed_error());
  state_.answered.post();
}

Result<void> RedisDriver::start() {
  Result<RedisLink> first = dialer_.dial(0);
  if (!first) return std::unexpected(std::move(first.error()));
  intake_.add(std::move(first));
  for (std::size_t slot = 1; slot < connections; ++slot) dialer_.want(slot);
  thread_ = std::thread([this] { serve(); });
  return {};
}

void RedisDriver::start_later() {
  state_.lost_at = clock_.now();
  for (std::size_t slot = 0; slot < connections; ++slot) dialer_.want(slot);
  thread_ = std::thread([this] { serve(); });
}

void RedisDriver::serve() {
  ask_for_short_turns();
  for (;;) {
    Intake::Taken taken = intake_.take();
    const bool closing = taken.closing;
    take_in(std::move(taken));
    if (closing) break;
    if (news_.retired) hand_over();
    expire();
    drop_doubted();
    send();
    state_.answered.post();
    wait();
  }
  const Error closed = closed_error();
  for (const auto& pipe : state_.pipes) {
    if (pipe->batch == nullptr) continue;
    for (RedisEntry& entry : pipe->batch->take()) refuse_now(std::move(entry), closed);
  }
  for (RedisEntry& entry : state_.queue) refuse_now(std::move(entry), closed);
  for (RedisEntry& entry : state_.later) refuse_now(std::move(entry), closed);
  state_.answered.post();
}

// What is left goes to whoever has the slots now; not at once, since nobody may have taken them over yet.
void RedisDriver::hand_over() {
  for (const auto& pipe : state_.pipes) {
    if (pipe->batch != nullptr) again(pipe->batch->take());
  }
  state_.pipes.clear();
  dialer_.take_leave();
  refuse_late();
  if (state_.queue.empty() && state_.later.empty()) return;
  ::poll(nullptr, 0, static_cast<int>(pause.count()));
  for (RedisEntry& entry : std::exchange(state_.queue, {})) elsewhere_(std::move(entry));
  for (RedisEntry& entry : std::exchange(state_.later, {})) elsewhere_(std::move(entry));
}

// What one connection has found out may be true for the others, which have beats of their own to compare. One that is
// idle would find it out with its next batch, and that may be long in coming.
void RedisDriver::doubt_all() {
  for (const auto& pipe : state_.pipes) pipe->doubted = true;
}

void RedisDriver::drop_doubted() {
  if (news_.replaced.exchange(false)) doubt_all();
  for (std::size_t i = state_.pipes.size(); i-- > 0;) {
    RedisPipe& pipe = *state_.pipes[i];
    if (pipe.doubted && pipe.batch == nullptr) lose(pipe, {.code = Code::unavailable, .detail = "in doubt"});
  }
}

void RedisDriver::send_away(std::vector<RedisEntry> entries) {
  for (RedisEntry& entry : entries) {
    if (++entry.hops % hops_max == 0) entry.not_before = clock_.now() + pause;
    elsewhere_(std::move(entry));
  }
}

// Until their slot has moved a little further. One that was sent here for once goes back to where it came from.
void RedisDriver::put_off(std::vector<RedisEntry> entries) {
  for (RedisEntry& entry : entries) {
    entry.not_before = clock_.now() + pause;
    if (entry.asking) {
      elsewhere_(std::move(entry));
    } else {
      state_.later.push_back(std::move(entry));
    }
  }
}

void RedisDriver::take_in(Intake::Taken taken) {
  const Time now = clock_.now();
  for (RedisEntry& entry : std::exchange(state_.later, {})) taken.calls.push_back(std::move(entry));
  for (RedisEntry& entry : taken.calls) {
    if (entry.not_before > now && entry.deadline > now) {
      state_.later.push_back(std::move(entry));
    } else {
      state_.queue.push_back(std::move(entry));
    }
  }
  for (Result<RedisLink>& link : taken.links) {
    if (link) {
      state_.pipes.push_back(std::make_unique<RedisPipe>(*std::move(link)));
      state_.heard_at = clock_.stopwatch();
      state_.down.reset();
      state_.refusal.reset();
    } else {
      state_.refusal = std::move(link.error());
    }
  }
}

void RedisDriver::refuse_now(RedisEntry entry, const Error& error) {
  refuse(entry.call(), error);
  state_.answered.add(std::move(*entry.waiting));
}

void RedisDriver::refuse_impatient(const Error& error) {
  for (RedisEntry& entry : take_if(state_.queue, is_impatient)) refuse_now(std::move(entry), error);
}

void RedisDriver::refuse_claims(const Error& error) {
  for (RedisEntry& entry : take_if(state_.queue, is_claim)) refuse_now(std::move(entry), error);
}

void RedisDriver::expire() {
  const Time now = clock_.now();
  for (std::size_t i = state_.pipes.size(); i-- > 0;) {
    RedisPipe& pipe = *state_.pipes[i];
    if (pipe.batch != nullptr && pipe.batch->deadline() <= now) lose(pipe, late());
  }
  notice_silence();
  const bool gone = state_.pipes.empty() && now >= state_.lost_at + grace;
  const Error silence{.code = Code::unavailable, .detail = "Redis cannot be reached"};
  if (gone) state_.down = state_.refusal.value_or(silence);
  if (state_.down) refuse_impatient(*state_.down);
  if (now < state_.lacking_until) refuse_impatient(too_few());
  if (const std::optional<Error> closed = gate_.closed()) refuse_claims(*closed);
  if (const std::optional<Error> closed = losses_.gate().closed()) refuse_claims(*closed);
  refuse_late();
}

void RedisDriver::refuse_late() {
  const Time now = clock_.now();
  for (RedisEntry& entry : take_if(state_.queue, [&](const RedisEntry& each) { return each.deadline <= now; })) {
    refuse_now(std::move(entry), late());
  }
}

// A server that stands still keeps its connections. Claims do not wait for it; what has happened goes again over
// another connection, unless this one may be busy with large answers.
void RedisDriver::notice_silence() {
  const Error silence{.code = Code::unavailable, .detail = "Redis does not answer; the call may have been applied"};
  const auto now = clock_.stopwatch();
  bool silent = false;
  for (std::size_t i = state_.pipes.size(); i-- > 0;) {
    RedisPipe& pipe = *state_.pipes[i];
    if (pipe.batch == nullptr || now - pipe.sent_at <= silence_max) continue;
    silent = true;
    for (Waiting& waiting : pipe.batch->give_up(silence)) state_.answered.add(std::move(waiting));
    if (!pipe.link.connection.has_unsent() && !pipe.batch->is_large()) lose(pipe, silence);
  }
  if (silent && now - state_.heard_at > silence_max) state_.down = silence;
  // While it is down claims are refused before they are sent. If nothing is under way nobody else would find out that
  // it answers again, so the next claim tries.
  const auto busy = [](const auto& pipe) { return pipe->batch != nullptr; };
  if (!state_.pipes.empty() && std::ranges::none_of(state_.pipes, busy)) state_.down.reset();
}

void RedisDriver::send() {
  if (clock_.now() < state_.pause_until) return;
  for (std::size_t i = state_.pipes.size(); i-- > 0 && !state_.queue.empty();) {
    RedisPipe& pipe = *state_.pipes[i];
    if (pipe.batch != nullptr) continue;
    pipe.batch = std::make_unique<CallBatch>(state_.queue, state_.memory);
    pipe.ending = {.beat_name = beat_name(process_, pipe.link.slot, options_.plan.buckets.tag(options_.plan.bucket)),
                   .beat = beats_.next(pipe.link.slot),
                   .replicas = options_.plan.demands.replicas,
                   .patience = std::min(options_.time_max / 2, wait_max)};
    pipe.replies.clear();
    pipe.sent_at = clock_.stopwatch();
    pipe.link.connection.queue(pipe.batch->encode(pipe.link.hashes, pipe.ending));
    advance(pipe);
  }
}

void RedisDriver::wait() {
  std::vector<pollfd> sockets;
  for (const auto& pipe : state_.pipes) {
    const auto events = static_cast<short>(pipe->link.connection.has_unsent() ? POLLIN | POLLOUT : POLLIN);
    sockets.push_back({.fd = pipe->link.connection.descriptor(), .events = events, .revents = 0});
  }
  const auto busy = [](const auto& pipe) { return pipe->batch != nullptr; };
  const bool idle = state_.queue.empty() && state_.later.empty() && std::ranges::none_of(state_.pipes, busy);
  const bool paused = clock_.now() < state_.pause_until;
  intake_.wait(sockets, idle ? idle_max : paused || !state_.later.empty() ? pause : tick);
  for (std::size_t i = sockets.size(); i-- > 0;) {  // from behind: one that is lost leaves its place
    if (sockets[i].revents != 0) advance(*state_.pipes[i]);
  }
}

void RedisDriver::advance(RedisPipe& pipe) {
  const Result<void> moved = pipe.link.connection.advance(pipe.replies);
  if (!moved) return lose(pipe, moved.error());
  if (pipe.batch == nullptr && !pipe.replies.empty()) {
    return lose(pipe, {.code = Code::unavailable, .detail = "Redis has answered what was not asked"});
  }
  if (pipe.batch != nullptr && pipe.replies.size() >= pipe.batch->replies()) settle(pipe);
}

void RedisDriver::settle(RedisPipe& pipe) {
  const std::unique_ptr<CallBatch> batch = std::move(pipe.batch);
  const std::size_t calls = batch->calls();
  CallBatch::Outcome outcome = batch->read(pipe.replies, pipe.ending);
  pipe.replies.clear();
  if (outcome.found) beats_.find(pipe.link.slot, *outcome.found);
  const bool told = !outcome.answered.empty() || outcome.verdict == CallBatch::Verdict::told;
  if (told) {
    state_.heard_at = clock_.stopwatch();
    state_.down.reset();
    state_.lacking_until = Time{};
    beats_.acknowledge(pipe.link.slot, pipe.ending.beat.number, outcome.effects, clock_.now());
    if (options_.on_commit) options_.on_commit(calls, clock_.stopwatch() - pipe.sent_at);
  }
  for (Waiting& waiting : outcome.answered) state_.answered.add(std::move(waiting));
  if (outcome.trouble) state_.pause_until = clock_.now() + pause;
  if (outcome.verdict == CallBatch::Verdict::not_yet) return miss_replicas(std::move(outcome.again));
  again(std::move(outcome.again));
  put_off(std::move(outcome.later));
  send_away(std::move(outcome.elsewhere));
  if (outcome.verdict == CallBatch::Verdict::reconnect) {
    doubt_all();
    lose(pipe, {.code = Code::unavailable, .detail = "Redis has changed; looking at it again"});
  }
}

// What has happened goes again, for as long as it takes. A claim goes again if there is time, since a replica that has
// just come acknowledges for the first time up to a second later; then claims are refused, and those that come now are
// not even sent for a while.
void RedisDriver::miss_replicas(std::vector<RedisEntry> entries) {
  const Time now = clock_.now();
  std::vector<RedisEntry> rest;
  for (RedisEntry& entry : entries) {
    const Time came = entry.deadline - options_.time_max;
    if (is_impatient(entry) && now > came + lack_max) {
      state_.lacking_until = now + lacking;
      refuse_now(std::move(entry), too_few());
    } else {
      rest.push_back(std::move(entry));
    }
  }
  again(std::move(rest));
}

void RedisDriver::lose(RedisPipe& pipe, const Error& /*why*/) {
  if (pipe.batch != nullptr) again(pipe.batch->take());
  const std::size_t slot = pipe.link.slot;
  std::erase_if(state_.pipes, [&](const auto& each) { return each.get() == &pipe; });
  if (state_.pipes.empty()) state_.lost_at = clock_.now();
  dialer_.want(slot);
}

// What is not settled goes again, before what came later, while there is time.
void RedisDriver::again(std::vector<RedisEntry> entries) {
  const Time now = clock_.now();
  for (RedisEntry& entry : entries | std::views::reverse) {
    if (entry.deadline <= now) {
      refuse_now(std::move(entry), late());
    } else {
      state_.queue.push_front(std::move(entry));
    }
  }
}

}  // namespace semel::store::redis
