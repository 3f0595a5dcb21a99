#include "store/aside.h"

#include <functional>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "store/waiting.h"
#include <semel/async.h>

namespace semel::store {

Task<void> Aside::run(std::function<void()> work) {
  auto start = [this, work = std::move(work)](AnswerHandler handler) mutable {
    boost::asio::executor_work_guard<Executor> guard(boost::asio::get_associated_executor(handler));
    Waiting waiting{.call = nullptr, .resume = std::move(handler), .work = std::move(guard)};
    boost::asio::post(pool_, [work = std::move(work), waiting = std::move(waiting)]() mutable {
      work();
      Wakes wakes;
      wakes.add(std::move(waiting));
      wakes.post();
    });
  };
  return boost::asio::async_initiate<const AnswerToken&, void()>(std::move(start), AnswerToken{});
}

}  // namespace semel::store
