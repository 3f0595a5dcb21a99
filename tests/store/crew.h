// Several threads, each with an io_context of its own, as a gateway has them.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <semel/async.h>

namespace semel::test {

// Starts `task` on `context`; what it throws leaves run().
inline void start(boost::asio::io_context& context, Task<void> task) {
  boost::asio::co_spawn(context.get_executor(), std::move(task), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
}

// Lets threads go at the same moment, time and again. They spin rather than sleep: waking a thread takes longer than a
// call to a fast store, and then nobody would meet.
class StartLine {
 public:
  explicit StartLine(std::size_t count) : count_(count) {}

  void wait() {
    const std::size_t round = round_.load();
    if (arrived_.fetch_add(1) + 1 == count_) {
      arrived_ = 0;
      ++round_;
      return;
    }
    while (round_.load() == round) std::this_thread::yield();
  }

 private:
  const std::size_t count_;
  std::atomic<std::size_t> arrived_ = 0;
  std::atomic<std::size_t> round_ = 0;
};

// Keeps its io_contexts from one call to the next and as long as it lives: a store with threads of its own may still be
// leaving post() when the last coroutine has ended, so make the crew before the store.
class Crew {
 public:
  using Work = std::function<void(std::size_t, boost::asio::io_context&)>;

  // Calls `work(number, context)` on each of `count` threads and waits for all; the first exception is thrown here.
  void run(std::size_t count, const Work& work) {
    while (contexts_.size() < count) contexts_.push_back(std::make_unique<boost::asio::io_context>(1));
    std::mutex mutex;
    std::exception_ptr failure;
    {
      std::vector<std::jthread> threads;
      for (std::size_t number = 0; number < count; ++number) {
        threads.emplace_back([&, number] {
          boost::asio::io_context& context = *contexts_[number];
          context.restart();
          try {
            work(number, context);
          } catch (...) {
            const std::scoped_lock lock(mutex);
            if (!failure) failure = std::current_exception();
          }
          drain(context);
        });
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  // Runs what is left after a failure, so that nothing of it is left for the next call.
  static void drain(boost::asio::io_context& context) {
    for (bool running = true; running;) {
      try {
        context.run();
        running = false;
      } catch (const std::exception&) {
        running = true;  // the first failure is the one to tell
      }
    }
  }

  std::vector<std::unique_ptr<boost::asio::io_context>> contexts_;
};

}  // namespace semel::test
