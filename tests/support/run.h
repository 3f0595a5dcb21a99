// Runs coroutines to their end on an io_context of this thread.
#pragma once

#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <semel/async.h>

namespace semel::test {

// Starts `task` and runs `context` until it has ended (or has nothing left to do: then it throws).
template <class T>
T run(boost::asio::io_context& context, Task<T> task) {
  std::optional<T> result;
  boost::asio::co_spawn(context.get_executor(), std::move(task), [&](const std::exception_ptr& error, T value) {
    if (error) std::rethrow_exception(error);
    result.emplace(std::move(value));
  });
  context.restart();
  while (!result && context.run_one() > 0) {
  }
  if (!result) throw std::runtime_error("the coroutine never ended");
  return std::move(*result);
}

template <class T>
T run(Task<T> task) {
  boost::asio::io_context context(1);
  return run(context, std::move(task));
}

}  // namespace semel::test
