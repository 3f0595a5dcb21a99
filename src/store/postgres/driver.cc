// The loop of the driver's thread: take in, send, wait, read, give up what took too long, wake who was answered.
#include "store/postgres/driver.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <sys/eventfd.h>
#include <sys/poll.h>
#include <unistd.h>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include "core/check.h"
#include "store/call.h"
#include "store/postgres/connection.h"
#include "store/postgres/failure.h"
#include "store/postgres/pipe.h"
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
constexpr std::size_t stuck_max = 4;     // connections that are replaced while the server sits on them
constexpr Millis grace{500};             // for a connection to come back before claims are refused
constexpr Millis patience_max{300};      // for a lock, of a batch
constexpr Millis patience_alone_max{1'000};
constexpr Millis dial_max{2'000};  // so that ending does not wait for long

Millis patience_of(const DriverOptions& options, Company company) {
  return company == Company::any ? std::min(options.time_max / 10, patience_max)
                                 : std::min(options.time_max / 4, patience_alone_max);
}

// Whether the caller is better served by a quick refusal than by waiting for the server to come back. An outcome is
// not: what it tells of has happened.
bool impatient(const StoreCall& call) {
  return std::holds_alternative<ClaimCall>(call.request) || std::holds_alternative<SweepCall>(call.request);
}

Error late() {
  return {.code = Code::unavailable, .detail = "PostgreSQL did not answer in time; the call may have been applied"};
}

}  // namespace

Driver::Driver(const Clock& clock, DriverOptions options)
    : clock_(clock),
      options_(std::move(options)),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      dialer_(clock, options_.url, options_.identity, std::min(options_.time_max, dial_max),
              [this](Result<Link> link) { deliver(std::move(link)); }) {
  core::check(wake_fd_ >= 0, "there is a descriptor left");
}

Driver::~Driver() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  signal();
  if (thread_.joinable()) thread_.join();
  close(wake_fd_);
}

Result<void> Driver::start() {
  Result<Link> first = dialer_.dial();
  if (!first) return std::unexpected(std::move(first.error()));
  pipes_.push_back(std::make_unique<Pipe>(*std::move(first)));
  for (std::size_t i = 1; i < options_.connections; ++i) dialer_.want();
  thread_ = std::thread([this] { serve(); });
  return {};
}

Task<void> Driver::submit(StoreCall& call, FormerClaim* former) {
  auto start = [this, &call, former](AnswerHandler handler) {
    boost::asio::executor_work_guard<Executor> work(boost::asio::get_associated_executor(handler));
    auto waiting = std::make_unique<Waiting>(&call, std::move(handler), std::move(work));
    Entry entry{.waiting = std::move(waiting),
                .deadline = clock_.now() + options_.time_max,
                .company = Company::any,
                .former = former};
    bool wanted = false;
    {
      const std::scoped_lock lock(mutex_);
      if (sleeping_ && idle()) {
        wanted = !send_here(std::move(entry));
      } else {
        incoming_.push_back(std::move(entry));
        wanted = sleeping_;
      }
      if (wanted) sleeping_ = false;
    }
    if (wanted) signal();
  };
  return boost::asio::async_initiate<const AnswerToken&, void()>(std::move(start), AnswerToken{});
}

bool Driver::idle() const {
  const auto empty = [](const Queue& queue) { return queue.empty(); };
  const auto free = [](const auto& pipe) { return pipe->under_way() == 0; };
  return !pipes_.empty() && std::ranges::all_of(queues_, empty) && std::ranges::all_of(pipes_, free);
}

// A call that would have no company: its own thread sends it, which spares waking the driver. False: the driver has to
// see to the rest.
bool Driver::send_here(Entry entry) {
  Queue& queue = queues_[kind_of(entry)];
  queue.push_back(std::move(entry));
  Pipe* const pipe = pipes_.front().get();
  if (pipe->send(std::make_unique<Statement>(queue), patience_of(options_, Company::any), clock_.stopwatch())) {
    return !pipe->unsent();
  }
  broken_ = pipe;
  return false;
}

void Driver::deliver(Result<Link> link) {
  bool wanted = false;
  {
    const std::scoped_lock lock(mutex_);
    dialed_.push_back(std::move(link));
    wanted = std::exchange(sleeping_, false);
  }
  if (wanted) signal();
}

void Driver::signal() const {
  const std::uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof(one));  // a full counter wakes as well
}

void Driver::serve() {
  bool closing = false;
  while (!closing) {
    take_in();
    expire();
    send();
    answered_.post();
    wait();
    const std::scoped_lock lock(mutex_);
    closing = closing_;
  }
  take_in();
  const Error closed{.code = Code::unavailable, .detail = "the store was closed; the call may have been applied"};
  for (const auto& pipe : pipes_) {
    for (const auto& statement : pipe->give_up()) {
      for (Entry& entry : statement->take()) refuse_now(std::move(entry), closed);
    }
  }
  for (Queue& queue : queues_) {
    for (Entry& entry : queue) refuse_now(std::move(entry), closed);
    queue.clear();
  }
  answered_.post();
}

void Driver::take_in() {
  if (broken_ != nullptr) lose(broken_);
  std::vector<Entry> calls;
  std::vector<Result<Link>> dialed;
  {
    const std::scoped_lock lock(mutex_);
    std::swap(calls, incoming_);
    std::swap(dialed, dialed_);
  }
  for (Entry& entry : calls) queues_[kind_of(entry)].push_back(std::move(entry));
  for (Result<Link>& link : dialed) {
    if (link && pipes_.size() >= options_.connections) continue;  // one that was stuck has come back meanwhile
    if (link) {
      pipes_.push_back(std::make_unique<Pipe>(*std::move(link)));
      down_.reset();
    } else if (pipes_.empty()) {
      down_ = std::move(link.error());
    }
  }
}

// What goes next over a connection that has so much under way; null if it has to wait. The kinds have their turns, and
// never share a transaction: claims wait for rows that somebody is ending, so two that did both would wait crosswise.
std::unique_ptr<Statement> Driver::next_batch(std::size_t under_way) {
  const auto alone = [](const Queue& queue) { return !queue.empty() && queue.front().company == Company::alone; };
  const auto single = std::ranges::find_if(queues_, alone);
  if (under_way < depth_alone && single != queues_.end()) return std::make_unique<Statement>(*single);
  if (under_way >= depth || lacks_company()) return nullptr;
  for (std::size_t tried = 0; tried < kinds; ++tried) {
    next_kind_ = (next_kind_ + 1) % kinds;
    if (!queues_[next_kind_].empty()) return std::make_unique<Statement>(queues_[next_kind_]);
  }
  return nullptr;
}

// Whether it is better to wait a little: few calls are there, and a connection that is busy will soon be free for them
// and those that come meanwhile. A transaction costs the server as much as ten rows do.
bool Driver::lacks_company() const {
  std::size_t waiting = 0;
  for (const Queue& queue : queues_) waiting += queue.size();
  if (waiting == 0 || waiting >= company_min) return false;
  const auto quick = [now = clock_.stopwatch()](const auto& pipe) {
    return pipe->under_way() > 0 && now - pipe->sent_at() < company_wait;
  };
  return std::ranges::any_of(pipes_, quick);
}

void Driver::send() {
  while (!pipes_.empty()) {
    Pipe* const pipe = std::ranges::min_element(pipes_, {}, [](const auto& each) { return each->under_way(); })->get();
    std::unique_ptr<Statement> batch = next_batch(pipe->under_way());
    if (batch == nullptr) return;
    const Millis patience = patience_of(options_, batch->company());
    if (!pipe->send(std::move(batch), patience, clock_.stopwatch())) lose(pipe);
  }
}

Time Driver::next_deadline(Time now) const {
  Time next = now + std::min(Millis{1'000}, options_.time_max);  // a call that is sent meanwhile does not wake us
  for (const Queue& queue : queues_) {
    if (!queue.empty()) next = std::min(next, queue.front().deadline);
  }
  for (const auto& pipe : pipes_) {
    if (pipe->under_way() > 0) next = std::min(next, pipe->deadline());
  }
  if (pipes_.empty() && !down_) next = std::min(next, lost_at_ + grace);
  if (lacks_company()) next = std::min(next, now + company_wait);
  return next;
}

void Driver::wait() {
  std::vector<pollfd> descriptors{{.fd = wake_fd_, .events = POLLIN, .revents = 0}};
  for (const auto& pipe : pipes_) {
    const auto events = static_cast<short>(pipe->unsent() ? POLLIN | POLLOUT : POLLIN);
    descriptors.push_back({.fd = pipe->socket(), .events = events, .revents = 0});
  }
  for (const auto& pipe : stuck_) descriptors.push_back({.fd = pipe->socket(), .events = POLLIN, .revents = 0});
  if (!await_any(descriptors)) return;
  if (descriptors.front().revents != 0) {
    std::uint64_t count = 0;
    (void)!read(wake_fd_, &count, sizeof(count));
  }
  read_pipes(std::span(descriptors).subspan(1));
  if (!stuck_.empty()) read_stuck();
}

// Until something can be read or written, or it is time. False: nothing can.
bool Driver::await_any(std::vector<pollfd>& descriptors) {
  const Time now = clock_.now();
  Millis time = std::max(next_deadline(now) - now, Millis{0});
  {
    const std::scoped_lock lock(mutex_);
    sleeping_ = incoming_.empty() && dialed_.empty() && !closing_;
    if (!sleeping_) time = Millis{0};
  }
  const int ready = poll(descriptors.data(), descriptors.size(), static_cast<int>(time.count()));
  const std::scoped_lock lock(mutex_);
  sleeping_ = false;
  return ready > 0;
}

void Driver::read_pipes(std::span<const pollfd> descriptors) {
  std::vector<Pipe*> ready;
  for (std::size_t i = 0; i < pipes_.size(); ++i) {
    if (descriptors[i].revents != 0) ready.push_back(pipes_[i].get());
  }
  std::vector<Ended> ended;
  for (Pipe* pipe : ready) {
    const bool alive = pipe->advance(ended);
    if (!alive) lose(pipe);
  }
  for (Ended& batch : ended) settle(std::move(batch));
}

void Driver::settle(Ended ended) {
  if (ended.ending == BatchEnding::durable) {
    if (options_.on_commit && ended.statement->kind() != kind_sweep) {  // sweeps go alone, and nobody waits for them
      options_.on_commit(ended.statement->calls(), clock_.stopwatch() - ended.sent_at);
    }
    Statement::Outcome outcome = ended.statement->read(ended.reply.get());
    for (Waiting& waiting : outcome.answered) answered_.add(std::move(waiting));
    for (Entry& entry : outcome.again) again(std::move(entry));
    if (!outcome.waited.empty() && options_.waited) options_.waited(outcome.waited);
    return;
  }
  const Remedy remedy = ended.ending == BatchEnding::failed ? remedy_for(ended.state) : Remedy::reconnect;
  const bool single = ended.statement->rows() == 1;
  if (ended.ending == BatchEnding::failed && remedy == Remedy::reconnect) {
    while (!pipes_.empty()) lose(pipes_.front().get());
    down_ = refusal(ended.state, ended.message);
  }
  for (Entry& entry : ended.statement->take()) {
    if (remedy == Remedy::refuse || (remedy == Remedy::split && single)) {
      refuse_now(std::move(entry), refusal(ended.state, ended.message));
      continue;
    }
    if (remedy != Remedy::reconnect) entry.company = Company::alone;
    again(std::move(entry));
  }
}

// What was under way goes again over another connection, while there is time.
void Driver::lose(Pipe* pipe) {
  if (pipe == broken_) broken_ = nullptr;
  for (const auto& statement : pipe->give_up()) {
    for (Entry& entry : statement->take()) again(std::move(entry));
  }
  std::erase_if(pipes_, [&](const auto& each) { return each.get() == pipe; });
  dialer_.want();
  if (pipes_.empty()) lost_at_ = clock_.now();
}

// No answer in time. A commit that waits for its standbys keeps its server process whether or not we stay, so the
// connection is kept too, and only a few are replaced: otherwise a standby that hangs would use up all that the server
// has.
void Driver::give_up(Pipe* pipe) {
  for (const auto& statement : pipe->give_up()) {
    for (Entry& entry : statement->take()) again(std::move(entry));
  }
  const auto found = std::ranges::find(pipes_, pipe, [](const auto& each) { return each.get(); });
  stuck_.push_back(std::move(*found));
  pipes_.erase(found);
  if (stuck_.size() <= stuck_max) dialer_.want();
  if (pipes_.empty()) lost_at_ = clock_.now();
}

// A stuck connection that has answered is as good as new; one that broke is replaced, if that was put off.
void Driver::read_stuck() {
  std::vector<Ended> nobody;
  for (auto at = stuck_.begin(); at != stuck_.end();) {
    const bool alive = (*at)->advance(nobody);
    if (alive && (*at)->under_way() > 0) {
      ++at;
      continue;
    }
    if (alive && pipes_.size() < options_.connections) {
      pipes_.push_back(std::move(*at));
      down_.reset();
    } else if (stuck_.size() > stuck_max) {
      dialer_.want();
    }
    at = stuck_.erase(at);
  }
}

void Driver::again(Entry entry) {
  if (entry.deadline <= clock_.now()) return refuse_now(std::move(entry), late());
  queues_[kind_of(entry)].push_front(std::move(entry));
}

void Driver::refuse_now(Entry entry, const Error& error) {
  refuse(entry.call(), error);
  answered_.add(std::move(*entry.waiting));
}

void Driver::expire() {
  const Time now = clock_.now();
  std::vector<Pipe*> stuck;
  for (const auto& pipe : pipes_) {
    if (pipe->under_way() > 0 && pipe->deadline() <= now) stuck.push_back(pipe.get());
  }
  for (Pipe* pipe : stuck) give_up(pipe);
  if (pipes_.empty() && !down_ && now >= lost_at_ + grace) {
    down_ = Error{.code = Code::unavailable, .detail = "PostgreSQL cannot be reached"};
  }
  for (Queue& queue : queues_) {
    const bool refused = pipes_.empty() && down_ && !queue.empty() && impatient(queue.front().call());
    while (!queue.empty() && (refused || queue.front().deadline <= now)) {
      Entry entry = std::move(queue.front());
      queue.pop_front();
      refuse_now(std::move(entry), refused ? *down_ : late());
    }
  }
}

}  // namespace semel::store::postgres
