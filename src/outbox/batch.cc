// Each chain is a coroutine on a thread of the gateway; the last one to end wakes the mover.
#include "outbox/batch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "config/config.h"
#include "core/ascii.h"
#include "gateway/dispatcher.h"
#include "gateway/effect.h"
#include "outbox/chains.h"
#include "outbox/database.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::outbox {
namespace {

using gateway::EffectEnd;

constexpr std::chrono::milliseconds one_wait{100};
constexpr int waits_max = 100;  // for the gateway's threads, when it stops

// What the coroutines of a batch share. It lives until the last of them has ended.
struct BatchWork {
  BatchWork(gateway::Dispatcher& its_dispatcher, const config::OutboxConfig& its_outbox,
            std::vector<OutboxRow> its_rows)
      : dispatcher(its_dispatcher), outbox(its_outbox), rows(std::move(its_rows)), chains(chains_of(rows)) {}

  gateway::Dispatcher& dispatcher;
  const config::OutboxConfig outbox;
  const std::vector<OutboxRow> rows;
  const std::vector<Chain> chains;
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t left = 0;  // chains
  BatchEnd end;
};

std::vector<Field> fields_of(const OutboxRow& row) {
  std::vector<Field> fields;
  bool typed = false;
  boost::system::error_code error;
  const boost::json::value headers = boost::json::parse(row.headers.empty() ? "{}" : row.headers, error);
  if (!error && headers.is_object()) {
    for (const auto& [name, value] : headers.get_object()) {
      typed = typed || core::equal_ignoring_case(std::string_view(name), "Content-Type");
      const std::string_view text = value.is_string() ? std::string_view(value.get_string()) : std::string_view();
      fields.push_back({.name = std::string(name), .value = std::string(text)});
    }
  }
  if (!typed) {
    fields.push_back({.name = "Content-Type", .value = row.raw ? "application/octet-stream" : "application/json"});
  }
  return fields;
}

gateway::EffectOrder effect_of(const config::OutboxConfig& outbox, const OutboxRow& row) {
  return {.source = "outbox:" + outbox.name,
          .key = row.key,
          .destination = row.destination,
          .object = row.object,
          .stamp = row.object.empty() ? std::string() : fmt::format("{:020}", row.seq),
          .body = row.body,
          .fields = fields_of(row),
          .wait = row.wait,
          .ttl = outbox.ttl,
          .depth_max = outbox.depth_max};
}

// Counts what became of a row. False: it is not in the inbox.
bool count(BatchWork& work, const gateway::EffectAnswer& answer, std::optional<EffectEnd> dead) {
  const std::scoped_lock lock(work.mutex);
  BatchEnd& end = work.end;
  if (answer.end != EffectEnd::accepted && answer.end != EffectEnd::known) {
    if (end.trouble.empty()) end.trouble = answer.detail.empty() ? "it was not accepted" : answer.detail;
    return false;
  }
  if (!dead) ++(answer.end == EffectEnd::accepted ? end.accepted : end.known);
  // One that was buried before has been counted then.
  if (dead && answer.end == EffectEnd::known) ++end.known;
  if (dead && answer.end == EffectEnd::accepted) ++(*dead == EffectEnd::reused ? end.key_reused : end.undeliverable);
  return true;
}

Task<bool> move_row(std::shared_ptr<BatchWork> work, const gateway::Dispatcher::Seat* seat, std::size_t at) {
  const gateway::EffectOrder effect = effect_of(work->outbox, work->rows[at]);
  const auto& deliver = work->outbox.deliver;
  gateway::EffectAnswer answer;
  if (std::ranges::find(deliver, effect.destination) == deliver.end()) {
    answer.end = EffectEnd::refused;
    answer.detail = fmt::format("{} is not in deliver of [[outbox]] {}", effect.destination, work->outbox.name);
  } else {
    answer = co_await gateway::accept_effect_at(&work->dispatcher, seat, &effect);
  }
  if (answer.end != EffectEnd::reused && answer.end != EffectEnd::refused) co_return count(*work, answer, std::nullopt);
  const EffectEnd dead = answer.end;
  const std::string why = dead == EffectEnd::reused ? "key-reused" : answer.detail;
  const gateway::EffectAnswer buried = co_await gateway::bury_effect_at(&work->dispatcher, seat, &effect, &why);
  co_return count(*work, buried, dead);
}

Task<void> move_chain(std::shared_ptr<BatchWork> work, const gateway::Dispatcher::Seat* seat, const Chain* chain) {
  for (const std::size_t at : *chain) {
    const bool moved = co_await move_row(work, seat, at);
    if (!moved) break;  // those behind it must not come first
  }
}

void chain_ended(BatchWork& work, const std::exception_ptr& thrown) {
  const std::scoped_lock lock(work.mutex);
  if (thrown && work.end.trouble.empty()) work.end.trouble = "a row could not be moved";
  if (--work.left == 0) work.ended.notify_all();
}

// On the thread of the seat: every so-manieth chain.
void begin(const std::shared_ptr<BatchWork>& work, const gateway::Dispatcher::Seat& seat, std::size_t first,
           std::size_t step) {
  for (std::size_t i = first; i < work->chains.size(); i += step) {
    boost::asio::co_spawn(seat.executor, move_chain(work, &seat, &work->chains[i]),
                          [work](const std::exception_ptr& thrown) { chain_ended(*work, thrown); });
  }
}

}  // namespace

BatchEnd move_batch(gateway::Dispatcher& dispatcher, const config::OutboxConfig& outbox, std::vector<OutboxRow> rows,
                    const std::atomic<bool>& stopping) {
  const auto work = std::make_shared<BatchWork>(dispatcher, outbox, std::move(rows));
  work->left = work->chains.size();
  const auto& seats = dispatcher.seats();
  for (std::size_t i = 0; i < seats.size(); ++i) {
    boost::asio::post(seats[i].executor,
                      [work, &seat = seats[i], i, step = seats.size()] { begin(work, seat, i, step); });
  }
  std::unique_lock lock(work->mutex);
  int waits = 0;  // since it was told to stop
  while (work->left > 0) {
    const bool over = work->ended.wait_for(lock, one_wait, [&] { return work->left == 0; });
    if (over || !stopping || ++waits < waits_max) continue;
    BatchEnd end = work->end;
    end.trouble = "the gateway stops";
    return end;
  }
  return work->end;
}

}  // namespace semel::outbox
