// Calls of a store from a thread that may wait: that of an audit, which asks a database most of the time.
#pragma once

#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "core/check.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::auditor {

// Every call of a store ends, in its own time, so this does.
template <class T>
Result<T> wait_for(Async<T> call) {
  boost::asio::io_context context(1);
  Result<T> answer = fail(Code::unavailable, "the call has not ended");
  bool ended = false;
  boost::asio::co_spawn(context.get_executor(), std::move(call), [&](const std::exception_ptr& error, Result<T> value) {
    if (error) std::rethrow_exception(error);
    answer = std::move(value);
    ended = true;
  });
  context.run();
  core::check(ended, "a call of the store ends");
  return answer;
}

}  // namespace semel::auditor
