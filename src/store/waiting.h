// A call of a store, and the coroutine that waits for its answer.
//
// The call lives in the frame of that coroutine, and the frame belongs to the handler: neither can vanish while a
// thread of the store works on it.
#pragma once

#include <vector>

#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "store/call.h"
#include <semel/async.h>

namespace semel::store {

using AnswerToken = boost::asio::use_awaitable_t<Executor>;
using AnswerHandler = boost::asio::async_result<AnswerToken, void()>::handler_type;

struct Waiting {
  StoreCall* call;
  AnswerHandler resume;
  boost::asio::executor_work_guard<Executor> work;  // keeps the caller's io_context running
};

// Callers that have their answers and are resumed together: one post per io_context, so that its thread is interrupted
// once per batch, not once per call.
class Wakes {
 public:
  Wakes();
  ~Wakes();
  Wakes(const Wakes&) = delete;
  Wakes& operator=(const Wakes&) = delete;

  void add(Waiting waiting);
  // Resumes them all, each on the executor that it called from.
  void post();

 private:
  class Wake;
  std::vector<Wake> wakes_;
};

}  // namespace semel::store
