// The loop of the driver's thread: take in, give up what took too long, send, wake the callers that have their answers,
// wait, read.
#include "store/postgres/driver.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <ranges>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <sys/poll.h>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include "core/seal.h"
#include "store/call.h"
#include "store/identity.h"
#include "store/postgres/arrivals.h"
#include "store/postgres/connection.h"
#include "store/postgres/failure.h"
#include "store/postgres/pipe.h"
#include "store/postgres/pipe_pool.h"
#include "store/postgres/statement.h"
#include "store/waiting.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr std::size_t depth = 1;         // batches under way on a connection: more would only make them smaller
constexpr std::size_t depth_alone = 16;  // of calls that go alone
constexpr std::size_t company_min = 24;  // of calls that go beside another transaction
constexpr Millis company_wait{5};        // for which they wait for company, or for that transaction to end
constexpr Millis patience_max{300};      // for a lock, of a batch
constexpr Millis patience_merged{25};    // of one whose ends would wait for its claims
constexpr Millis patience_alone_max{1'000};
constexpr Millis dial_max{2'000};  // so that ending does not wait for long

Millis patience_of(const DriverOptions& options, const Statement& batch) {
  if (batch.company() == Company::alone) return std::min(options.time_max / 4, patience_alone_max);
  return std::min(options.time_max / 10, batch.merged() ? patience_merged : patience_max);
}

std::uint64_t random_number() {
  const core::Salt salt = random_salt();
  std::uint64_t number = 0;
  std::memcpy(&number, salt.data(), sizeof(number));
  return number;
}

Error late() {
  return {.code = Code::unavailable, .detail = "PostgreSQL did not answer in time; the call may have been applied"};
}

}  // namespace

Driver::Driver(const Clock& clock, DriverOptions options)
    : clock_(clock),
      options_(std::move(options)),
      dialer_(clock, options_.url, KnownServer(options_.identity, options_.state_folder, options_.newest),
              std::min(options_.time_max, dial_max), [this](Result<Link> link) { arrivals_.add(std::move(link)); }),
      pool_(clock, dialer_, options_.connections) {}

Driver::~Driver() {
  arrivals_.close();
  if (thread_.joinable()) thread_.join();
}

Result<void> Driver::start() {
  Result<Link> first = dialer_.dial();
  if (!first) return std::unexpected(std::move(first.error()));
  pool_.add(std::move(first));
  for (std::size_t i = 1; i < options_.connections; ++i) dialer_.want();
  thread_ = std::thread([this] { serve(); });
  return {};
}

Task<void> Driver::submit(StoreCall& call, FormerClaim* former, ServerStep* step) {
  auto start = [this, &call, former, step](AnswerHandler handler) {
    boost::asio::executor_work_guard<Executor> work(boost::asio::get_associated_executor(handler));
    auto waiting = std::make_unique<Waiting>(&call, std::move(handler), std::move(work));
    Entry entry{.waiting = std::move(waiting),
                .deadline = clock_.now() + options_.time_max,
                .company = Company::any,
                .former = former,
                .reopener = std::holds_alternative<ReopenCall>(call.request) ? random_number() : 0,
                .progress = std::holds_alternative<SweepCall>(call.request) ? &sweeps_ : nullptr,
                .step = step};
    arrivals_.add(std::move(entry), [this](Entry& each) { return send_here(each); });
  };
  return boost::asio::async_initiate<const AnswerToken&, void()>(std::move(start), AnswerToken{});
}

// A call that would have no company: its own thread sends it, which spares waking the driver.
Arrivals::Done Driver::send_here(Entry& entry) {
  if (!backlog_.empty() || !pool_.idle()) return Arrivals::Done::nothing;
  Pipe& pipe = pool_.idlest();
  if (options_.newest->overtakes(pipe.greeted())) return Arrivals::Done::nothing;
  std::unique_ptr<Statement> batch = backlog_.next_with(std::move(entry));
  const Millis patience = patience_of(options_, *batch);
  if (pipe.send(std::move(batch), patience, clock_.stopwatch())) {
    return pipe.unsent() ? Arrivals::Done::some : Arrivals::Done::all;
  }
  pool_.set_broken(pipe);
  return Arrivals::Done::some;
}

void Driver::serve() {
  while (!arrivals_.closing()) {
    take_in();
    expire();
    send();
    answered_.post();
    wait();
  }
  take_in();
  const Error closed{.code = Code::unavailable, .detail = "the store was closed; the call may have been applied"};
  for (const auto& statement : pool_.give_up_all()) {
    for (Entry& entry : statement->take()) refuse_now(std::move(entry), closed);
  }
  for (Entry& entry : backlog_.take_all()) refuse_now(std::move(entry), closed);
  answered_.post();
}

void Driver::take_in() {
  again(pool_.lose_broken());
  Arrivals::Taken taken = arrivals_.take();
  for (Entry& entry : taken.calls) backlog_.add(std::move(entry));
  for (Result<Link>& link : taken.links) pool_.add(std::move(link));
  // By what other connections of this process have seen. The dialer's pauses keep this from becoming a storm.
  again(pool_.lose_overtaken(*options_.newest));
}

// What goes next over a connection that has so much under way; null if it has to wait.
std::unique_ptr<Statement> Driver::next_batch(std::size_t under_way) {
  std::unique_ptr<Statement> alone = under_way < depth_alone ? backlog_.next_alone() : nullptr;
  if (alone != nullptr) return alone;
  if (under_way >= depth) return nullptr;
  std::unique_ptr<Statement> apart = backlog_.next_apart();
  if (apart != nullptr || lacks_company()) return apart;
  return backlog_.next();
}

// Whether it is better to wait a little: few calls are there, and a connection that is busy will soon be free for them
// and those that come meanwhile. A transaction costs the server as much as ten rows do.
bool Driver::lacks_company() const {
  const std::size_t waiting = backlog_.size();
  if (waiting == 0 || waiting >= company_min) return false;
  return pool_.sent_after(clock_.stopwatch() - company_wait);
}

void Driver::send() {
  while (!pool_.empty()) {
    Pipe& pipe = pool_.idlest();
    std::unique_ptr<Statement> batch = next_batch(pipe.under_way());
    if (batch == nullptr) return;
    const Millis patience = patience_of(options_, *batch);
    if (!pipe.send(std::move(batch), patience, clock_.stopwatch())) again(pool_.lose(pipe));
  }
}

Time Driver::next_deadline(Time now) const {
  Time next = now + std::min(Millis{1'000}, options_.time_max);  // a call that is sent meanwhile does not wake us
  next = pool_.next_deadline(backlog_.next_deadline(next));
  if (lacks_company()) next = std::min(next, now + company_wait);
  return next;
}

void Driver::wait() {
  std::vector<pollfd> sockets = pool_.sockets();
  const Time now = clock_.now();
  if (!arrivals_.wait(sockets, std::max(next_deadline(now) - now, Millis{0}))) return;
  PipePool::Read read = pool_.read(sockets);
  again(read.lost);
  for (Ended& batch : read.ended) settle(std::move(batch));
  pool_.read_stuck();
}

void Driver::settle(Ended ended) {
  if (ended.ending == BatchEnding::durable) {
    if (options_.on_commit && !is_single(ended.statement->kind())) {  // no request waits for those
      options_.on_commit(ended.statement->calls(), clock_.stopwatch() - ended.sent_at);
    }
    Statement::Outcome outcome = ended.statement->read(ended.reply.get());
    for (Waiting& waiting : outcome.answered) answered_.add(std::move(waiting));
    for (Entry& entry : outcome.again | std::views::reverse) again(std::move(entry));
    if (!outcome.waited.empty() && options_.waited) options_.waited(outcome.waited);
    return;
  }
  const Remedy remedy = ended.ending == BatchEnding::failed ? remedy_for(ended.state) : Remedy::reconnect;
  const bool single = ended.statement->rows() == 1;
  const bool merged = ended.statement->merged();
  if (ended.ending == BatchEnding::failed && remedy == Remedy::reconnect) {
    again(pool_.lose_all(refusal(ended.state, ended.message)));
  }
  if (remedy == Remedy::greet) again(pool_.lose_all());
  std::vector<Entry> entries = ended.statement->take();
  for (Entry& entry : entries | std::views::reverse) {
    if (merged && remedy != Remedy::reconnect && remedy != Remedy::greet) {  // not known which kind has failed
      entry.company = Company::own_kind;
      again(std::move(entry));
      continue;
    }
    if (remedy == Remedy::refuse || (remedy == Remedy::split && single)) {
      refuse_now(std::move(entry), refusal(ended.state, ended.message));
      continue;
    }
    if (remedy != Remedy::reconnect && remedy != Remedy::greet) entry.company = Company::alone;
    again(std::move(entry));
  }
}

// What is not settled goes again, over another connection if its own was lost, while there is time. It goes to the head
// of its queue: of several calls the last one first, so that they keep their order.
void Driver::again(Entry entry) {
  if (entry.deadline <= clock_.now()) return refuse_now(std::move(entry), late());
  backlog_.add_first(std::move(entry));
}

void Driver::again(const GivenUp& statements) {
  for (const auto& statement : statements | std::views::reverse) {
    std::vector<Entry> entries = statement->take();
    for (Entry& entry : entries | std::views::reverse) again(std::move(entry));
  }
}

void Driver::refuse_now(Entry entry, const Error& error) {
  refuse(entry.call(), error);
  answered_.add(std::move(*entry.waiting));
}

void Driver::expire() {
  const Time now = clock_.now();
  again(pool_.give_up_late(now));
  if (const Error* const down = pool_.down()) {
    for (Entry& entry : backlog_.take_impatient()) refuse_now(std::move(entry), *down);
  }
  for (Entry& entry : backlog_.take_late(now)) refuse_now(std::move(entry), late());
}

}  // namespace semel::store::postgres
