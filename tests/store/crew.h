// Several threads, each with an io_context of its own, as a gateway has them.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <semel/async.h>

namespace semel::test {

// Runs what is left after a failure: a store may still be about to answer here, so the context must not go first.
inline void drain(boost::asio::io_context& context) {
  for (bool running = true; running;) {
    try {
      context.run();
      running = false;
    } catch (const std::exception&) {
      running = true;  // the first failure is the one to tell
    }
  }
}

// Calls `work(number, context)` on each of `count` threads and waits for all; the first exception is thrown here.
inline void on_threads(std::size_t count, const std::function<void(std::size_t, boost::asio::io_context&)>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  {
    std::vector<std::jthread> threads;
    for (std::size_t number = 0; number < count; ++number) {
      threads.emplace_back([&, number] {
        boost::asio::io_context context(1);
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

// Starts `task` on `context`; what it throws leaves run().
inline void start(boost::asio::io_context& context, Task<void> task) {
  boost::asio::co_spawn(context.get_executor(), std::move(task), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
}

}  // namespace semel::test
