// The listener: tells other processes which keys have ended here, and hears which have ended there, by NOTIFY.
//
// When a caller waits for a key, its row is marked. The process that ends the key sees the mark and tells all others.
// NOTIFY takes a lock that all committing transactions share. So only marked keys are told, and never inside a batch:
// there is a connection for it, made when it is first needed, and made again when it breaks. Callers that missed a
// message meanwhile find out when they look again by themselves.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/postgres/connection.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store::postgres {

class NotifyListener {
 public:
  using Ended = std::function<void(const Digest&)>;

  NotifyListener(const Clock& clock, std::string url, Millis time_max);
  ~NotifyListener();
  NotifyListener(const NotifyListener&) = delete;
  NotifyListener& operator=(const NotifyListener&) = delete;

  void watch(Ended ended) { ended_ = std::move(ended); }
  void expect(const Digest& id);
  void tell(const std::vector<Digest>& ids);

 private:
  void add(std::vector<Digest>& list, const std::vector<Digest>& ids);
  void serve();
  bool connected();
  void work(const std::vector<Digest>& expected, const std::vector<Digest>& told);
  void hear();
  void wait();

  const Clock& clock_;
  const std::string url_;
  const Millis time_max_;
  const int wake_fd_;
  Ended ended_;
  DatabaseConnection connection_;  // of the thread
  Time retry_at_;

  std::mutex mutex_;
  std::vector<Digest> expected_;
  std::vector<Digest> told_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace semel::store::postgres
