// A thread for work that takes its time (reading many records, syncing a log), so that no thread of requests does it.
#pragma once

#include <functional>

#include <boost/asio/thread_pool.hpp>

#include <semel/async.h>

namespace semel::store {

class Aside {
 public:
  Aside() : pool_(1) {}
  // Waits for the work that is under way.
  ~Aside() { pool_.join(); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // Completes, on the caller's executor, when `work` has been done. Work is done in the order in which it came.
  Task<void> run(std::function<void()> work);

 private:
  boost::asio::thread_pool pool_;
};

}  // namespace semel::store
