// Two threads pass one call back and forth: the loop asks for the action to be run, the caller returns its outcome.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <semel/async.h>
#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/store.h>

namespace semel {
namespace {

namespace asio = boost::asio;

using Errand = std::move_only_function<Outcome()>;

// An exception may come after an effect, so it means as much as no answer.
Outcome guarded(Errand& job) {
  try {
    return job();
  } catch (...) {
    return Outcome::unknown();
  }
}

Refused closed() {
  return {
      .problem = Problem::of(ProblemType::store_unavailable), .retry_after = Millis{0}, .detail = "once() was closed"};
}

// One call. Lives on the caller's stack, which waits for its end.
class Handover {
 public:
  explicit Handover(Executor loop) : loop_(std::move(loop)) {}

  // On the loop: asks the caller to do `job`, and returns its outcome.
  Task<Outcome> ask(Errand job) {
    auto suspend = [this, &job](auto handler) {
      const std::scoped_lock lock(mutex_);
      resume_ = std::move(handler);
      job_ = std::move(job);
      changed_.notify_one();
    };
    co_await asio::async_initiate<const asio::use_awaitable_t<Executor>&, void()>(std::move(suspend),
                                                                                  asio::use_awaitable_t<Executor>());
    co_return std::move(outcome_);
  }

  // On the loop. Nothing of this may be touched afterwards: the caller continues.
  void end(Answer answer) {
    const std::scoped_lock lock(mutex_);
    answer_ = std::move(answer);
    changed_.notify_one();
  }

  // On the caller's thread, until the end.
  Answer serve() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return job_ || answer_; });
      if (answer_) return *std::move(answer_);
      Errand job = std::exchange(job_, nullptr);
      auto resume = std::exchange(resume_, nullptr);
      lock.unlock();
      outcome_ = guarded(job);
      asio::post(loop_, std::move(resume));
    }
  }

 private:
  const Executor loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Errand job_;
  std::move_only_function<void()> resume_;
  Outcome outcome_;
  std::optional<Answer> answer_;
};

}  // namespace

class BlockingOnce::Impl {
 public:
  Impl(Store& store, Clock& clock, std::uint64_t seed, std::size_t waiters_max, Endings* endings)
      : once_(store, clock, seed, waiters_max, endings), thread_([this] { loop_.run(); }) {}

  Answer run(Key key, Fingerprint fingerprint, Policy policy, BlockingAction action, BlockingProbe probe) {
    if (!enter()) return closed();
    Handover call(loop_.get_executor());
    Action act = [&call, &action](Fence fence) { return call.ask([&action, fence] { return action(fence); }); };
    Probe ask;
    if (probe) ask = [&call, &probe] { return call.ask([&probe] { return probe(); }); };
    auto ended = [&call](const std::exception_ptr& error, Answer answer) {
      if (error) answer = closed();  // no memory for a coroutine: nothing has run that was not told of
      call.end(std::move(answer));
    };
    asio::co_spawn(loop_, once_.run(std::move(key), fingerprint, policy, std::move(act), std::move(ask)),
                   std::move(ended));
    Answer answer = call.serve();
    leave();
    return answer;
  }

  void close() {
    std::unique_lock lock(mutex_);
    open_ = false;
    left_.wait(lock, [this] { return inside_ == 0; });
    lock.unlock();
    const std::scoped_lock joining(joining_);
    once_.close();
    work_.reset();  // the loop ends when the last renewal has
    if (thread_.joinable()) thread_.join();
  }

 private:
  bool enter() {
    const std::scoped_lock lock(mutex_);
    if (open_) ++inside_;
    return open_;
  }

  void leave() {
    const std::scoped_lock lock(mutex_);
    if (--inside_ == 0) left_.notify_all();
  }

  asio::io_context loop_{1};
  asio::executor_work_guard<Executor> work_{loop_.get_executor()};
  Once once_;
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t inside_ = 0;
  bool open_ = true;
  std::mutex joining_;
  std::thread thread_;
};

BlockingOnce::BlockingOnce(Store& store, Clock& clock, std::uint64_t seed, std::size_t waiters_max, Endings* endings)
    : impl_(std::make_unique<Impl>(store, clock, seed, waiters_max, endings)) {}

BlockingOnce::~BlockingOnce() {
  close();
}

Answer BlockingOnce::run(Key key, Fingerprint fingerprint, Policy policy, BlockingAction action, BlockingProbe probe) {
  return impl_->run(std::move(key), fingerprint, policy, std::move(action), std::move(probe));
}

void BlockingOnce::close() {
  impl_->close();
}

}  // namespace semel
